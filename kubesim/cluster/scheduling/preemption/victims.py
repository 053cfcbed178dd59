"""Selects the fewest and least important pods to delete on a node, and the cheapest node.

Mirrors: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go SelectVictimsOnNode;
pkg/scheduler/framework/preemption/preemption.go pickOneNodeForPreemption; pkg/scheduler/util/utils.go MoreImportantPod
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubesim.api.timestamps import parse_time
from kubesim.api.workloads.policy import PodDisruptionBudget
from kubesim.cluster.scheduling.framework.cycle import Choose, NominatedPods, filter_with_nominated_pods
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import CycleState
from kubesim.cluster.scheduling.framework.pod_info import PodInfo, pod_priority
from kubesim.cluster.scheduling.framework.status import Status
from kubesim.cluster.scheduling.preemption.budgets import split_by_violation
from kubesim.values import value_object

NAME = "DefaultPreemption"
NO_VICTIMS = "No preemption victims found for incoming pod"
_PRIORITY_OFFSET = 2**31  # makes every priority positive


@value_object
class Victims:
    """The pods to delete on a node, most important first; budgets protect `violations` of them."""

    node: str
    pods: tuple[PodInfo, ...]
    violations: int = 0


def select_victims_on_node(
    cycle: CycleState,
    node: NodeState,
    budgets: Sequence[PodDisruptionBudget],
    nominated: NominatedPods,
    now: int,
) -> Victims | Status:
    """Remove all pods of lower priority, then add back as many as possible, most important and protected ones first."""
    priority = pod_priority(cycle.pod)
    potential = [info for uid in node.order if pod_priority((info := node.pods[uid]).pod) < priority]
    if not potential:
        return Status(NAME, (NO_VICTIMS,), unresolvable=True)
    state, dry_run = node.copy(), cycle.copy()

    def remove(info: PodInfo) -> None:
        state.remove_pod(info)
        dry_run.update(info, node.node, -1)

    for info in potential:
        remove(info)
    status = filter_with_nominated_pods(dry_run, state, nominated)
    if status is not None:
        return status
    importance = more_important_first(now)
    victims: list[PodInfo] = []
    violations = 0
    violating, others = split_by_violation(sorted(potential, key=importance), budgets)
    for group in (violating, others):
        for info in group:
            state.add_pod(info)
            dry_run.update(info, node.node, 1)
            if filter_with_nominated_pods(dry_run, state, nominated) is not None:
                remove(info)
                victims.append(info)
                violations += group is violating
    return Victims(node.name, tuple(sorted(victims, key=importance)), violations)


def more_important_first(now: int) -> Callable[[PodInfo], tuple[int, int]]:
    """Sort key: higher priority first, then the pod that started earlier."""
    return lambda info: (-pod_priority(info.pod), start_time(info, now))


def start_time(info: PodInfo, now: int) -> int:
    """When the pod started; now if it has not."""
    started = info.pod.status.start_time
    return now if started is None else parse_time(started)


def pick_one_node(candidates: Sequence[Victims], choose: Choose, now: int) -> Victims:
    """The node with the fewest violations. Ties: lowest top priority, lowest sum of priorities, fewest victims, latest
    start of the top victims.
    """
    costs = {candidate.node: _cost(candidate, now) for candidate in candidates}
    lowest = min(costs.values())
    equal = [node for node, cost in costs.items() if cost == lowest]
    chosen = equal[0] if len(equal) == 1 else choose(equal)
    return next(candidate for candidate in candidates if candidate.node == chosen)


def _cost(victims: Victims, now: int) -> tuple[int, ...]:
    priorities = [pod_priority(info.pod) for info in victims.pods]
    highest = max(priorities)
    earliest = min(start_time(info, now) for info in victims.pods if pod_priority(info.pod) == highest)
    return (
        victims.violations,
        priorities[0],
        sum(priority + _PRIORITY_OFFSET for priority in priorities),
        len(priorities),
        -earliest,
    )
