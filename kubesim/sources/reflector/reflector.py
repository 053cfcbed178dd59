"""The state of a list-and-watch: the known objects of a collection, and the next step after a list or watch.

Pure: it receives events and returns changes and decisions; `list_watch.py` does the I/O.

A watch delivers changes in the order they were made. A repeated or late event is recognised by its version and dropped.
One late event is ambiguous: an unknown object with a version older than the current one. It may be a missed object or
one deleted long ago; the reflector then stops the watch and lists again.

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
    """A watch delivered implausible events."""


class Next(Enum):
    """The next step after a watch has ended."""

    RESUME = "continue the watch from the last version"
    RESUME_LATER = "the same, after the back-off"
    RELIST = "list everything again after the back-off"


class Reflector(Generic[T]):
    """The known objects by namespace and name, and the last known version."""

    def __init__(self) -> None:
        self.objects: dict[Key, T] = {}
        self.version = ""
        self._unavailable = False  # the server does not have the last known version, or not yet

    # -- requests -----------------------------------------------------------------------------------------------

    @property
    def list_version(self) -> str:
        """The version of the next list: at least the last known one, to never go back; any for the first list."""
        return "" if self._unavailable else self.version or "0"

    @property
    def stream_version(self) -> str:
        """The version of a streaming list: like `list_version`, but the first one uses the latest version."""
        return "" if self._unavailable else self.version

    def version_is_unavailable(self) -> bool:
        """The server cannot serve the last known version; False if that was already known."""
        known, self._unavailable = self._unavailable, True
        return not known

    # -- responses ----------------------------------------------------------------------------------------------

    def replace(self, objects: Iterable[T], version: str) -> None:
        """Replace all objects with a complete list."""
        self.objects = {key_of(obj): obj for obj in objects}
        self.version = version
        self._unavailable = False

    def see(self, event: Change[T] | Bookmark) -> Change[T] | None:
        """Handle a watch event; returns the change, if any."""
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
    """The initial events of a streaming list: all objects, not in version order, until a bookmark."""

    def __init__(self) -> None:
        self._objects: dict[Key, T] = {}
        self._gone: dict[Key, str] = {}
        self.version = ""

    def see(self, event: Change[T] | Bookmark) -> bool:
        """Handle an event; true if it was the final bookmark."""
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
    """Whether a version is newer. Versions that are not numbers can only be compared for equality."""
    if version.isdigit() and other.isdigit():
        return int(version) > int(other)
    return version != other


def is_older(version: str, other: str) -> bool:
    return version.isdigit() and other.isdigit() and int(version) < int(other)


# -- next step ------------------------------------------------------------------------------------------------------


def after_watch(error: Exception | None, lasted: int, events: int) -> Next:
    """The next step after a watch has ended, with or without an error."""
    if isinstance(error, ApiError) and error.code == 429:
        return Next.RESUME_LATER
    if error is not None or (lasted < SHORT_WATCH and events == 0):
        return Next.RELIST
    return Next.RESUME


def after_refusal(error: Exception) -> Next:
    """The next step if a watch could not be opened. An unreachable server will probably keep our version."""
    if isinstance(error, TransportError) and error.refused:
        return Next.RESUME_LATER
    return Next.RESUME_LATER if isinstance(error, ApiError) and error.code == 429 else Next.RELIST


def is_unavailable(error: Exception) -> bool:
    """Whether an error reports that the version is too old or does not exist yet."""
    if not isinstance(error, ApiError):
        return False
    if error.code == 410 or error.reason in ("Expired", "Gone"):
        return True
    causes = (error.details or {}).get("causes")
    reasons = [cause.get("reason") for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else []
    too_large = "ResourceVersionTooLarge" in reasons
    return too_large or (error.reason == "Timeout" and "Too large resource version" in error.message)
