"""The compared parts of a node story: statuses and Events, reduced to the kubelet's decisions.

Identifiers, addresses, digests and times become placeholders. `story_rule` compares the views.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Json = Mapping[str, Any]

# The order matters: an earlier pattern may remove a text that contains an address.
_VARYING = (
    (re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "<hash>"),
    (re.compile(r"containerd://\S+"), "<container>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<ip>"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "<time>"),
    (re.compile(r"in [\d.]+m?s \([\d.]+m?s including waiting\)"), "in <took> (<took> including waiting)"),
    (re.compile(r"Image size: \d+ bytes"), "Image size: <size> bytes"),
)


class StateView(NamedTuple):
    kind: str  # waiting, running, terminated
    reason: str | None
    exit_code: int | None
    signal: int | None
    message: str


class StoryContainer(NamedTuple):
    name: str
    state: StateView | None
    last_state: StateView | None
    ready: bool
    started: bool | None
    restart_count: int
    has_id: bool
    has_image_id: bool
    has_end: bool


class ConditionView(NamedTuple):
    type: str
    status: str
    reason: str | None
    message: str


class StatusView(NamedTuple):
    """One status of a pod as a watcher gets it; `type` is the type of the watch event."""

    type: str
    phase: str | None
    reason: str | None
    message: str
    conditions: tuple[ConditionView, ...]
    init_containers: tuple[StoryContainer, ...]
    containers: tuple[StoryContainer, ...]
    ephemeral_containers: tuple[StoryContainer, ...]
    has_pod_ip: bool
    has_host_ip: bool
    has_start_time: bool
    qos_class: str | None
    observed_generation: int | None
    grace_s: int | None  # of a requested deletion

    def __str__(self) -> str:
        words = [self.type, self.phase or "", self.reason or ""]
        words += [f"{c.type}={c.status}" + (f"/{c.reason}" if c.reason else "") for c in self.conditions]
        for container in (*self.init_containers, *self.containers, *self.ephemeral_containers):
            words.append(_container_in_brief(container))
        words.append("with an address" if self.has_pod_ip else "without an address")
        if self.grace_s is not None:
            words.append(f"grace {self.grace_s}s")
        return " ".join(word for word in words if word)


def _container_in_brief(container: StoryContainer) -> str:
    state = container.state
    reported = [] if state is None else [str(x) for x in (state.kind, state.reason, state.exit_code) if x is not None]
    facts = f"restarts={container.restart_count} ready={container.ready} started={container.started}"
    return f"{container.name}[{':'.join(reported) or 'no state'} {facts}]"


class EventView(NamedTuple):
    pod: str
    type: str
    reason: str
    field_path: str | None
    message: str
    times: int | None

    def __str__(self) -> str:
        return f"{self.type} {self.reason} of {self.pod} {self.field_path or ''} (x{self.times}): {self.message}"


def comparable(text: str | None) -> str:
    """The text without parts that differ between runs."""
    text = text or ""
    for pattern, placeholder in _VARYING:
        text = pattern.sub(placeholder, text)
    return text


def status_view(entry: Json) -> StatusView:
    """The view of an entry in `statuses`."""
    status: Json = entry.get("status") or {}
    return StatusView(
        type=entry["type"],
        phase=status.get("phase"),
        reason=status.get("reason"),
        message=comparable(status.get("message")),
        conditions=tuple(
            ConditionView(given["type"], given["status"], given.get("reason"), comparable(given.get("message")))
            for given in status.get("conditions") or ()
        ),
        init_containers=_containers(status.get("initContainerStatuses")),
        containers=_containers(status.get("containerStatuses")),
        ephemeral_containers=_containers(status.get("ephemeralContainerStatuses")),
        has_pod_ip=bool(status.get("podIP")),
        has_host_ip=bool(status.get("hostIP")),
        has_start_time=bool(status.get("startTime")),
        qos_class=status.get("qosClass"),
        observed_generation=status.get("observedGeneration"),
        grace_s=entry.get("deletionGracePeriodSeconds") if entry.get("deletionTimestamp") else None,
    )


def _containers(statuses: Iterable[Json] | None) -> tuple[StoryContainer, ...]:
    return tuple(map(_container, statuses or ()))


def _container(status: Json) -> StoryContainer:
    ended: Json = (status.get("state") or {}).get("terminated") or {}
    return StoryContainer(
        name=status["name"],
        state=_state(status.get("state")),
        last_state=_state(status.get("lastState")),
        ready=bool(status.get("ready")),
        started=status.get("started"),
        restart_count=status.get("restartCount", 0),
        has_id=bool(status.get("containerID")),
        has_image_id=bool(status.get("imageID")),
        has_end=bool(ended.get("finishedAt")),
    )


def _state(state: Json | None) -> StateView | None:
    if not state:
        return None
    kind = next(iter(state))
    reported: Json = state[kind] or {}
    message = comparable(reported.get("message"))
    return StateView(kind, reported.get("reason"), reported.get("exitCode"), reported.get("signal"), message)


def event_view(event: Json) -> EventView:
    """The view of an entry in `events`."""
    return EventView(
        pod=event["pod"],
        type=event["type"],
        reason=event["reason"],
        field_path=event.get("fieldPath"),
        message=comparable(event["message"]),
        times=event.get("count"),
    )
