"""lines -> changes, bookmarks and errors. Also lists, page by page. -> Decodes watch streams (bytes -> lines ->
changes, bookmarks and errors) and pages of lists. -> lines -> changes, bookmarks and errors. Also lists, page by page.

Drops managed fields: they are a third of a pod's size, and kubesim does not use them.

Mirrors: apimachinery/pkg/watch streamwatcher.go; client-go/rest/watch decoder.go
"""

from __future__ import annotations

from typing import Any, Generic, Literal, NamedTuple, TypeVar

from kubesim.api.meta import ApiObject
from kubesim.api.schema.codec import DecodeError
from kubesim.cluster.remote.answers import Undecodable, decode_json
from kubesim.errors import ApiError

T = TypeVar("T", bound=ApiObject)

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
MAX_LINE = 8 << 20  # an API server rejects objects larger than 3 MiB


class Change(NamedTuple, Generic[T]):
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: T


class Bookmark(NamedTuple):
    version: str
    initial_events_end: bool


class Page(NamedTuple, Generic[T]):
    """A page of a list. `unreadable` names the objects that could not be decoded."""

    objects: list[T]
    version: str
    token: str
    unreadable: list[str]


class LineSplitter:
    """Splits chunks of bytes into lines."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The complete lines so far."""
        first, newline, after = chunk.partition(b"\n")
        self._rest += first
        if len(self._rest) > MAX_LINE:
            raise Undecodable(f"a line of more than {MAX_LINE} bytes")
        if not newline:
            return []
        lines = [bytes(self._rest), *after.split(b"\n")]
        self._rest = bytearray(lines.pop())
        return [line for line in lines if line and not line.isspace()]

    def rest(self) -> bytes:
        """The remaining partial line."""
        rest, self._rest = bytes(self._rest), bytearray()
        return rest


class WatchDecoder(Generic[T]):
    """Decodes the objects of one kind."""

    def __init__(self, model: type[T], kind: str, api_version: str = "v1") -> None:
        self._model = model
        self._kind = kind
        self._type_meta = {"kind": kind, "apiVersion": api_version}

    def event(self, line: bytes) -> Change[T] | Bookmark:
        """Decode one line. Raises the server's `ApiError`, or `Undecodable`."""
        value = _object(line)
        type, body = str(value.get("type")), value.get("object")
        if type in ("ADDED", "MODIFIED", "DELETED"):
            return Change(type, self._read(body))  # type: ignore[arg-type]  # one of the three, as was just seen
        if not isinstance(body, dict):
            raise Undecodable(f"an event of type {type} without an object")
        if type == "ERROR":
            raise status_error(body)
        if type == "BOOKMARK":
            metadata = body.get("metadata") or {}
            annotations = metadata.get("annotations") or {} if isinstance(metadata, dict) else None
            if not isinstance(annotations, dict):
                raise Undecodable("a bookmark without metadata")
            return Bookmark(str(metadata.get("resourceVersion", "")), annotations.get(INITIAL_EVENTS_END) == "true")
        raise Undecodable(f"an event of the unknown type {type}")

    def page(self, body: bytes) -> Page[T]:
        """Decode the response to a list."""
        value = _object(body)
        metadata, items = value.get("metadata") or {}, value.get("items") or []
        if value.get("kind") != f"{self._kind}List":
            raise Undecodable(f"no {self._kind}List, but {_kind_in_words(value)}")
        if not isinstance(metadata, dict) or not isinstance(items, list) or not metadata.get("resourceVersion"):
            raise Undecodable(f"a list of kind {value.get('kind')} without a version or items")
        objects, unreadable = [], []
        for item in items:
            try:
                whole = {**self._type_meta, **item} if isinstance(item, dict) else item
                objects.append(self._read(whole))
            except Undecodable:
                unreadable.append(_name(item))
        token = str(metadata.get("continue") or "")
        return Page(objects, str(metadata["resourceVersion"]), token, unreadable)

    def _read(self, value: Any) -> T:
        if not isinstance(value, dict):
            raise Undecodable(f"no {self._kind}")
        metadata = value.get("metadata")
        if isinstance(metadata, dict):
            metadata.pop("managedFields", None)
        try:
            obj = self._model.from_foreign_json(value)
        except (DecodeError, RecursionError) as error:
            raise Undecodable(f"no {self._kind}: {error}") from None
        name = obj.metadata.name
        if obj.kind != self._kind or not name or not obj.metadata.resource_version:
            raise Undecodable(f"not a {self._kind}, but {obj.kind or 'an object without a kind'} {name!r}")
        return obj


def _object(text: bytes) -> dict[str, Any]:
    value = decode_json(text)
    if not isinstance(value, dict):
        raise Undecodable("no JSON object")
    return value


def _kind_in_words(value: dict[str, Any]) -> str:
    kind = value.get("kind")
    return f"a {kind}" if isinstance(kind, str) and kind else "an object without a kind"


def _name(item: Any) -> str:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    metadata = metadata if isinstance(metadata, dict) else {}
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '?')}"


def status_error(body: dict[str, Any]) -> ApiError:
    """The error of a Status object."""
    code = body.get("code")
    details = body.get("details")
    return ApiError(
        code if isinstance(code, int) else 500,
        str(body.get("reason") or ""),
        str(body.get("message") or "unknown"),
        details if isinstance(details, dict) else None,
    )


def refusal(status: int, body: bytes) -> ApiError:
    """The error of a failed request; the body may come from a proxy and not be a Status."""
    try:
        value = decode_json(body)
    except Undecodable:
        value = None
    if isinstance(value, dict) and value.get("kind") == "Status":
        return status_error({**value, "code": status})
    words = " ".join(body[:200].decode(errors="replace").split())
    return ApiError(status, "", f"the server answered {status}" + (f": {words}" if words else ""))
