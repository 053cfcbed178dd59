"""What the controllers of a cluster share: they emit Events, and record what they write in the trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.event import Event, EventSource
from kubesim.api.meta import ApiObject, ObjectMeta, ObjectReference
from kubesim.api.timestamps import format_time
from kubesim.cluster.store.store import Store
from kubesim.trace import Recorder
from kubesim.trace.records import ApiWrite, EventRecorded


class ControllerEvents:
    """In the name of one controller."""

    def __init__(self, store: Store, recorder: Recorder, name: str) -> None:
        self._store = store
        self._recorder = recorder
        self._name = name
        self._told = 0

    def event(self, about: ApiObject, event_type: str, reason: str, message: str) -> None:
        metadata, now = about.metadata, format_time(self._store.now())
        self._told += 1
        pod = f"{metadata.namespace}/{metadata.name}" if about.kind == "Pod" else ""
        node = metadata.name if about.kind == "Node" else ""
        self._recorder.record(EventRecorded(pod=pod, node=node, type=event_type, reason=reason, message=message))
        self._store.create(
            Event(
                api_version="v1",
                kind="Event",
                metadata=ObjectMeta(
                    name=f"{metadata.name}.{self._name}.{self._told:x}", namespace=metadata.namespace or "default"
                ),
                involved_object=ObjectReference(
                    kind=about.kind,
                    namespace=metadata.namespace,
                    name=metadata.name,
                    uid=metadata.uid,
                    api_version="v1",
                ),
                type=event_type,
                reason=reason,
                message=message,
                source=EventSource(component=self._name),
                first_timestamp=now,
                last_timestamp=now,
                count=1,
                reporting_component=self._name,
            )
        )

    def write(
        self, verb: str, resource: str, about: ApiObject, why: str, summary: Mapping[str, Any] | None = None
    ) -> None:
        """What follows, and what others hear of it, is caused by this write."""
        metadata = about.metadata
        pod = f"{metadata.namespace}/{metadata.name}" if about.kind == "Pod" else ""
        node = metadata.name if about.kind == "Node" else ""
        record = ApiWrite(
            pod=pod, node=node, verb=verb, resource=resource, by=self._name, summary=summary or {}, why=why
        )
        Recorder.because(self._recorder.record(record))
