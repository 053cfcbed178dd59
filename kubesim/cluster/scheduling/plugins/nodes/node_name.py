"""NodeName: a pod with a nodeName fits only on that node.

Mirrors: pkg/scheduler/framework/plugins/nodename/node_name.go
"""

from __future__ import annotations

from kubesim.cluster.scheduling.fit import NODE_NAME
from kubesim.cluster.scheduling.framework.cluster_event import Action, after
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import CycleState, Plugin
from kubesim.cluster.scheduling.framework.status import Status

NAME = "NodeName"
_REFUSED = Status(NAME, (NODE_NAME.description,), unresolvable=True)


def filter_node(cycle: CycleState, state: NodeState) -> Status | None:
    return None if cycle.pod.spec.node_name in ("", state.name) else _REFUSED


# Plugins that register for new nodes are also called for taint changes: a workaround in the queue's history.
PLUGIN = Plugin(NAME, filter=filter_node, events=(after("Node", Action.ADD, Action.UPDATE_NODE_TAINT),))
