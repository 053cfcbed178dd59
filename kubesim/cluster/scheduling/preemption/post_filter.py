"""Preemption for an unschedulable pod: selects a node and victims, or explains why none help.

Pure: the caller deletes `victims`.

Mirrors: pkg/scheduler/framework/preemption/preemption.go Preempt; plugins/defaultpreemption PostFilter,
PodEligibleToPreemptOthers; plugins/dynamicresources PostFilter
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.cycle import Choose, NominatedPods
from kubesim.cluster.scheduling.framework.diagnosis import Diagnosis
from kubesim.cluster.scheduling.framework.plugin import CycleState
from kubesim.cluster.scheduling.framework.pod_info import pod_priority
from kubesim.cluster.scheduling.plugins.devices import dynamic_resources
from kubesim.cluster.scheduling.preemption.victims import Victims, pick_one_node, select_victims_on_node
from kubesim.values import value_object

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
# DynamicResources runs before preemption. It has a result only if all earlier plugins have prepared. This is the answer
# if they have not.
NO_STATE = "not found"
PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"


@value_object
class PostFilterResult:
    """The result. `nominate`: the node to nominate, "" for none, None to leave it unchanged."""

    message: str = ""
    nominate: str | None = None
    victims: Victims | None = None
    deallocate: ApiObject | None = None  # a resource claim


def post_filter(
    cycle: CycleState, diagnosis: Diagnosis, nominated: NominatedPods, choose: Choose, now: int
) -> PostFilterResult:
    if diagnosis.pre_filter:
        return PostFilterResult(NO_STATE)
    about_claims, claim = dynamic_resources.post_filter(cycle)
    problem = why_not_eligible(cycle, diagnosis)
    if problem:
        return PostFilterResult(f"{about_claims}, preemption: {problem}", deallocate=claim)
    budgets = cycle.listers.budgets()
    candidates: list[Victims] = []
    failed = Diagnosis(diagnosis.nodes, absent=(NOT_HELPFUL,))
    for name, status in diagnosis.statuses.items():
        if status.unresolvable:
            continue
        found = select_victims_on_node(cycle, cycle.snapshot.nodes[name], budgets, nominated, now)
        if not isinstance(found, Victims):
            failed.refuse(name, found)
        elif found.pods:
            candidates.append(found)
    if not candidates:
        message = f"{about_claims}, preemption: {failed.fit_error()}"
        return PostFilterResult(message, nominate="", deallocate=claim)
    chosen = pick_one_node(candidates, choose, now)
    return PostFilterResult(nominate=chosen.node, victims=chosen, deallocate=claim)


def why_not_eligible(cycle: CycleState, diagnosis: Diagnosis) -> str:
    """Why the pod may not preempt. A pod that waits for terminating victims does not preempt again."""
    pod = cycle.pod
    if pod.spec.preemption_policy == "Never":
        return NEVER
    name = pod.status.nominated_node_name
    status = diagnosis.statuses.get(name)
    state = cycle.snapshot.nodes.get(name)
    if status is None or status.unresolvable or state is None:
        return ""
    waits = any(
        pod_priority(info.pod) < pod_priority(pod) and is_terminating_by_preemption(info.pod)
        for info in state.pods.values()
    )
    return TERMINATING if waits else ""


def is_terminating_by_preemption(pod: Pod) -> bool:
    if pod.metadata.deletion_timestamp is None:
        return False
    marks = (condition for condition in pod.status.conditions if condition.type == "DisruptionTarget")
    return any(mark.status == "True" and mark.reason == PREEMPTION_BY_SCHEDULER for mark in marks)
