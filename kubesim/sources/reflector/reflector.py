"""What is known of a collection of objects at an API server, and what to do when a list or a watch has come to an end.

Pure: events go in, the set of objects and decisions come out; nothing here waits or connects (see `list_watch.py`).

A watch reports changes in the order in which they were made. One that comes twice, or late, is recognised by its
version
and left out. Only one kind of late event cannot be judged: an object that is not known, in a version that has been
passed. It may be an overlooked object, or one that is long gone; then the stream is no longer trusted, and everything
is listed again.

Mirrors: client-go/tools/cache/reflector.go
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Generic, TypeVar

from kubesim.api.meta import ApiObject
from kubesim.api.timestamps import SECOND
from kubesim.errors import ApiError, TransportError
from kubesim.sources.reflector.watch_lines import Bookmark, Change

T = TypeVar("T", bound=ApiObject)
Key = tuple[str, str]  # namespace, name

SHORT_WATCH = 1 * SECOND


class OutOfOrder(ValueError):
    """A watch with implausible events."""


class Next(Enum):
    """What follows when a watch has ended."""

    RESUME = "continue the watch from the last version"
    RESUME_LATER = "the same, after the back-off"
    RELIST = "list everything again after the back-off"


class Reflector(Generic[T]):
    """The objects, by namespace and name, and the version up to which they are known."""

    def __init__(self) -> None:
        self.objects: dict[Key, T] = {}
        self.version = ""
        self._unavailable = False  # the server no longer has, or does not have yet, the version that we know

    # -- what to request ----------------------------------------------------------------------------------------

    @property
    def list_version(self) -> str:
        """Not to go back in time, a list is of the last version or a later one; the first may be any."""
        return "" if self._unavailable else self.version or "0"

    @property
    def stream_version(self) -> str:
        """The same for a streaming list, whose first one is of the latest version."""
        return "" if self._unavailable else self.version

    def version_is_unavailable(self) -> bool:
        """The server cannot answer for the version that we know; False if that is no news."""
        known, self._unavailable = self._unavailable, True
        return not known

    # -- what came ----------------------------------------------------------------------------------------------

    def replace(self, objects: Iterable[T], version: str) -> None:
        """A complete list."""
        self.objects = {key_of(obj): obj for obj in objects}
        self.version = version
        self._unavailable = False

    def see(self, event: Change[T] | Bookmark) -> Change[T] | None:
        """An event of a watch from the last version on. The answer is the change it makes, if it makes one."""
        if isinstance(event, Bookmark):
            if not is_older(event.version, self.version):
                self.version = event.version
            return None
        obj = event.object
        key, version = key_of(obj), obj.metadata.resource_version
        known = self.objects.get(key)
        if not is_newer(version, self.version):
            if known is None:
                if event.type == "DELETED":
                    return None
                raise OutOfOrder(f"{key[0]}/{key[1]} in version {version} came after version {self.version}")
            if not is_newer(version, known.metadata.resource_version):
                return None
        else:
            self.version = version
        if event.type == "DELETED":
            return None if self.objects.pop(key, None) is None else event
        self.objects[key] = obj
        return event


class InitialEvents(Generic[T]):
    """The beginning of a streaming list: everything there is, in no order of versions, until a bookmark ends it."""

    def __init__(self) -> None:
        self._objects: dict[Key, T] = {}
        self._gone: dict[Key, str] = {}
        self.version = ""

    def see(self, event: Change[T] | Bookmark) -> bool:
        """Whether this was the end."""
        if isinstance(event, Bookmark):
            self.version = event.version
            return event.initial_events_end
        obj = event.object
        key, version = key_of(obj), obj.metadata.resource_version
        known = self._objects.get(key)
        last = known.metadata.resource_version if known is not None else self._gone.get(key, "")
        if is_newer(version, last):
            if event.type == "DELETED":
                self._objects.pop(key, None)
                self._gone[key] = version
            else:
                self._objects[key] = obj
        return False

    @property
    def count(self) -> int:
        return len(self._objects) + len(self._gone)

    @property
    def objects(self) -> list[T]:
        return list(self._objects.values())


def key_of(obj: ApiObject) -> Key:
    return obj.metadata.namespace, obj.metadata.name


def is_newer(version: str, other: str) -> bool:
    """Versions count up. Of texts that are no numbers nothing is known but whether they are the same."""
    if version.isdigit() and other.isdigit():
        return int(version) > int(other)
    return version != other


def is_older(version: str, other: str) -> bool:
    return version.isdigit() and other.isdigit() and int(version) < int(other)


# -- what to do next ------------------------------------------------------------------------------------------------


def after_watch(error: Exception | None, lasted: int, events: int) -> Next:
    """An open watch has ended, with or without an error."""
    if isinstance(error, ApiError) and error.code == 429:
        return Next.RESUME_LATER
    if error is not None or (lasted < SHORT_WATCH and events == 0):
        return Next.RELIST
    return Next.RESUME


def after_refusal(error: Exception) -> Next:
    """A watch could not be opened: an unreachable server will most likely know our version when it is back."""
    if isinstance(error, TransportError) and error.refused:
        return Next.RESUME_LATER
    return Next.RESUME_LATER if isinstance(error, ApiError) and error.code == 429 else Next.RELIST


def is_unavailable(error: Exception) -> bool:
    """Whether an error says that the version requested is too old, or has not been reached."""
    if not isinstance(error, ApiError):
        return False
    if error.code == 410 or error.reason in ("Expired", "Gone"):
        return True
    causes = (error.details or {}).get("causes")
    reasons = [cause.get("reason") for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else []
    too_large = "ResourceVersionTooLarge" in reasons
    return too_large or (error.reason == "Timeout" and "Too large resource version" in error.message)
