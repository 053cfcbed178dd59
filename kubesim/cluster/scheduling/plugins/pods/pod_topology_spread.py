"""PodTopologySpread: required spreading over topology domains (DoNotSchedule).

Mirrors: pkg/scheduler/framework/plugins/podtopologyspread/filtering.go
"""

from __future__ import annotations

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import CycleState, PluginState
from kubesim.cluster.scheduling.framework.pod_info import PodInfo
from kubesim.cluster.scheduling.framework.status import Status
from kubesim.cluster.scheduling.plugins.pods.spread_constraints import (
    DO_NOT_SCHEDULE,
    Constraints,
    has_all_keys,
    spread_constraints,
)
from kubesim.features import FeatureGates

NAME = "PodTopologySpread"
CONSTRAINTS_NOT_MATCHED = "node(s) didn't match pod topology spread constraints"
LABEL_MISSING = f"{CONSTRAINTS_NOT_MATCHED} (missing required label)"
_SKEWED = Status(NAME, (CONSTRAINTS_NOT_MATCHED,))
_NO_LABEL = Status(NAME, (LABEL_MISSING,), unresolvable=True)


class SpreadState(PluginState):
    """The number of matching pods per constraint and label value."""

    def __init__(self, pod: Pod, constraints: Constraints, counts: list[dict[str, int]], gates: FeatureGates) -> None:
        self.pod = pod
        self.constraints = constraints
        self.counts = counts
        self.gates = gates

    def copy(self) -> SpreadState:
        return SpreadState(self.pod, self.constraints, [dict(counts) for counts in self.counts], self.gates)

    def update(self, pod: PodInfo, node: Node, delta: int) -> None:
        metadata, labels = pod.pod.metadata, node.metadata.labels
        if metadata.namespace != self.pod.metadata.namespace or not has_all_keys(labels, self.constraints):
            return
        for constraint, counts in zip(self.constraints, self.counts, strict=True):
            if constraint.selector.matches(metadata.labels) and constraint.includes(self.pod, node, self.gates):
                value = labels[constraint.topology_key]
                counts[value] = counts.get(value, 0) + delta


def pre_filter(cycle: CycleState) -> PluginState | None:
    pod, gates = cycle.pod, cycle.snapshot.gates
    constraints = spread_constraints(pod, DO_NOT_SCHEDULE)
    if not constraints:
        return None
    counts: list[dict[str, int]] = [{} for _ in constraints]
    label_sets = [cycle.snapshot.label_sets(pod.metadata.namespace, each.selector) for each in constraints]
    for node in cycle.snapshot.nodes.values():
        if not has_all_keys(node.labels, constraints):
            continue
        for constraint, found, matching in zip(constraints, counts, label_sets, strict=True):
            if constraint.includes(pod, node.node, gates):
                value = node.labels[constraint.topology_key]
                found[value] = found.get(value, 0) + node.live_pods(matching)
    return SpreadState(pod, constraints, counts, gates)


def filter_node(cycle: CycleState, node: NodeState) -> Status | None:
    state = cycle.states[NAME]
    assert isinstance(state, SpreadState)
    for constraint, counts in zip(state.constraints, state.counts, strict=True):
        value = node.labels.get(constraint.topology_key)
        if value is None:
            return _NO_LABEL
        # With too few domains, the minimum is 0. Without any domain, every skew is allowed.
        if len(counts) < constraint.min_domains:
            lowest = 0
        elif counts:
            lowest = min(counts.values())
        else:
            continue
        itself = constraint.selector.matches(cycle.pod.metadata.labels)
        if counts.get(value, 0) + itself - lowest > constraint.max_skew:
            return _SKEWED
    return None
