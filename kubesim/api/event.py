"""Event: what the kubelet tells about a pod, a container (by field path) or its node."""

from __future__ import annotations

from kubesim.api.meta import ApiObject, ObjectReference
from kubesim.api.model import Model, shared


class EventSource(Model):
    component: str = ""
    host: str = ""


class Event(ApiObject):
    involved_object: ObjectReference = shared(default=ObjectReference())
    type: str = ""
    reason: str = ""
    message: str = ""
    source: EventSource = shared(default=EventSource())
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    count: int = 0
    reporting_component: str = ""
    reporting_instance: str = ""
