"""Events of the cluster's controllers: in the trace, and in the store after client-go's correlator."""

from __future__ import annotations

from typing import Any

from kubesim.api.event import Event, EventSource
from kubesim.api.meta import ApiObject, ObjectMeta, ObjectReference
from kubesim.api.timestamps import format_time
from kubesim.clock.randomness import Stream
from kubesim.cluster.events.event_correlator import EventCorrelator, EventNames
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.store import Store
from kubesim.trace import Recorder
from kubesim.trace.records import EventRecorded


class ControllerEvents:
    """Emits Events on behalf of one controller."""

    def __init__(self, store: Store, recorder: Recorder, name: str, stream: Stream) -> None:
        self._store = store
        self._recorder = recorder
        self._name = name
        self._names = EventNames(stream)
        self._correlator = EventCorrelator(self._names)

    def event(self, about: ApiObject, event_type: str, reason: str, message: str) -> None:
        if self._recorder.on:
            self._recorder.record(EventRecorded(**subject(about), type=event_type, reason=reason, message=message))
        event = self._correlator.correlate(self._new(about, event_type, reason, message), self._store.now())
        if event is not None:
            self._correlator.update_state(self._written(event))

    def _new(self, about: ApiObject, event_type: str, reason: str, message: str) -> Event:
        metadata, now = about.metadata, self._store.now()
        moment = format_time(now)
        return Event(
            api_version="v1",
            kind="Event",
            metadata=ObjectMeta(name=self._names.make(metadata.name, now), namespace=metadata.namespace or "default"),
            involved_object=ObjectReference(
                kind=about.kind,
                namespace=metadata.namespace,
                name=metadata.name,
                uid=metadata.uid,
                api_version=resource_of(about.kind).api_version,
                resource_version=metadata.resource_version,
            ),
            type=event_type,
            reason=reason,
            message=message,
            source=EventSource(component=self._name),
            first_timestamp=moment,
            last_timestamp=moment,
            count=1,
            reporting_component=self._name,
        )

    def _written(self, event: Event) -> Event:
        """Write the Event. A count above 1 updates the existing Event, unless it has expired."""
        old = self._store.find("Event", event.metadata.namespace, event.metadata.name) if event.count > 1 else None
        if isinstance(old, Event):
            changed = old.changed(count=event.count, last_timestamp=event.last_timestamp, message=event.message)
            written = self._store.write(old, changed)
        else:
            metadata = event.metadata.changed(resource_version="")
            written = self._store.create(event.changed(metadata=metadata))
        assert isinstance(written, Event)
        return written


def subject(about: ApiObject) -> dict[str, Any]:
    """The fields of a record that name the involved object."""
    metadata = about.metadata
    if about.kind == "Node":
        return {"node": metadata.name}
    named = f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
    return {"pod": named} if about.kind == "Pod" else {"object": f"{about.kind} {named}"}
