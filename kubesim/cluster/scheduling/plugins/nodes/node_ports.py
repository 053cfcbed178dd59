"""NodePorts: the host ports of a pod must be free on the node.

Mirrors: pkg/scheduler/framework/plugins/nodeports/node_ports.go
"""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.fit import NODE_PORTS
from kubesim.cluster.scheduling.framework.cluster_event import Action, ClusterEvent, after
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import CycleState, Plugin, PluginState
from kubesim.cluster.scheduling.framework.status import Status
from kubesim.cluster.scheduling.node_info import HostPorts, host_ports

NAME = "NodePorts"
_REFUSED = Status(NAME, (NODE_PORTS.description,))


def pre_filter(cycle: CycleState) -> PluginState | None:
    return PluginState() if cycle.info.ports else None


def filter_node(cycle: CycleState, state: NodeState) -> Status | None:
    return _REFUSED if any(map(state.ports.conflicts, cycle.info.ports)) else None


def is_schedulable_after_pod_deleted(pod: Pod, event: ClusterEvent) -> bool:
    """Whether the deleted pod used one of the ports."""
    gone = event.old_pod
    if gone is None or not (gone.spec.node_name or gone.status.nominated_node_name):
        return False
    freed = HostPorts()
    for port in host_ports(gone):
        freed.add(port)
    return any(map(freed.conflicts, host_ports(pod)))


PLUGIN = Plugin(
    NAME,
    pre_filter=pre_filter,
    filter=filter_node,
    events=(
        after("Pod", Action.DELETE, hint=is_schedulable_after_pod_deleted),
        after("Node", Action.ADD, Action.UPDATE_NODE_TAINT),
    ),
)
