"""TaintToleration: untolerated taints reject a pod, or lower the node's score (PreferNoSchedule).

Mirrors: pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.cluster_event import Action, ClusterEvent, after
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import CycleState, Plugin, default_normalize_score
from kubesim.cluster.scheduling.framework.status import Status
from kubesim.cluster.scheduling.taints import tolerates, untolerated_taint
from kubesim.features import DEFAULT_GATES

NAME = "TaintToleration"
REASON = "node(s) had untolerated taint(s)"
_REFUSED = Status(NAME, (REASON,), unresolvable=True)


def filter_node(cycle: CycleState, state: NodeState) -> Status | None:
    taints = state.node.spec.taints
    if not taints or untolerated_taint(cycle.pod, state.node, cycle.snapshot.gates) is None:
        return None
    return _REFUSED


def score(cycle: CycleState, nodes: Sequence[NodeState]) -> Sequence[int]:
    """Higher with fewer untolerated taints."""
    return default_normalize_score([_untolerated(cycle, state.node) for state in nodes], reverse=True)


def _untolerated(cycle: CycleState, node: Node) -> int:
    soft = [taint for taint in node.spec.taints if taint.effect == "PreferNoSchedule"]
    if not soft:
        return 0
    comparison = cycle.snapshot.gates.enabled("TaintTolerationComparisonOperators")
    tolerations = [each for each in cycle.pod.spec.tolerations if each.effect in ("", "PreferNoSchedule")]
    return sum(not any(tolerates(each, taint, comparison=comparison) for each in tolerations) for taint in soft)


def is_schedulable_after_node_change(pod: Pod, event: ClusterEvent) -> bool:
    old, new = event.old_node, event.new_node
    was_untolerated = old is None or untolerated_taint(pod, old, DEFAULT_GATES) is not None
    return was_untolerated and new is not None and untolerated_taint(pod, new, DEFAULT_GATES) is None


def is_schedulable_after_pod_toleration_change(pod: Pod, event: ClusterEvent) -> bool:
    return event.new_pod is not None and event.new_pod.metadata.uid == pod.metadata.uid


PLUGIN = Plugin(
    NAME,
    filter=filter_node,
    score=score,
    weight=3,
    events=(
        after("Node", Action.ADD, Action.UPDATE_NODE_TAINT, hint=is_schedulable_after_node_change),
        after("Pod", Action.UPDATE_POD_TOLERATION, hint=is_schedulable_after_pod_toleration_change),
    ),
)
