"""Event recorders that keep all Events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kubesim.api.pod import Pod


class RecordedEvent(NamedTuple):
    """An Event about a pod, or about the node if `pod` is empty."""

    pod: str
    type: str
    reason: str
    message: str
    container: str = ""
    annotations: Mapping[str, str] | None = None

    def __str__(self) -> str:
        return f"{self.type} {self.reason} {self.message}"


class RecordedEvents:
    """Implements `runtime.helper.EventRecorder` and the node's: every Event is in `events`."""

    def __init__(self) -> None:
        self.events: list[RecordedEvent] = []

    def event(
        self,
        pod: Pod,
        type: str,
        reason: str,
        message: str,
        container: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        self.events.append(RecordedEvent(pod.metadata.name, type, reason, message, container, annotations))

    def reasons(self) -> list[tuple[str, str, str]]:
        """Pod, reason and message of each Event."""
        return [(event.pod, event.reason, event.message) for event in self.events]

    def node_event(self, type: str, reason: str, message: str) -> None:
        self.events.append(RecordedEvent("", type, reason, message))


class NoEvents(RecordedEvents):
    """A recorder that must not be used."""

    def event(self, *_: object, **__: object) -> None:
        raise AssertionError("an Event is emitted where none is expected")
