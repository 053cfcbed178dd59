"""Maintains the NoSchedule taints that follow from a node's conditions, as the node lifecycle controller does.

It belongs to the cluster, not to a kubelet. Nothing is evicted for these taints.

Mirrors: pkg/controller/nodelifecycle/node_lifecycle_controller.go doNoScheduleTaintingPass
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.node import Node, Taint
from kubesim.api.timestamps import MILLISECOND, format_time
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.store.watches import WatchEvent

DELAY = 5 * MILLISECOND  # between the watch event and the write
NO_SCHEDULE = "NoSchedule"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
# condition -> its status -> the taint
CONDITION_TAINTS: Mapping[str, Mapping[str, str]] = {
    "Ready": {"False": "node.kubernetes.io/not-ready", "Unknown": "node.kubernetes.io/unreachable"},
    "MemoryPressure": {"True": "node.kubernetes.io/memory-pressure"},
    "DiskPressure": {"True": "node.kubernetes.io/disk-pressure"},
    "NetworkUnavailable": {"True": "node.kubernetes.io/network-unavailable"},
    "PIDPressure": {"True": "node.kubernetes.io/pid-pressure"},
}
_KEYS = {UNSCHEDULABLE, *(key for taints in CONDITION_TAINTS.values() for key in taints.values())}


def taints_of_conditions(node: Node) -> list[str]:
    """The keys of the taints for the node's conditions."""
    wanted = [
        key
        for condition in node.status.conditions
        if (key := CONDITION_TAINTS.get(condition.type, {}).get(condition.status)) is not None
    ]
    return [*wanted, UNSCHEDULABLE] if node.spec.unschedulable else wanted


def with_taints(node: Node, now: int) -> Node:
    """The node with the taints for its conditions; taints from other writers stay."""
    wanted = taints_of_conditions(node)
    kept = [t for t in node.spec.taints if t.effect != NO_SCHEDULE or t.key not in _KEYS or t.key in wanted]
    known = {taint.key for taint in kept if taint.effect == NO_SCHEDULE}
    new = [Taint(key=key, effect=NO_SCHEDULE, time_added=format_time(now)) for key in wanted if key not in known]
    taints = (*kept, *new)
    return node if taints == node.spec.taints else node.changed(spec=node.spec.changed(taints=taints))


class NodeTaints:
    """The controller; active from creation."""

    def __init__(self, context: ControllerContext) -> None:
        self._clock = context.clock
        self._store = context.store
        self._store.watch("Node", self._node_changed)

    def _node_changed(self, change: WatchEvent) -> None:
        node = change.object
        if isinstance(node, Node) and with_taints(node, 0) is not node:
            self._clock.call_at(self._clock.now() + DELAY, self._look_at, node.metadata.name)

    def _look_at(self, name: str) -> None:
        node = self._store.find("Node", "", name)
        if isinstance(node, Node):
            tainted = with_taints(node, self._store.now())
            if tainted is not node:
                self._store.write(node, tainted)
