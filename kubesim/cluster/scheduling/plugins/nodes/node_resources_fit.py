"""NodeResourcesFit: the node must have room for the pod's requests; emptier nodes score higher (LeastAllocated).

Mirrors: pkg/scheduler/framework/plugins/noderesources fit.go, least_allocated.go
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.pods.resources import PODS, pod_requests, quantities
from kubesim.cluster.scheduling.fit import InsufficientResource, fits_request
from kubesim.cluster.scheduling.framework.cluster_event import Action, ClusterEvent, after
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import MAX_NODE_SCORE, CycleState, Plugin
from kubesim.cluster.scheduling.framework.status import Status
from kubesim.cluster.scheduling.node_info import NodeInfo, NodeResources

NAME = "NodeResourcesFit"


def filter_node(cycle: CycleState, state: NodeState) -> Status | None:
    missing = list(fits_request(cycle.info.requests, state))
    if not missing:
        return None
    return Status(NAME, tuple(map(_reason, missing)), any(map(_is_unresolvable, missing)))


def _reason(missing: InsufficientResource) -> str:
    return "Too many pods" if missing.resource == PODS else f"Insufficient {missing.resource}"


def _is_unresolvable(missing: InsufficientResource) -> bool:
    """Whether the pod would not even fit on the empty node."""
    return missing.resource != PODS and missing.requested > missing.capacity


def score(cycle: CycleState, nodes: Sequence[NodeState]) -> Sequence[int]:
    """The free share of cpu and memory, in percent."""
    return [_least_allocated(cycle.info.non_zero, state) for state in nodes]


def _least_allocated(need: NodeResources, state: NodeState) -> int:
    used, have = state.non_zero_requested, state.allocatable
    scores = [
        _least_requested_score(taken + asked, capacity)
        for taken, asked, capacity in (
            (used.milli_cpu, need.milli_cpu, have.milli_cpu),
            (used.memory, need.memory, have.memory),
        )
        if capacity
    ]
    return sum(scores) // len(scores) if scores else 0


def _least_requested_score(requested: int, capacity: int) -> int:
    return 0 if requested > capacity else (capacity - requested) * MAX_NODE_SCORE // capacity


def is_schedulable_after_pod_event(pod: Pod, event: ClusterEvent) -> bool:
    """Whether a pod left its node or was scaled down, or this pod's own requests shrank."""
    old, new = event.old_pod, event.new_pod
    if new is None:
        return old is not None and bool(old.spec.node_name or old.status.nominated_node_name)
    if new.metadata.uid == pod.metadata.uid:
        return True
    if old is None or not new.spec.node_name:
        return False
    before, now = (pod_requests(each, use_status=True, use_pod_level_status=True) for each in (old, new))
    wanted = (name for name, amount in pod_requests(pod).items() if not amount.is_zero)
    return any(name in before and (name not in now or now[name] < before[name]) for name in wanted)


def is_schedulable_after_node_change(pod: Pod, event: ClusterEvent) -> bool:
    old, new = event.old_node, event.new_node
    need = NodeResources.of(pod_requests(pod))
    if new is None or any(fits_request(need, NodeInfo(new))):
        return False
    return old is None or _has_more(need, old, new)


def _has_more(need: NodeResources, old: Node, new: Node) -> bool:
    """Whether a resource that the pod requests has increased."""
    before, now = (NodeResources.of(quantities(node.status.allocatable)) for node in (old, new))
    return (
        now.allowed_pods > before.allowed_pods
        or (need.milli_cpu > 0 and now.milli_cpu > before.milli_cpu)
        or (need.memory > 0 and now.memory > before.memory)
        or (need.ephemeral_storage > 0 and now.ephemeral_storage > before.ephemeral_storage)
        or any(
            amount and now.scalars.get(name, 0) > before.scalars.get(name, 0) for name, amount in need.scalars.items()
        )
    )


PLUGIN = Plugin(
    NAME,
    filter=filter_node,
    score=score,
    events=(
        after("Pod", Action.DELETE, Action.UPDATE_POD_SCALE_DOWN, hint=is_schedulable_after_pod_event),
        after("Node", Action.ADD, Action.UPDATE_NODE_ALLOCATABLE, hint=is_schedulable_after_node_change),
        after("Node", Action.UPDATE_NODE_TAINT),
    ),
)
