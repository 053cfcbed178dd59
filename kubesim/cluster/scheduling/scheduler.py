"""A small scheduler: pods that name no node go to the first one that has room, or are told why there is none.

It stands beside the kubelets, where a cluster has kube-scheduler. There is neither scoring nor preemption. A pod that
found no node is looked at again whenever a pod ends or a node changes.

Mirrors: pkg/scheduler schedule_one.go; framework/types.go FitError; the filters NodeUnschedulable, TaintToleration,
NodeAffinity, NodePorts and NodeResourcesFit
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kubesim.api.event import Event, EventSource
from kubesim.api.meta import ObjectMeta, ObjectReference
from kubesim.api.node import Node
from kubesim.api.pod import Pod, PodCondition
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.timestamps import MILLISECOND, format_time
from kubesim.clock import LoopClock
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.registry.subresources import bind, pod_with_condition
from kubesim.cluster.scheduling.fit import (
    NODE_AFFINITY,
    NODE_PORTS,
    InsufficientResource,
    insufficient_resources,
    node_labels,
)
from kubesim.cluster.scheduling.node_affinity import matches_node_affinity
from kubesim.cluster.scheduling.node_info import NodeInfo, host_ports
from kubesim.cluster.scheduling.taints import tolerates
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent
from kubesim.errors import ApiError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.values import value_object

COMPONENT = "default-scheduler"
DELAY = 8 * MILLISECOND  # from the watch to the write
UNSCHEDULABLE = "Unschedulable"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"


@value_object
class Obstacle:
    """What keeps a pod off a node, and whether it would still if the node were empty."""

    reasons: tuple[str, ...]
    lasting: bool


class Scheduler:
    """Works from when it is made."""

    def __init__(self, clock: LoopClock, store: Store, gates: FeatureGates = DEFAULT_GATES) -> None:
        self._clock = clock
        self._store = store
        self._gates = gates
        self._waiting: dict[tuple[str, str], int] = {}  # pods without a node by namespace and name: generation
        store.watch("Pod", self._pod_changed)
        store.watch("Node", lambda _: self._look_again())
        for pod in store.list("Pod"):
            self._pod_changed(WatchEvent("ADDED", pod, 0))

    def _pod_changed(self, change: WatchEvent) -> None:
        pod = change.object
        assert isinstance(pod, Pod)
        key = (pod.metadata.namespace, pod.metadata.name)
        if change.type == "DELETED" or pod.status.phase in TERMINAL_PHASES:
            self._waiting.pop(key, None)
            self._look_again()
        elif not pod.spec.node_name and self._waiting.get(key) != pod.metadata.generation:
            self._waiting[key] = pod.metadata.generation
            self._clock.call_at(self._clock.now() + DELAY, self._schedule, key)

    def _look_again(self) -> None:
        for key in self._waiting:
            self._clock.call_at(self._clock.now() + DELAY, self._schedule, key)

    def _schedule(self, key: tuple[str, str]) -> None:
        pod = self._store.find("Pod", *key)
        if key not in self._waiting or not isinstance(pod, Pod) or pod.metadata.deletion_timestamp is not None:
            return
        obstacles = []
        for info in self._nodes():
            obstacle = why_not(pod, info, self._gates)
            if obstacle is None:
                self._bind(pod, info.node.metadata.name)
                return
            obstacles.append(obstacle)
        self._tell_unschedulable(pod, fit_error(obstacles))

    def _nodes(self) -> list[NodeInfo]:
        pods = [pod for pod in self._store.list("Pod") if isinstance(pod, Pod)]
        running = [pod for pod in pods if pod.spec.node_name and pod.status.phase not in TERMINAL_PHASES]
        return [
            NodeInfo(node, [pod for pod in running if pod.spec.node_name == node.metadata.name], self._gates)
            for node in self._store.list("Node")
            if isinstance(node, Node)
        ]

    def _bind(self, pod: Pod, node: str) -> None:
        metadata = pod.metadata
        try:
            target = Target(RESOURCES["Pod"], metadata.namespace, metadata.name, "binding")
            bind(self._store, target, {"metadata": {"name": metadata.name}, "target": {"kind": "Node", "name": node}})
        except ApiError:
            return  # scheduling gates; a change of the pod brings it here again
        del self._waiting[metadata.namespace, metadata.name]
        self._event(pod, "Normal", "Scheduled", f"Successfully assigned {metadata.namespace}/{metadata.name} to {node}")

    def _tell_unschedulable(self, pod: Pod, message: str) -> None:
        condition = PodCondition(
            type="PodScheduled",
            status="False",
            reason=UNSCHEDULABLE,
            message=message,
            observed_generation=pod.metadata.generation,
        )
        changed = pod_with_condition(pod, condition, self._store.now())
        if changed != pod:
            self._store.write(pod, changed)
        self._event(pod, "Warning", "FailedScheduling", message)

    def _event(self, pod: Pod, event_type: str, reason: str, message: str) -> None:
        metadata, now = pod.metadata, self._clock.now()
        self._store.create(
            Event(
                api_version="v1",
                kind="Event",
                metadata=ObjectMeta(name=f"{metadata.name}.{now:x}", namespace=metadata.namespace),
                involved_object=ObjectReference(
                    kind="Pod", namespace=metadata.namespace, name=metadata.name, uid=metadata.uid, api_version="v1"
                ),
                type=event_type,
                reason=reason,
                message=message,
                source=EventSource(component=COMPONENT),
                first_timestamp=format_time(now),
                last_timestamp=format_time(now),
                reporting_component=COMPONENT,
            )
        )


def why_not(pod: Pod, info: NodeInfo, gates: FeatureGates = DEFAULT_GATES) -> Obstacle | None:
    """The first filter that the node does not pass."""
    node = info.node
    if not _tolerates_taints(pod, node, gates):
        return Obstacle(("node(s) had untolerated taint(s)",), lasting=True)
    if not matches_node_affinity(pod, node.metadata.name, node_labels(node)):
        return Obstacle((NODE_AFFINITY.description,), lasting=True)
    if any(map(info.ports.conflicts, host_ports(pod))):
        return Obstacle((NODE_PORTS.description,), lasting=False)
    missing = list(insufficient_resources(pod, info, gates))
    if not missing:
        return None
    lasting = any(failure.resource != "pods" and failure.requested > failure.capacity for failure in missing)
    return Obstacle(tuple(map(_insufficient, missing)), lasting)


def _tolerates_taints(pod: Pod, node: Node, gates: FeatureGates) -> bool:
    comparison = gates.enabled("TaintTolerationComparisonOperators")
    return all(
        any(tolerates(toleration, taint, comparison=comparison) for toleration in pod.spec.tolerations)
        for taint in node.spec.taints
        if taint.effect in ("NoSchedule", "NoExecute")
    )


def _insufficient(failure: InsufficientResource) -> str:
    return "Too many pods" if failure.resource == "pods" else f"Insufficient {failure.resource}"


def fit_error(obstacles: Sequence[Obstacle]) -> str:
    """How the scheduler sums up why no node fits."""
    count = len(obstacles)
    if not count:
        return "no nodes available to schedule pods"
    filtered = Counter(reason for obstacle in obstacles for reason in obstacle.reasons)
    preempted = Counter(
        "Preemption is not helpful for scheduling"
        if obstacle.lasting
        else "No preemption victims found for incoming pod"
        for obstacle in obstacles
    )
    return f"{_summary(count, filtered)} no new claims to deallocate, preemption: {_summary(count, preempted)}"


def _summary(nodes: int, reasons: Counter[str]) -> str:
    counted = sorted(f"{count} {reason}" for reason, count in reasons.items())
    return f"0/{nodes} nodes are available: {', '.join(counted)}."
