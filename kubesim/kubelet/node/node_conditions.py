"""The node's status: Ready and pressure conditions, device plugin resources, kubelet version.

The conditions are a pure function of the node's health. `NodeStatusUpdater` computes them every ten seconds and writes
changes. It skips writes that only update the heartbeat time, because nothing in a run depends on it.

Mirrors: pkg/kubelet/nodestatus/setters.go MemoryPressureCondition, DiskPressureCondition, PIDPressureCondition,
ReadyCondition; kubelet_node_status.go syncNodeStatus, updateNodeStatus, tryUpdateNodeStatus
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from kubesim.api.node import Node, NodeCondition
from kubesim.api.timestamps import SECOND, format_time
from kubesim.clock import NEVER, LoopClock
from kubesim.clock.randomness import Stream
from kubesim.cluster.api_client import ApiClient
from kubesim.concurrency import JitteredTicker
from kubesim.errors import ApiError
from kubesim.features import FeatureGates
from kubesim.features.releases import RELEASES
from kubesim.kubelet.admission.pod_features import declared_features
from kubesim.kubelet.cm.devicemanager.capacity import DeviceCapacity, with_device_capacity
from kubesim.kubelet.eviction.signals import DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE
from kubesim.trace import Recorder
from kubesim.trace.records import ApiWrite, Note
from kubesim.values import value_object

UPDATE_PERIOD = 10 * SECOND
UPDATE_JITTER = 0.04
UPDATE_TRIES = 5
READY = "Ready"
REQUIRED_CAPACITIES = ("cpu", "memory", "pods", "ephemeral-storage")


@value_object
class _Words:
    """Reason, message and Event of a pressure condition, for true and for false."""

    pressure: tuple[str, str, str]
    none: tuple[str, str, str]


_PRESSURE: Mapping[str, _Words] = {
    MEMORY_PRESSURE: _Words(
        ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available", "NodeHasInsufficientMemory"),
        ("KubeletHasSufficientMemory", "kubelet has sufficient memory available", "NodeHasSufficientMemory"),
    ),
    DISK_PRESSURE: _Words(
        ("KubeletHasDiskPressure", "kubelet has disk pressure", "NodeHasDiskPressure"),
        ("KubeletHasNoDiskPressure", "kubelet has no disk pressure", "NodeHasNoDiskPressure"),
    ),
    PID_PRESSURE: _Words(
        ("KubeletHasInsufficientPID", "kubelet has insufficient PID available", "NodeHasInsufficientPID"),
        ("KubeletHasSufficientPID", "kubelet has sufficient PID available", "NodeHasSufficientPID"),
    ),
}


@value_object
class NodeHealth:
    """Health of a node: its pressure conditions, the reasons why it is not ready (empty: ready), its attached volumes,
    its device resources, and the reporting kubelet (None: as registered).
    """

    pressure: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    volumes_in_use: tuple[str, ...] = ()
    devices: DeviceCapacity | None = None
    kubelet: FeatureGates | None = None


def with_conditions(node: Node, health: NodeHealth, now: int) -> tuple[Node, list[str]]:
    """The node with current conditions, and the Events about changed conditions."""
    known = {condition.type: condition for condition in node.status.conditions}
    events: list[str] = []
    for type, words in _PRESSURE.items():
        wanted = type in health.pressure
        reason, message, event = words.pressure if wanted else words.none
        known[type] = _condition(known.get(type), type, wanted, reason, message, now)
        if not _same_status(node, known[type]):
            events.append(event)
    problem = aggregate((*health.problems, missing_capacities(node)))
    ready = _condition(
        known.get(READY),
        READY,
        not problem,
        "KubeletNotReady" if problem else "KubeletReady",
        problem or "kubelet is posting ready status",
        now,
    )
    if READY in known and not _same_status(node, ready):
        events.append("NodeNotReady" if problem else "NodeReady")
    known[READY] = ready
    status = node.status.changed(conditions=tuple(known.values()))
    if status.volumes_in_use != health.volumes_in_use:
        status = status.changed(volumes_in_use=health.volumes_in_use)
    if health.devices is not None:
        status = with_device_capacity(status, health.devices)
    if health.kubelet is not None:
        info = {**status.node_info, "kubeletVersion": RELEASES[health.kubelet.profile]}
        status = status.changed(node_info=info, declared_features=declared_features(health.kubelet))
    return node.changed(status=status), events


def _condition(
    old: NodeCondition | None, type: str, status: bool, reason: str, message: str, now: int
) -> NodeCondition:
    moment, text = format_time(now), "True" if status else "False"
    since = old.last_transition_time if old is not None and old.status == text else moment
    return NodeCondition(
        type=type,
        status=text,
        reason=reason,
        message=message,
        last_heartbeat_time=moment,
        last_transition_time=since,
    )


def _same_status(node: Node, condition: NodeCondition) -> bool:
    return any(old.type == condition.type and old.status == condition.status for old in node.status.conditions)


def missing_capacities(node: Node) -> str:
    missing = [name for name in REQUIRED_CAPACITIES if name not in node.status.capacity]
    return f"missing node capacity for resources: {', '.join(missing)}" if missing else ""


def aggregate(problems: tuple[str, ...]) -> str:
    """Aggregated errors in Go's format: `[one, two]`; nested lists are flattened."""
    texts: dict[str, None] = {}
    for problem in filter(None, problems):
        opened = problem[1:-1].split(", ") if problem.startswith("[") and problem.endswith("]") else [problem]
        texts.update(dict.fromkeys(opened))
    return f"[{', '.join(texts)}]" if len(texts) > 1 else "".join(texts)


def has_changed(old: Node, new: Node) -> bool:
    """Whether the status differs in more than the heartbeat time."""

    def reported(node: Node) -> list[tuple[str, str, str, str, str | None]]:
        return [(c.type, c.status, c.reason, c.message, c.last_transition_time) for c in node.status.conditions]

    def has(node: Node) -> tuple[object, ...]:
        status = node.status
        described = status.node_info.get("kubeletVersion"), status.declared_features
        return *described, status.volumes_in_use, status.capacity, status.allocatable

    return reported(old) != reported(new) or has(old) != has(new)


class NodeStatusUpdater:
    """Writes the node status. `health` is called for each update; `is_changing`: it can change with time alone."""

    def __init__(
        self,
        clock: LoopClock,
        recorder: Recorder,
        client: ApiClient,
        node_name: str,
        health: Callable[[], NodeHealth],
        is_changing: Callable[[], bool],
        emit: Callable[[str, str, str], None],
        stream: Stream,
        *,
        period: int = UPDATE_PERIOD,
        jitter: bool = True,
    ) -> None:
        self._clock = clock
        self._recorder = recorder
        self._client = client
        self._node_name = node_name
        self._health = health
        self._is_changing = is_changing
        self._emit = emit
        self._stream = stream
        self._period = period
        self._jitter = UPDATE_JITTER if jitter else 0.0
        self._lock = asyncio.Lock()

    def _interval(self) -> int:
        return self._period + round(self._period * self._jitter * self._stream.random())

    async def run(self) -> None:
        ticker = JitteredTicker(self._clock, "node status", self._interval)
        try:
            while True:
                changed = await self.update()
                ticker.done(0 if changed or self._is_changing() else NEVER)
                await ticker.channel.receive()
        finally:
            ticker.stop()

    async def update(self) -> bool:
        """Update the API server now; true if it was outdated or unreachable."""
        async with self._lock:
            for number in range(UPDATE_TRIES):
                try:
                    return await self._try_update(number)
                except ApiError as error:
                    if self._recorder.on:
                        text = f"update of the node status failed, try {number + 1} of {UPDATE_TRIES}: {error}"
                        self._recorder.record(Note(node=self._node_name, text=text))
        return True

    async def _try_update(self, number: int) -> bool:
        """One attempt. The first starts from the informer's Node, later ones read it from the API server."""
        now, client, name = self._clock.wall(), self._client, self._node_name
        old = await client.get_node(name) if number else client.known_node(name)
        new, events = with_conditions(old, self._health(), now)
        for event in events:
            self._emit("Normal", event, f"Node {self._node_name} status is now: {event}")
        if not has_changed(old, new):
            return False
        await client.patch_node_status(name, old, new, lambda: self._record_write(new))
        return True

    def _record_write(self, new: Node) -> None:
        if self._recorder.on:
            conditions = {condition.type: condition.status for condition in new.status.conditions}
            self._recorder.record(
                ApiWrite(node=self._node_name, verb="patch", resource="nodes/status", by="kubelet", summary=conditions)
            )
