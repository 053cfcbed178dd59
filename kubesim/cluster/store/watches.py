"""Watches: changes after a remembered resource version, filtered by a selection.

The queue of a `Watch` is bounded: a client that does not read is disconnected, and has to list again. The `History` of
a kind is bounded too: an older resource version is answered with 410 Expired.

Mirrors: apiserver/pkg/storage/cacher watch_cache.go, cache_watcher.go convertToWatchEvent
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from kubesim.api.meta import ApiObject, ObjectMeta
from kubesim.clock import Awaited
from kubesim.cluster.problems import expired
from kubesim.cluster.store.fields import field_value
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.selectors import FieldSelector, LabelSelector
from kubesim.values import value_object

HISTORY_LIMIT = 4096
QUEUE_LIMIT = 10_000
INITIAL_EVENTS_END = "k8s.io/initial-events-end"

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


class WatchEvent(NamedTuple):
    """A change. `previous` is the old object; None for a new object, and in the output of a watch."""

    type: EventType
    object: ApiObject
    resource_version: int
    previous: ApiObject | None = None


@value_object
class Selection:
    """Selects objects of a kind by namespace (None: all), labels and fields."""

    namespace: str | None = None
    labels: LabelSelector | None = None
    fields: FieldSelector | None = None

    def matches(self, obj: ApiObject) -> bool:
        if self.namespace is not None and obj.metadata.namespace != self.namespace:
            return False
        if self.labels is not None and not self.labels.matches(obj.metadata.labels):
            return False
        return self.fields is None or self.fields.matches(lambda field: field_value(obj, field))


EVERYTHING = Selection()


def selected(event: WatchEvent, selection: Selection) -> WatchEvent | None:
    """A change as a watch with a selector gets it: an object that starts to match is ADDED, one that stops is DELETED.

    An object that stops matching is sent in its old state with the new resource version.
    """
    is_in = event.type != "DELETED" and selection.matches(event.object)
    was_in = event.previous is not None and selection.matches(event.previous)
    if is_in:
        return WatchEvent("MODIFIED" if was_in else "ADDED", event.object, event.resource_version)
    if not was_in:
        return None
    left = event.object if event.type == "DELETED" else _at_version(event.previous, event.object)
    return WatchEvent("DELETED", left, event.resource_version)


def _at_version(previous: ApiObject | None, current: ApiObject) -> ApiObject:
    assert previous is not None
    version = current.metadata.resource_version
    return previous.changed(metadata=previous.metadata.changed(resource_version=version))


class History:
    """The latest changes of one kind."""

    __slots__ = ("_appended", "_floor", "events")

    def __init__(self, limit: int, floor: int = 0) -> None:
        """Changes before the version `floor` are unknown."""
        self._floor = floor
        self.events: deque[WatchEvent] = deque(maxlen=limit)
        self._appended = 0

    def append(self, event: WatchEvent) -> None:
        self._appended += 1
        self.events.append(event)

    @property
    def oldest(self) -> int:
        """The earliest resource version after which all changes are known."""
        return self.events[0].resource_version - 1 if self._appended > len(self.events) else self._floor

    def since(self, version: int) -> Iterator[WatchEvent]:
        """The changes after a resource version."""
        if version < self.oldest:
            raise expired(f"too old resource version: {version} ({self.oldest})")
        if not self.events or self.events[-1].resource_version <= version:
            return iter(())
        return (event for event in self.events if event.resource_version > version)


class Watch:
    """A bounded queue of events. If the store closed it, the client was too slow and must list again."""

    def __init__(self, kind: str, selection: Selection, after: int, limit: int = QUEUE_LIMIT) -> None:
        self.kind = kind
        self.selection = selection
        self.closed = False
        self.on_close: Callable[[], None] | None = None
        self._after = after  # a watch from a future version skips earlier changes
        self._limit = self._room = limit
        self._events: deque[WatchEvent] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def begin_with(self, objects: Iterable[ApiObject]) -> None:
        """Add the initial events, without limit, as the client cannot have been slow yet."""
        for obj in objects:
            self._events.append(WatchEvent("ADDED", obj, int(obj.metadata.resource_version or 0)))
        self._room = self._limit + len(self._events)

    def offer(self, event: WatchEvent) -> None:
        """Called by the store for each change."""
        if self.closed or event.resource_version <= self._after:
            return
        seen = selected(event, self.selection)
        if seen is not None:
            self.put(seen)

    def put(self, event: WatchEvent) -> None:
        """Queue an event without filtering."""
        if len(self._events) >= self._room:
            self.close()
            return
        self._events.append(event)
        self._wake()

    def bookmark(self, version: int, *, initial_events_end: bool = False) -> None:
        """Queue a bookmark with the current resource version."""
        annotations = {INITIAL_EVENTS_END: "true"} if initial_events_end else {}
        metadata = ObjectMeta(resource_version=str(version))
        if annotations:
            metadata = metadata.changed(annotations=annotations)
        resource = resource_of(self.kind)
        marker = resource.model(api_version=resource.api_version, kind=self.kind, metadata=metadata)
        self.put(WatchEvent("BOOKMARK", marker, version))

    def drain(self) -> list[WatchEvent]:
        """All queued events."""
        events = list(self._events)
        self._events.clear()
        self._room = self._limit
        return events

    async def next(self) -> WatchEvent | None:
        """The next event. None when the watch is closed and everything was read."""
        await self.wait()
        return self._events.popleft() if self._events else None

    async def wait(self) -> None:
        """Wait for an event or the end of the watch."""
        while not self._events and not self.closed:
            self._waiter = Awaited(f"a change of a {self.kind}")
            await self._waiter

    def close(self) -> None:
        """Close the watch; queued events can still be read."""
        if not self.closed:
            self.closed = True
            if self.on_close is not None:
                self.on_close()
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def statistics(self) -> dict[str, int]:
        return {"events": len(self._events), "limit": self._limit}
