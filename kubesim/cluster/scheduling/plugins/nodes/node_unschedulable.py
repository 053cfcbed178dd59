"""NodeUnschedulable: a cordoned node accepts only pods that tolerate the unschedulable taint.

Mirrors: pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go
"""

from __future__ import annotations

from kubesim.api.node import Taint
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.cluster_event import Action, ClusterEvent, after
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import CycleState, Plugin
from kubesim.cluster.scheduling.framework.status import Status
from kubesim.cluster.scheduling.taints import tolerates

NAME = "NodeUnschedulable"
REASON = "node(s) were unschedulable"
UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_REFUSED = Status(NAME, (REASON,), unresolvable=True)


def filter_node(cycle: CycleState, state: NodeState) -> Status | None:
    if not state.node.spec.unschedulable or _tolerates_unschedulable(cycle.pod):
        return None
    return _REFUSED


def _tolerates_unschedulable(pod: Pod) -> bool:
    return any(tolerates(toleration, UNSCHEDULABLE_TAINT, comparison=False) for toleration in pod.spec.tolerations)


def is_schedulable_after_node_change(_: Pod, event: ClusterEvent) -> bool:
    old, new = event.old_node, event.new_node
    return new is not None and not new.spec.unschedulable and (old is None or old.spec.unschedulable)


def is_schedulable_after_pod_toleration_change(pod: Pod, event: ClusterEvent) -> bool:
    new = event.new_pod
    return new is not None and new.metadata.uid == pod.metadata.uid and _tolerates_unschedulable(new)


PLUGIN = Plugin(
    NAME,
    filter=filter_node,
    events=(
        after("Node", Action.ADD, Action.UPDATE_NODE_TAINT, hint=is_schedulable_after_node_change),
        after("Pod", Action.UPDATE_POD_TOLERATION, hint=is_schedulable_after_pod_toleration_change),
    ),
)
