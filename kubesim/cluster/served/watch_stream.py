"""The event lines of one watch, in the form that the client accepts."""

from __future__ import annotations

from functools import lru_cache
from typing import Generic, TypeVar

from kubesim.api.meta import ApiObject
from kubesim.api.validation.field import JsonObject
from kubesim.cluster.problems import status_of
from kubesim.cluster.served.lists import ListOptions, check_reached, parse_version
from kubesim.cluster.served.negotiation import JSON, PROTOBUF, WHOLE, Form
from kubesim.cluster.store.kinds import Resource
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import Watch, WatchEvent
from kubesim.cluster.wire import encoded, shown_as
from kubesim.errors import ApiError

T = TypeVar("T")
_SHARED = 256  # encoded objects; 100 watches of a small object get 1.7 times as many events per second


class WatchStream:
    """One watch of a client. A resource version that is too old or in the future yields a single ERROR line."""

    def __init__(self, store: Store, resource: Resource, options: ListOptions, form: Form = WHOLE) -> None:
        self.options = options
        self._store = store
        self._resource = resource
        self._form = form
        self._error: JsonObject | None = None
        self._has_sent = False
        version = parse_version(options.version)
        self._start = version or store.resource_version
        try:
            self.watch = self._open(resource, version)
        except ApiError as error:
            self._error = {"type": "ERROR", "object": status_of(error)}
            self.watch = Watch(resource.kind, options.selection, 0)
            self.watch.close()

    def _open(self, resource: Resource, version: int) -> Watch:
        options, store = self.options, self._store
        if options.send_initial_events is None:
            return store.open_watch(resource.kind, options.selection, version)
        check_reached(store, version)
        if not options.send_initial_events:
            return store.open_watch(resource.kind, options.selection, version or store.resource_version)
        watch = store.open_watch(resource.kind, options.selection)
        if options.bookmarks:
            watch.bookmark(store.resource_version, initial_events_end=True)
        return watch

    @property
    def closed(self) -> bool:
        return self.watch.closed

    @property
    def over(self) -> bool:
        """Whether the watch is closed and every event was read."""
        return self.closed and self._error is None and not self.watch.statistics()["events"]

    @property
    def refusal(self) -> JsonObject | None:
        """The error Status, the only line of a rejected watch."""
        return None if self._error is None else self._error["object"]

    def bookmark(self) -> None:
        """Add a bookmark, unless the client did not request bookmarks or the resource version did not change."""
        if self.options.bookmarks and not self.closed and self._store.resource_version > self._start:
            self.watch.bookmark(self._store.resource_version)

    def lines(self) -> list[JsonObject]:
        """The lines of the events since the last call."""
        refusal, events = self._taken()
        return refusal + [self.line(event) for event in events]

    def encoded_lines(self) -> bytes:
        """The same as bytes. Watches of whole objects share the encoding of each."""
        if self._form.kind or self._form.media_type == PROTOBUF:
            return b"".join(map(self.encode, self.lines()))
        refusal, events = self._taken()
        return b"".join([*map(encoded, refusal), *map(self._encoded_line, events)])

    def _encoded_line(self, event: WatchEvent) -> bytes:
        body = _encoded_object(_Same(self._resource), _Same(event.object))
        return b'{"type":"%s","object":%s}\n' % (event.type.encode(), body)

    def _taken(self) -> tuple[list[JsonObject], list[WatchEvent]]:
        """The error of a rejected watch, and the events since the last call."""
        refusal = [] if self._error is None else [self._error]
        self._error = None
        events = self.watch.drain()
        if events and not self._form.fits_events:
            self.close()
            events = []
        return refusal, events

    @property
    def content_type(self) -> str:
        return f"{PROTOBUF};stream=watch" if self._form.media_type == PROTOBUF else JSON

    def encode(self, line: JsonObject) -> bytes:
        """A line, or a frame for a client that accepts only protobuf."""
        if self._form.media_type != PROTOBUF:
            return encoded(line)
        from kubesim.cluster.served.answers.protobuf import encode_event  # few clients need it

        return encode_event(line)

    def line(self, event: WatchEvent) -> JsonObject:
        body = shown_as(self._resource, event.object)
        shown = self._form.of_event(self._resource, body, self._store.now(), first=not self._has_sent)
        self._has_sent = True
        return {"type": event.type, "object": shown}

    def close(self) -> None:
        self.watch.close()


class _Same(Generic[T]):
    """A key that equals only itself, of a value that is never changed."""

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


@lru_cache(maxsize=_SHARED)
def _encoded_object(resource: _Same[Resource], obj: _Same[ApiObject]) -> bytes:
    return encoded(shown_as(resource.value, obj.value)).rstrip()
