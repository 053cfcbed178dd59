"""The scheduler's Events: events.k8s.io/v1, where a repeated Event becomes a series.

Events are equal if they are about the same resource version; the message is ignored. The second one starts the series
(count 2). Later ones are only counted in memory, until the series ends after six minutes without one.

Mirrors: client-go tools/events event_broadcaster.go, event_recorder.go
"""

from __future__ import annotations

from kubesim.api.event import Event
from kubesim.api.meta import ObjectMeta, ObjectReference
from kubesim.api.pod import Pod
from kubesim.api.timestamps import MINUTE, format_micro_time, parse_time
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.events.controller_events import subject
from kubesim.cluster.events.event_correlator import EventNames
from kubesim.trace.records import EventRecorded

FINISH_TIME = 6 * MINUTE
REFRESH_TIME = 30 * MINUTE
NOTE_LENGTH_LIMIT = 1024

Key = tuple[str, str, str, str, str, str]


class SchedulerEvents:
    """Emits Events; one per scheduler."""

    def __init__(self, context: ControllerContext, name: str) -> None:
        self._clock, self._store, self._recorder = context.clock, context.store, context.recorder
        self._name = name
        self._names = EventNames(context.randomness.stream("events", name))
        self._start = self._clock.now()
        self._cache: dict[Key, Event] = {}
        self._ticking = False

    def event(self, pod: Pod, event_type: str, reason: str, action: str, message: str) -> None:
        """Emit an Event about this version of the pod."""
        if self._recorder.on:
            self._recorder.record(EventRecorded(**subject(pod), type=event_type, reason=reason, message=message))
        metadata, now = pod.metadata, self._clock.now()
        key = (event_type, reason, action, metadata.namespace, metadata.uid, metadata.resource_version)
        known = self._cache.get(key)
        if known is None:
            self._cache[key] = self._new(pod, event_type, reason, action, message)
            self._store.create(self._cache[key])
            self._tick_later()
            return
        count = 2 if known.series is None else known.series["count"] + 1
        series = {"count": count, "lastObservedTime": format_micro_time(now)}
        self._cache[key] = repeated = known.changed(series=series)
        if known.series is None:
            self._write_series(repeated)

    def _new(self, pod: Pod, event_type: str, reason: str, action: str, message: str) -> Event:
        metadata, now = pod.metadata, self._clock.now()
        return Event(
            api_version="v1",
            kind="Event",
            metadata=ObjectMeta(name=self._names.make(metadata.name, now), namespace=metadata.namespace or "default"),
            involved_object=ObjectReference(
                kind="Pod",
                namespace=metadata.namespace,
                name=metadata.name,
                uid=metadata.uid,
                api_version="v1",
                resource_version=metadata.resource_version,
            ),
            reason=reason,
            message=_truncated(message),
            first_timestamp=None,
            last_timestamp=None,
            type=event_type,
            event_time=format_micro_time(now),
            action=action,
            reporting_component=self._name,
            reporting_instance=f"{self._name}-control-plane",
        )

    def _write_series(self, event: Event) -> None:
        """Write the series; an expired Event is recreated."""
        old = self._store.find("Event", event.metadata.namespace, event.metadata.name)
        if isinstance(old, Event):
            self._store.write(old, old.changed(series=event.series))
        else:
            self._store.create(event)

    # -- the end of a series ------------------------------------------------------------------------------------

    def _tick_later(self) -> None:
        if not self._ticking:
            self._ticking = True
            now = self._clock.now()
            self._clock.call_at(now + FINISH_TIME - (now - self._start) % FINISH_TIME, self._tick)

    def _tick(self) -> None:
        """Every six minutes while Events are cached: drop those that were not repeated."""
        self._ticking, now = False, self._clock.now()
        refresh = (now - self._start) % REFRESH_TIME == 0
        for key, event in list(self._cache.items()):
            series = event.series
            last = event.event_time if series is None else series["lastObservedTime"]
            if last is not None and parse_time(last) < now - FINISH_TIME:
                del self._cache[key]
                if series is not None:
                    self._write_series(event)
            elif series is not None and refresh:
                self._write_series(event)
        if self._cache:
            self._tick_later()


def _truncated(message: str) -> str:
    return message if len(message) <= NOTE_LENGTH_LIMIT else f"{message[: NOTE_LENGTH_LIMIT - 4]} ..."
