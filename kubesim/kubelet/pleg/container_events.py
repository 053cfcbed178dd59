"""Rules for a container event of the runtime in the evented PLEG: whether to cache its status, and what to send. Pure.

Mirrors: pkg/kubelet/pleg/evented.go processCRIEvents, processCRIEvent
"""

from __future__ import annotations

from kubesim.kubelet.pleg.records import EventType
from kubesim.runtime.protocol import ContainerEventResponse
from kubesim.values import value_object


@value_object
class EventMeaning:
    """What to do with a container event. `sends` applies only if the event was newer than the cache."""

    sends: tuple[EventType, ...] = ()
    store: bool = False  # store the event's pod status in the cache
    forget: bool = False  # remove the pod from the cache


def meaning_of(event: ContainerEventResponse) -> EventMeaning:
    """The handling of an event. An event without a sandbox is ignored: another event reports that the sandbox is gone.

    A deleted container stays in the cache until the next event or relist of its pod.
    """
    if event.sandbox is None:
        return EventMeaning()
    match event.type:
        case "CONTAINER_CREATED_EVENT":
            return EventMeaning((), store=True)
        case "CONTAINER_STARTED_EVENT":
            return EventMeaning(("ContainerStarted",), store=True)
        case "CONTAINER_STOPPED_EVENT":
            return EventMeaning(("ContainerDied",), store=True)
        case "CONTAINER_DELETED_EVENT":
            return EventMeaning(("ContainerDied", "ContainerRemoved"), forget=event.container_id == event.sandbox.id)
