"""PodTopologySpread scores (ScheduleAnyway, and the default constraints), and its queueing hints.

Mirrors: pkg/scheduler/framework/plugins/podtopologyspread scoring.go, plugin.go
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set

from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.cluster_event import Action, ClusterEvent, after
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import MAX_NODE_SCORE, CycleState, Plugin
from kubesim.cluster.scheduling.framework.pod_info import LabelsKey
from kubesim.cluster.scheduling.plugins.pods.pod_topology_spread import NAME, filter_node, pre_filter
from kubesim.cluster.scheduling.plugins.pods.spread_constraints import (
    DO_NOT_SCHEDULE,
    HOSTNAME,
    SCHEDULE_ANYWAY,
    Constraints,
    default_constraints,
    has_all_keys,
    spread_constraints,
)


def score(cycle: CycleState, nodes: Sequence[NodeState]) -> Sequence[int] | None:
    """Higher with fewer matching pods in the node's domains."""
    pod = cycle.pod
    has_own = bool(pod.spec.topology_spread_constraints)
    constraints = spread_constraints(pod, SCHEDULE_ANYWAY) if has_own else default_constraints(pod, cycle.listers)
    if not constraints:
        return None
    # The pod's own constraints need nodes with all labels; the default ones tolerate a missing zone.
    ignored = {state.name for state in nodes if has_own and not has_all_keys(state.labels, constraints)}
    candidates = [state for state in nodes if state.name not in ignored]
    label_sets = [cycle.snapshot.label_sets(pod.metadata.namespace, each.selector) for each in constraints]
    counts = _counts(cycle, candidates, constraints, label_sets, all_keys=has_own)
    weights = [
        math.log((len(candidates) if each.topology_key == HOSTNAME else len(found)) + 2)
        for each, found in zip(constraints, counts, strict=True)
    ]
    raw = {state.name: _raw_score(state, constraints, label_sets, counts, weights) for state in candidates}
    return _normalized(nodes, raw)


def _counts(
    cycle: CycleState,
    candidates: Sequence[NodeState],
    constraints: Constraints,
    label_sets: Sequence[Set[LabelsKey]],
    *,
    all_keys: bool,
) -> list[dict[str, int]]:
    """The number of matching pods per label value of the candidates; host names are counted per node."""
    counts: list[dict[str, int]] = [
        {} if each.topology_key == HOSTNAME else {s.labels.get(each.topology_key, ""): 0 for s in candidates}
        for each in constraints
    ]
    for state in cycle.snapshot.nodes.values():
        if all_keys and not has_all_keys(state.labels, constraints):
            continue
        for constraint, found, matching in zip(constraints, counts, label_sets, strict=True):
            value = state.labels.get(constraint.topology_key)
            if (
                value is not None
                and value in found
                and constraint.includes(cycle.pod, state.node, cycle.snapshot.gates)
            ):
                found[value] += state.live_pods(matching)
    return counts


def _raw_score(
    state: NodeState,
    constraints: Constraints,
    label_sets: Sequence[Set[LabelsKey]],
    counts: Sequence[dict[str, int]],
    weights: Sequence[float],
) -> int:
    total = 0.0
    for constraint, matching, found, weight in zip(constraints, label_sets, counts, weights, strict=True):
        value = state.labels.get(constraint.topology_key)
        if value is None:
            continue
        by_node = constraint.topology_key == HOSTNAME
        count = state.live_pods(matching) if by_node else found[value]
        total += count * weight + (constraint.max_skew - 1)
    return math.floor(total + 0.5)


def _normalized(nodes: Sequence[NodeState], raw: dict[str, int]) -> Sequence[int]:
    lowest, highest = min(raw.values(), default=0), max(raw.values(), default=0)
    if not highest:
        return [MAX_NODE_SCORE if state.name in raw else 0 for state in nodes]
    return [
        MAX_NODE_SCORE * (highest + lowest - raw[state.name]) // highest if state.name in raw else 0 for state in nodes
    ]


# -- when to try again ------------------------------------------------------------------------------------------------


def is_schedulable_after_pod_change(pod: Pod, event: ClusterEvent) -> bool:
    """Whether a pod that the constraints count was added, removed or relabelled."""
    old, new = event.old_pod, event.new_pod
    if any(each is not None and not _is_involved(each, pod) for each in (old, new)):
        return False
    constraints = spread_constraints(pod, DO_NOT_SCHEDULE)
    if old is not None and new is not None:
        if (
            new.metadata.uid == pod.metadata.uid
            and old.spec.tolerations != new.spec.tolerations
            and any(each.honors_taints for each in constraints)
        ):
            return True
        return any(
            each.selector.matches(old.metadata.labels) != each.selector.matches(new.metadata.labels)
            for each in constraints
        )
    changed = new or old
    return changed is not None and any(each.selector.matches(changed.metadata.labels) for each in constraints)


def _is_involved(changed: Pod, pod: Pod) -> bool:
    if changed.metadata.uid == pod.metadata.uid:
        return True
    has_node = bool(changed.spec.node_name or changed.status.nominated_node_name)
    return has_node and changed.metadata.namespace == pod.metadata.namespace


def is_schedulable_after_node_change(pod: Pod, event: ClusterEvent) -> bool:
    """Whether a node joined, left or changed a domain, or its taints changed."""
    old, new = event.old_node, event.new_node
    constraints = spread_constraints(pod, DO_NOT_SCHEDULE)
    was_in = old is not None and has_all_keys(old.metadata.labels, constraints)
    is_in = new is not None and has_all_keys(new.metadata.labels, constraints)
    if old is None or new is None or was_in != is_in:
        return was_in or is_in
    before, now = old.metadata.labels, new.metadata.labels
    moved = any(before.get(each.topology_key) != now.get(each.topology_key) for each in constraints)
    return is_in and (moved or old.spec.taints != new.spec.taints)


PLUGIN = Plugin(
    NAME,
    pre_filter=pre_filter,
    filter=filter_node,
    score=score,
    weight=2,
    events=(
        after(
            "Pod",
            Action.ADD,
            Action.UPDATE_POD_LABEL,
            Action.UPDATE_POD_TOLERATION,
            Action.DELETE,
            hint=is_schedulable_after_pod_change,
        ),
        after(
            "Node",
            Action.ADD,
            Action.DELETE,
            Action.UPDATE_NODE_LABEL,
            Action.UPDATE_NODE_TAINT,
            hint=is_schedulable_after_node_change,
        ),
    ),
)
