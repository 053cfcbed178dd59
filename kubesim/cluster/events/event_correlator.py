"""The Event correlator: counts equal Events, aggregates similar ones, and drops spam.

Equal Events become one object with a count. From the tenth message with the same reason, each within ten minutes of the
one before, Events are aggregated. An object may emit 25 Events of a type, then one every five minutes. Pure: `now` is
an argument.

Mirrors: client-go tools/record/events_cache.go EventCorrelator, tools/record/util GenerateEventName.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import field
from functools import lru_cache
from typing import Generic, TypeVar

from kubesim.api.event import Event
from kubesim.api.meta import ObjectMeta
from kubesim.api.model import REMEMBERED_PODS
from kubesim.api.timestamps import SECOND, format_time
from kubesim.clock.randomness import Stream, uuid4_text
from kubesim.concurrency.token_bucket import TokenBucket
from kubesim.values import mutable

MAX_CACHE_ENTRIES = 4096
AGGREGATE_MAX_EVENTS = 10
AGGREGATE_INTERVAL = 600 * SECOND
SPAM_BURST = 25
SPAM_QPS = 1 / 300

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_NAME = 253

T = TypeVar("T")
Key = tuple[str, ...]


class EventNames:
    """Event names: `<object>.<nanoseconds in hex>`. Virtual time has whole microseconds and stops, so the
    remaining digits are random.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._last = 0

    def make(self, object_name: str, now: int) -> str:
        self._last = max(now * 1000 + self._stream.randrange(1000), self._last + 1)
        name = f"{object_name}.{self._last:x}"
        if len(name) > _MAX_NAME or not _is_subdomain(object_name):
            return uuid4_text(self._stream.getrandbits(128))
        return name


@lru_cache(maxsize=REMEMBERED_PODS)
def _is_subdomain(name: str) -> bool:
    return _SUBDOMAIN.fullmatch(name) is not None


class _LruCache(Generic[T]):
    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[Key, T] = OrderedDict()

    def get(self, key: Key) -> T | None:
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def add(self, key: Key, entry: T) -> None:
        entries = self._entries
        entries[key] = entry
        entries.move_to_end(key)
        if len(entries) > self._size:
            entries.popitem(last=False)


@mutable
class _Aggregate:
    last: int
    messages: dict[str, None] = field(default_factory=dict)


class EventCorrelator:
    """One per event sink."""

    def __init__(self, names: EventNames) -> None:
        self._names = names
        self._aggregates: _LruCache[_Aggregate] = _LruCache(MAX_CACHE_ENTRIES)
        self._observations: _LruCache[Event] = _LruCache(MAX_CACHE_ENTRIES)  # the last version of each Event
        self._limits: _LruCache[TokenBucket] = _LruCache(MAX_CACHE_ENTRIES)

    def correlate(self, event: Event, now: int) -> Event | None:
        """The Event to write: a new one, or the update of an existing one. None if it is spam."""
        about = _source_and_object(event)
        event, key = self._aggregate(event, about, now)
        event = self._observe(event, key)
        # Spam is counted nevertheless: the next one that gets through shows how many there were.
        return None if self._is_spam((*about, event.type), now) else event

    def update_state(self, written: Event) -> None:
        """Store the name and version of the API server's response."""
        self._observations.add(_event_key(written, _source_and_object(written)), written)

    def _aggregate(self, event: Event, about: Key, now: int) -> tuple[Event, Key]:
        key = (*about, event.type, event.reason, event.reporting_component, event.reporting_instance)
        aggregate = self._aggregates.get(key)
        if aggregate is None or now - aggregate.last > AGGREGATE_INTERVAL:
            aggregate = _Aggregate(now)
        aggregate.messages[event.message] = None
        aggregate.last = now
        self._aggregates.add(key, aggregate)
        if len(aggregate.messages) < AGGREGATE_MAX_EVENTS:
            return event, _event_key(event, about)
        # Go evicts a random entry; the oldest serves as well.
        del aggregate.messages[next(iter(aggregate.messages))]
        combined = Event(
            api_version=event.api_version,
            kind=event.kind,
            metadata=ObjectMeta(
                name=self._names.make(event.involved_object.name, now), namespace=event.metadata.namespace
            ),
            involved_object=event.involved_object,
            type=event.type,
            reason=event.reason,
            message=f"(combined from similar events): {event.message}",
            source=event.source,
            first_timestamp=format_time(now),
            last_timestamp=format_time(now),
            count=1,
        )
        return combined, key

    def _observe(self, event: Event, key: Key) -> Event:
        last = self._observations.get(key)
        if last is not None:
            seen = last.metadata
            metadata = event.metadata.changed(name=seen.name, resource_version=seen.resource_version)
            event = event.changed(metadata=metadata, first_timestamp=last.first_timestamp, count=last.count + 1)
        self._observations.add(key, event)
        return event

    def _is_spam(self, key: Key, now: int) -> bool:
        limit = self._limits.get(key)
        if limit is None:
            limit = TokenBucket(SPAM_QPS, SPAM_BURST)
            self._limits.add(key, limit)
        return not limit.try_accept(now)


def _source_and_object(event: Event) -> Key:
    source, about = event.source, event.involved_object
    return source.component, source.host, about.kind, about.namespace, about.name, about.uid, about.api_version


def _event_key(event: Event, about: Key) -> Key:
    return (*about, event.involved_object.field_path, event.type, event.reason, event.message)
