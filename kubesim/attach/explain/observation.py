"""The view of a pod from outside: the object, its Events, its node, and facts from watching it.

An `Observation` is the only input of the rules. Facts that only a watcher can know (the back-off after the next crash,
when the kubelet noticed an exit) are in its `Memory`, which is empty after a single read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Literal

from kubesim.api.event import Event
from kubesim.api.node import Node
from kubesim.api.pod import Container, ContainerStatus, Pod, PodCondition
from kubesim.api.pods.pod_conditions import find_condition
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.timestamps import parse_time
from kubesim.attach.explain.periods import DEFAULT_PERIODS, KubeletPeriods
from kubesim.attach.explain.statement import Fact
from kubesim.cluster.store.object_watch import ObjectKey
from kubesim.features import FeatureGates
from kubesim.values import value_object

ContainerKind = Literal["init", "sidecar", "regular", "ephemeral"]

_FIELDS = {
    "init": "initContainers",
    "sidecar": "initContainers",
    "regular": "containers",
    "ephemeral": "ephemeralContainers",
}
_STATUS_FIELDS = {
    "init": "initContainerStatuses",
    "sidecar": "initContainerStatuses",
    "regular": "containerStatuses",
    "ephemeral": "ephemeralContainerStatuses",
}
NO_STATUS = ContainerStatus()


@value_object
class CrashEntry:
    """A container's crash back-off, as far as it could be tracked."""

    wait: int
    last_update: int


@value_object
class Memory:
    """Facts from watching a pod, by container name."""

    crashes: Mapping[str, CrashEntry] = field(default_factory=dict)
    # When the exit of the current attempt first appeared in a status: the kubelet synced then.
    exits_seen: Mapping[str, int] = field(default_factory=dict)
    watched_since: int | None = None
    kubelet_since: int = 0  # when the node's kubelet started; 0 = unknown


@value_object
class ContainerView:
    """A container of the spec with its status."""

    kind: ContainerKind
    spec: Container
    status: ContainerStatus  # NO_STATUS if the status is absent

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def spec_path(self) -> str:
        return f"spec.{_FIELDS[self.kind]}[{self.name}]"

    @property
    def path(self) -> str:
        return f"status.{_STATUS_FIELDS[self.kind]}[{self.name}]"

    @property
    def event_path(self) -> str:
        return f"spec.{_FIELDS[self.kind]}{{{self.name}}}"

    @property
    def waiting_reason(self) -> str:
        waiting = self.status.state.waiting
        return "" if waiting is None else waiting.reason

    @property
    def words(self) -> str:
        """The container in words: `container main`, `sidecar proxy`."""
        return f"{'' if self.kind == 'regular' else self.kind + ' '}container {self.name}".replace(
            "sidecar container", "sidecar"
        )

    def fact(self, field_name: str, value: object) -> Fact:
        return Fact(f"{self.path}.{field_name}", str(value))


@value_object
class Observation:
    """A pod at one time. `node` is None if it was not requested; `node_gone` if it was requested and does not exist."""

    pod: Pod
    now: int
    events: tuple[Event, ...] = ()
    node: Node | None = None
    node_gone: bool = False
    memory: Memory = field(default_factory=Memory)
    # Whether the ConfigMaps and Secrets that were looked up exist.
    objects: Mapping[ObjectKey, bool] = field(default_factory=dict)
    periods: KubeletPeriods = DEFAULT_PERIODS  # of the node's kubelet
    clock_known: bool = True  # whether `now` is the node's time, within the accuracy of the measurement

    @property
    def gates(self) -> FeatureGates:
        return self.periods.gates

    def containers(self) -> Iterator[ContainerView]:
        """The containers in the order of the spec: init containers and sidecars, regular ones, ephemeral ones."""
        spec, status = self.pod.spec, self.pod.status
        for container in spec.init_containers:
            kind: ContainerKind = "sidecar" if is_restartable_init_container(container) else "init"
            yield ContainerView(kind, container, _find(status.init_container_statuses, container.name))
        for container in spec.containers:
            yield ContainerView("regular", container, _find(status.container_statuses, container.name))
        for container in spec.ephemeral_containers:
            yield ContainerView("ephemeral", container, _find(status.ephemeral_container_statuses, container.name))

    def condition(self, kind: str) -> PodCondition | None:
        return find_condition(self.pod.status.conditions, kind)

    def condition_facts(self, *kinds: str) -> tuple[Fact, ...]:
        facts = []
        for kind in kinds:
            condition = self.condition(kind)
            if condition is not None:
                said = " ".join(part for part in (condition.status, condition.reason) if part)
                facts.append(Fact(f"status.conditions[{kind}]", said))
        return tuple(facts)

    def events_of(self, *reasons: str, path: str | None = None) -> tuple[Event, ...]:
        """The Events with one of these reasons, oldest first; with a path, only those about that container."""
        found = [
            event
            for event in self.events
            if event.reason in reasons and (path is None or event.involved_object.field_path == path)
        ]
        return tuple(sorted(found, key=event_time))

    def is_of_earlier_kubelet(self, event: Event) -> bool:
        """Whether the kubelet has restarted since: the new one has no back-off, and retries immediately."""
        return event_time(event) < self.memory.kubelet_since

    def newest_event(self, *reasons: str, path: str | None = None) -> Event | None:
        found = self.events_of(*reasons, path=path)
        return found[-1] if found else None


def _find(statuses: Sequence[ContainerStatus], name: str) -> ContainerStatus:
    return next((status for status in statuses if status.name == name), NO_STATUS)


def event_time(event: Event) -> int:
    """When an Event was last emitted, by either way of counting; 0 if it has no time."""
    series = event.series or {}
    for text in (
        series.get("lastObservedTime"),
        event.last_timestamp,
        event.event_time,
        event.first_timestamp,
        event.metadata.creation_timestamp,
    ):
        if text:
            return parse_time(text)
    return 0


def first_time(event: Event) -> int:
    """When an Event was first emitted."""
    return parse_time(event.first_timestamp) if event.first_timestamp else event_time(event)


def event_count(event: Event) -> int:
    series = event.series or {}
    return int(series.get("count") or event.count or 1)


def event_fact(event: Event) -> Fact:
    times = event_count(event)
    said = event.message if len(event.message) <= 300 else event.message[:297] + "..."
    return Fact(f"event {event.reason}", f"{said.strip()}{f' (x{times})' if times > 1 else ''}")


def newest_time(pod: Pod) -> int:
    """The latest time in a status written by the kubelet; 0 if there is none."""
    states = [one.state for one in (*pod.status.init_container_statuses, *pod.status.container_statuses)]
    texts = [condition.last_transition_time for condition in pod.status.conditions]
    texts += [state.running.started_at for state in states if state.running is not None]
    texts += [state.terminated.finished_at for state in states if state.terminated is not None]
    return max((moment(text) or 0 for text in texts), default=0)


def moment(text: str | None) -> int | None:
    """The microseconds of a time in a status; None for the epoch, which containerd uses for "no time"."""
    if not text:
        return None
    parsed = parse_time(text)
    return parsed or None
