"""One scheduling cycle, pure: filters the nodes for a pod, and scores them.

Mirrors: pkg/scheduler/schedule_one.go schedulePod, findNodesThatFitPod, prioritizeNodes;
pkg/scheduler/framework/runtime/framework.go RunPreFilterPlugins, RunFilterPluginsWithNominatedPods, RunScorePlugins
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kubesim.cluster.scheduling.framework.diagnosis import Diagnosis
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import CycleState
from kubesim.cluster.scheduling.framework.pod_info import PodInfo, pod_priority
from kubesim.cluster.scheduling.framework.status import Status
from kubesim.cluster.scheduling.plugins.profile import PLUGINS
from kubesim.values import value_object

NominatedPods = Callable[[str], Iterable[PodInfo]]  # pods nominated to a node
Choose = Callable[[Sequence[str]], str]  # picks one of several equally scored nodes


@value_object
class Placement:
    """The node for a pod, and the number of feasible nodes."""

    node: str
    feasible: int
    why: str


def schedule_pod(cycle: CycleState, nominated: NominatedPods, choose: Choose) -> Placement | Diagnosis:
    """The node for the pod; raises with the reason if there is none."""
    diagnosis = Diagnosis(len(cycle.snapshot.nodes))
    feasible = _find_nodes_that_fit(cycle, nominated, diagnosis)
    if not feasible:
        return diagnosis
    if len(feasible) == 1:
        (name,) = feasible
        waited = " that was kept for it" if cycle.pod.status.nominated_node_name == name.name else ""
        return Placement(name.name, 1, f"{name.name} is the only node that fits{waited}")
    scores = prioritize_nodes(cycle, feasible)
    best = max(scores.values())
    equal = [name for name, score in scores.items() if score == best]
    chosen = equal[0] if len(equal) == 1 else choose(equal)
    if len(equal) == 1:
        why = f"{chosen} has the highest score of {len(feasible)} nodes that fit"
    else:
        why = f"{chosen} is one of {len(equal)} nodes with the highest score, of {len(feasible)} that fit"
    return Placement(chosen, len(feasible), why)


def _find_nodes_that_fit(cycle: CycleState, nominated: NominatedPods, diagnosis: Diagnosis) -> list[NodeState]:
    """The feasible nodes; fills the diagnosis with the others."""
    names = run_pre_filters(cycle, diagnosis)
    if diagnosis.pre_filter:
        return []
    nodes = cycle.snapshot.nodes
    reserved = nodes.get(cycle.pod.status.nominated_node_name)
    if reserved is not None and filter_with_nominated_pods(cycle, reserved, nominated) is None:
        return [reserved]
    candidates = nodes.values() if names is None else [nodes[name] for name in nodes if name in names]
    feasible = []
    for state in candidates:
        status = filter_with_nominated_pods(cycle, state, nominated)
        if status is None:
            feasible.append(state)
        else:
            diagnosis.refuse(state.name, status)
    return feasible


def run_pre_filters(cycle: CycleState, diagnosis: Diagnosis) -> frozenset[str] | None:
    """The names of the only possible nodes, or None for all."""
    names: frozenset[str] | None = None
    restricting: list[str] = []
    for plugin in PLUGINS:
        state = None if plugin.pre_filter is None else plugin.pre_filter(cycle)
        if isinstance(state, Status):
            diagnosis.pre_filter = state.message
            diagnosis.plugins.add(plugin.name)
            return None
        if state is None:
            continue
        cycle.states[plugin.name] = state
        if state.node_names is not None:
            names = state.node_names if names is None else names & state.node_names
            restricting.append(plugin.name)
    if names is not None:
        diagnosis.absent = (f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(restricting))}]",)
        diagnosis.plugins.update(restricting)
    return names


def filter_with_nominated_pods(cycle: CycleState, state: NodeState, nominated: NominatedPods) -> Status | None:
    """The first rejection. Nominated pods of at least the same priority count as running in a first pass, and as absent
    in a second: affinity may need either.
    """
    priority = pod_priority(cycle.pod)
    waiting = [pod for pod in nominated(state.name) if pod_priority(pod.pod) >= priority and pod.uid != cycle.info.uid]
    if waiting:
        crowded, crowded_cycle = state.copy(), cycle.copy()
        for pod in waiting:
            crowded.add_pod(pod)
            crowded_cycle.update(pod, state.node, 1)
        status = run_filters(crowded_cycle, crowded)
        if status is not None:
            return status
    return run_filters(cycle, state)


def run_filters(cycle: CycleState, state: NodeState) -> Status | None:
    """The first plugin's rejection."""
    for plugin in PLUGINS:
        if plugin.filter is None or (plugin.pre_filter is not None and plugin.name not in cycle.states):
            continue
        status = plugin.filter(cycle, state)
        if status is not None:
            return status
    return None


def prioritize_nodes(cycle: CycleState, feasible: Sequence[NodeState]) -> dict[str, int]:
    """The weighted sum of all scores for each node."""
    totals = [0] * len(feasible)
    for plugin in PLUGINS:
        scores = None if plugin.score is None else plugin.score(cycle, feasible)
        if scores is not None:
            totals = [total + plugin.weight * score for total, score in zip(totals, scores, strict=True)]
    return {state.name: total for state, total in zip(feasible, totals, strict=True)}
