"""The API type Event: what the kubelet reports about a pod, a container (by field path) or its node."""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import ApiObject, ObjectMeta, ObjectReference
from kubesim.api.model import Model, go

_OTHER_GROUP = "events.k8s.io/"
_CORE_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedCount": "count",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedSource": "source",
}


def core_form(event: dict[str, Any]) -> dict[str, Any]:
    """The JSON of an Event with the names of v1; events.k8s.io/v1 has other names for the same fields."""
    if not str(event.get("apiVersion", "")).startswith(_OTHER_GROUP):
        return event
    return {_CORE_NAMES.get(name, name): value for name, value in event.items()} | {"apiVersion": "v1"}


class EventSource(Model):
    component: str = go("string")
    host: str = go("string")


class Event(ApiObject):
    metadata: ObjectMeta = go("ObjectMeta", always=True)
    involved_object: ObjectReference = go("ObjectReference", always=True)
    reason: str = go("string")
    message: str = go("string")
    source: EventSource = go("EventSource")
    first_timestamp: str | None = go("Time")
    last_timestamp: str | None = go("Time")
    count: int = go("int32")
    type: str = go("string")
    event_time: str | None = go("MicroTime")
    series: dict[str, Any] | None = go("*EventSeries")
    action: str = go("string")
    related: ObjectReference | None = go("*ObjectReference")
    reporting_component: str = go("string", always=True)
    reporting_instance: str = go("string", always=True)
