"""What a container event of the runtime means to the PLEG: whether it goes into the cache, and what is sent. Pure.

Mirrors: pkg/kubelet/pleg/evented.go processCRIEvents, processCRIEvent
"""

from __future__ import annotations

from kubesim.kubelet.pleg.records import EventType
from kubesim.runtime.protocol import ContainerEventResponse
from kubesim.values import value_object


@value_object
class EventMeaning:
    """`sends` only counts if the event was newer than the cache."""

    sends: tuple[EventType, ...] = ()
    store: bool = False  # the pod as the event has it goes into the cache
    forget: bool = False  # the pod is removed from the cache


def meaning_of(event: ContainerEventResponse) -> EventMeaning:
    """An event without a sandbox is ignored: another event reports that the sandbox is gone.

    After a container was deleted the cache keeps it, until the next event or relist of its pod.
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
