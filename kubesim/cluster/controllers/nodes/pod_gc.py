"""Pod garbage collection: deletes pods of missing nodes, terminated pods that never had a node, terminating pods on an
out-of-service node, and the oldest terminated pods beyond the threshold.

The real controller checks every 20 s. This one checks only when there is something to find.

Mirrors: pkg/controller/podgc/gc_controller.go
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from kubesim.api.node import Node
from kubesim.api.pod import Pod, PodCondition
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.timestamps import SECOND
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import ControllerClient
from kubesim.cluster.controllers.manager import OUT_OF_SERVICE, TERMINATED_POD_THRESHOLD
from kubesim.cluster.registry.deletion import DeleteOptions
from kubesim.cluster.registry.subresources.binding import pod_with_condition
from kubesim.cluster.store.watches import WatchEvent
from kubesim.values import value_object

CHECK_PERIOD = 20 * SECOND
QUARANTINE = 40 * SECOND  # how long a node may be missing
NODE_IS_GONE = "its node does not exist"


@value_object
class PodDeletion:
    """A pod to delete forcefully."""

    pod: Pod
    why: str


def is_terminated(pod: Pod) -> bool:
    return pod.status.phase not in ("Pending", "Running", "Unknown")


def too_many_terminated(pods: Iterable[Pod], threshold: int) -> list[PodDeletion]:
    """The terminated pods beyond the threshold: evicted ones first, then the oldest."""
    ended = [pod for pod in pods if is_terminated(pod)]
    count = len(ended) - threshold
    if threshold <= 0 or count <= 0:
        return []
    ended.sort(key=lambda pod: (not _is_evicted(pod), pod.metadata.creation_timestamp or "", pod.metadata.name))
    return [PodDeletion(pod, f"more than {threshold} pods have ended") for pod in ended[:count]]


def _is_evicted(pod: Pod) -> bool:
    return pod.status.phase == "Failed" and pod.status.reason == "Evicted"


def terminating_out_of_service(pods: Iterable[Pod], nodes: Mapping[str, Node]) -> list[PodDeletion]:
    return [
        PodDeletion(pod, f"the pod is being deleted, and its node {pod.spec.node_name} is out of service")
        for pod in pods
        if pod.metadata.deletion_timestamp is not None and is_out_of_service(nodes.get(pod.spec.node_name))
    ]


def is_out_of_service(node: Node | None) -> bool:
    """Whether the node is not ready and has the out-of-service taint."""
    if node is None or not any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints):
        return False
    return not any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)


def unscheduled_terminating(pods: Iterable[Pod]) -> list[PodDeletion]:
    return [
        PodDeletion(pod, "the pod is being deleted, and no kubelet has it")
        for pod in pods
        if pod.metadata.deletion_timestamp is not None and not pod.spec.node_name
    ]


def missing_nodes(pods: Iterable[Pod], nodes: Mapping[str, Node]) -> list[str]:
    return list(dict.fromkeys(pod.spec.node_name for pod in pods if pod.spec.node_name not in ("", *nodes)))


def orphaned(pods: Iterable[Pod], gone: Sequence[str]) -> list[PodDeletion]:
    return [PodDeletion(pod, NODE_IS_GONE) for pod in pods if pod.spec.node_name in gone]


class PodGarbageCollector:
    """The controller; active from creation."""

    def __init__(self, context: ControllerContext) -> None:
        self._clock, self._store = context.clock, context.store
        self._client = ControllerClient(context, "pod-garbage-collector-controller")
        self._first = context.clock.now() + context.randomness.stream("controller", "podgc").randint(1, CHECK_PERIOD)
        self._planned: asyncio.TimerHandle | None = None
        self._quarantined: dict[str, int] = {}  # missing nodes, and when they count as gone
        self._store.watch("Pod", self._pod_changed)
        self._store.watch("Node", self._node_changed)
        self._plan()

    def _pod_changed(self, change: WatchEvent) -> None:
        pod = change.object
        assert isinstance(pod, Pod)
        if change.type == "DELETED":
            return
        if pod.spec.node_name:
            node = self._store.find("Node", "", pod.spec.node_name)
            concerns = node is None or (isinstance(node, Node) and is_out_of_service(node))
        else:
            concerns = pod.metadata.deletion_timestamp is not None
        if concerns or self._store.count("Pod") > TERMINATED_POD_THRESHOLD:
            self._plan()

    def _node_changed(self, change: WatchEvent) -> None:
        node = change.object
        assert isinstance(node, Node)
        if change.type == "DELETED" or is_out_of_service(node):
            self._plan()

    def _plan(self) -> None:
        """Schedule a pass at the next polling time."""
        if self._planned is None:
            periods = max(-(-(self._clock.now() + 1 - self._first) // CHECK_PERIOD), 0)
            self._planned = self._clock.call_at(self._first + periods * CHECK_PERIOD, self._gc)

    def _gc(self) -> None:
        self._planned = None
        pods = [pod for pod in self._store.list("Pod") if isinstance(pod, Pod)]
        nodes = {node.metadata.name: node for node in self._store.list("Node") if isinstance(node, Node)}
        self._delete_all(too_many_terminated(pods, TERMINATED_POD_THRESHOLD))
        self._delete_all(terminating_out_of_service(pods, nodes))
        self._delete_all(orphaned(pods, self._deleted_nodes(pods, nodes)))
        self._delete_all(unscheduled_terminating(pods))
        if self._quarantined:
            self._plan()

    def _deleted_nodes(self, pods: Sequence[Pod], nodes: Mapping[str, Node]) -> list[str]:
        """Nodes missing for long enough to be considered gone."""
        now, missing = self._clock.now(), missing_nodes(pods, nodes)
        gone = [name for name, due in self._quarantined.items() if due <= now and name in missing]
        self._quarantined = {name: due for name, due in self._quarantined.items() if due > now}
        for name in missing:
            if name not in gone:
                self._quarantined.setdefault(name, now + QUARANTINE)
        return gone

    def _delete_all(self, deletions: Iterable[PodDeletion]) -> None:
        for item in deletions:
            found = self._store.find("Pod", item.pod.metadata.namespace, item.pod.metadata.name)
            if isinstance(found, Pod) and found.metadata.uid == item.pod.metadata.uid:
                self._mark_failed_and_delete(found, item.why)

    def _mark_failed_and_delete(self, pod: Pod, why: str) -> None:
        """Set phase Failed, as no kubelet will, and delete."""
        if pod.status.phase not in TERMINAL_PHASES:
            generation = pod.metadata.generation
            failed = pod.changed(status=pod.status.changed(phase="Failed", observed_generation=generation))
            if why == NODE_IS_GONE:
                condition = PodCondition(
                    type="DisruptionTarget",
                    status="True",
                    reason="DeletionByPodGC",
                    message="PodGC: node no longer exists",
                    observed_generation=generation,
                )
                failed = pod_with_condition(failed, condition, self._clock.now())
            self._client.patch(pod, failed, why, "status")
        self._client.delete(pod, why, DeleteOptions(grace_s=0, uid=pod.metadata.uid))
