"""Plans missing and surplus daemon pods per node, and counts the status.

Mirrors: pkg/controller/daemon/daemon_controller.go podsShouldBeOnNode, getNodesToDaemonPods,
getUnscheduledPodsWithoutNode, updateDaemonSetStatus
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kubesim.api.pod import Pod
from kubesim.api.pods.phases import FAILED, SUCCEEDED, TERMINAL_PHASES
from kubesim.api.workloads.apps import DaemonSet, DaemonSetStatus
from kubesim.cluster.controllers.daemonset.placement import HASH_LABEL, Fit, is_updated, oldest_first, target_node
from kubesim.cluster.controllers.daemonset.rolling import allows_surge
from kubesim.cluster.controllers.pods import is_pod_available, is_pod_ready
from kubesim.values import value_object

PodsByNode = Mapping[str, Sequence[Pod]]


@value_object
class DaemonNodePlan:
    """Changes on one node. Terminated pods are deleted too, each with its own reason."""

    create: bool = False
    delete: tuple[Pod, ...] = ()
    failed: tuple[Pod, ...] = ()
    succeeded: tuple[Pod, ...] = ()
    why: str = ""  # of `delete`


def pods_by_node(pods: Iterable[Pod], *, with_deleted: bool = False) -> dict[str, list[Pod]]:
    """The daemon pods of each node. A terminated pod that is being deleted is included only on request."""
    nodes: dict[str, list[Pod]] = {}
    for pod in pods:
        ended = pod.metadata.deletion_timestamp is not None and pod.status.phase in TERMINAL_PHASES
        node = target_node(pod)
        if node and (with_deleted or not ended):
            nodes.setdefault(node, []).append(pod)
    return nodes


def plan_node(set_: DaemonSet, fit: Fit, pods: Sequence[Pod], revision_hash: str, now: int) -> DaemonNodePlan:
    """Plan one node. `pods` are the daemon pods on it."""
    if fit.should_run and not pods:
        return DaemonNodePlan(create=True)
    alive = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
    if not fit.should_continue:
        return DaemonNodePlan(delete=tuple(alive), why="the node does not fit the pods of the set any more")
    failed = tuple(pod for pod in alive if pod.status.phase == FAILED)
    succeeded = tuple(pod for pod in alive if pod.status.phase == SUCCEEDED)
    running = oldest_first(pod for pod in alive if pod.status.phase not in TERMINAL_PHASES)
    if not allows_surge(set_):
        why = "the node has more than one pod of the set, and only the oldest stays"
        return DaemonNodePlan(False, tuple(running[1:]), failed, succeeded, why)
    surplus = _surplus_of_surge(set_, running, revision_hash, now)
    why = "a newer pod of the set has taken its place on the node"
    return DaemonNodePlan(fit.should_run and not running, surplus, failed, succeeded, why)


def _surplus_of_surge(set_: DaemonSet, running: Sequence[Pod], revision_hash: str, now: int) -> tuple[Pod, ...]:
    """An old pod stays beside a new one only while the old one is ready and the new one is not yet available."""
    if len(running) <= 1:
        return ()
    new = [pod for pod in running if pod.metadata.labels.get(HASH_LABEL) == revision_hash]
    old = [pod for pod in running if pod.metadata.labels.get(HASH_LABEL) != revision_hash]
    surplus = [pod for pod in running if pod not in (*new[:1], *old[:1])]
    if new and old and (not is_pod_ready(old[0]) or is_pod_available(new[0], set_.spec.min_ready_seconds, now)):
        surplus.append(old[0])
    return tuple(surplus)


def pods_without_node(pods: PodsByNode, nodes: Iterable[str]) -> list[Pod]:
    """Pods to delete: they were created for a node that does not exist."""
    known = set(nodes)
    return [pod for node, there in pods.items() if node not in known for pod in there if not pod.spec.node_name]


def daemon_set_status(
    set_: DaemonSet, fits: Mapping[str, Fit], pods: PodsByNode, revision_hash: str, now: int
) -> DaemonSetStatus:
    """The counts of the status. Only the oldest pod of each node counts."""
    wanted = [node for node, fit in fits.items() if fit.should_run]
    counted = [oldest_first(pods[node])[0] for node in wanted if pods.get(node)]
    ready = [pod for pod in counted if is_pod_ready(pod)]
    available = sum(is_pod_available(pod, set_.spec.min_ready_seconds, now) for pod in ready)
    return set_.status.changed(
        observed_generation=set_.metadata.generation,
        desired_number_scheduled=len(wanted),
        current_number_scheduled=len(counted),
        number_misscheduled=sum(bool(pods.get(node)) for node, fit in fits.items() if not fit.should_run),
        number_ready=len(ready),
        updated_number_scheduled=sum(is_updated(set_, pod, revision_hash) for pod in counted),
        number_available=available,
        number_unavailable=len(wanted) - available,
    )
