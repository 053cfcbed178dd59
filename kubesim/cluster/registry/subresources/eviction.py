"""Eviction: marks a pod as disrupted and deletes it, if its PodDisruptionBudget allows it.

Mirrors: pkg/registry/core/pod/storage eviction.go EvictionREST
"""

from __future__ import annotations

from kubesim.api.pod import Pod, PodCondition
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.timestamps import format_time
from kubesim.api.validation.field import JsonObject
from kubesim.api.workloads.conditions import find_condition
from kubesim.api.workloads.policy import (
    DISRUPTION_ALLOWED,
    SYNC_FAILED,
    PodDisruptionBudget,
    PodDisruptionBudgetStatus,
    with_disruption_allowed,
)
from kubesim.cluster.problems import (
    bad_request,
    forbidden,
    internal_error,
    too_many_requests,
)
from kubesim.cluster.registry.deletion import DeleteOptions, check_preconditions
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.registry.subresources.binding import pod_with_condition
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.selectors import selector_from
from kubesim.cluster.store.store import Store
from kubesim.values import replace

WOULD_VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget."
MOST_DISRUPTED_PODS = 2000


def evict(store: Store, target: Target, eviction: JsonObject, options: DeleteOptions) -> None:
    """Check the pod's disruption budget, mark the pod as disrupted, then delete it gracefully.

    A pod that is pending, terminated or being deleted is evicted without a check of its budget.
    """
    if (eviction.get("metadata") or {}).get("name", "") != target.name:
        raise bad_request("name in URL does not match name in Eviction object")
    pod = store.get("Pod", target.namespace, target.name)
    assert isinstance(pod, Pod)
    if pod.status.phase not in ("Pending", *TERMINAL_PHASES) and pod.metadata.deletion_timestamp is None:
        budget = _budget_of(store, pod)
        if budget is not None and not _needs_no_permission(pod, budget):
            status = check_and_decrement(budget, pod.metadata.name, store.now())
            if not options.dry_run:
                store.write(budget, budget.changed(status=status))
    if options.dry_run:
        store.delete_with(pod, options)
        return
    check_preconditions(pod, options)
    condition = PodCondition(
        type="DisruptionTarget", status="True", reason="EvictionByEvictionAPI", message="Eviction API: evicting"
    )
    marked = pod_with_condition(pod, condition, store.now())
    if marked != pod:
        stored = store.write(pod, marked)
        assert isinstance(stored, Pod)
        pod = stored
    if options.resource_version:  # ignore the condition just written
        options = replace(options, resource_version=pod.metadata.resource_version)
    store.delete_with(pod, options)


def _budget_of(store: Store, pod: Pod) -> PodDisruptionBudget | None:
    budgets = [
        budget
        for budget in store.list("PodDisruptionBudget", pod.metadata.namespace)
        if isinstance(budget, PodDisruptionBudget) and selector_from(budget.spec.selector).matches(pod.metadata.labels)
    ]
    if len(budgets) > 1:
        problem = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise internal_error(problem)
    return budgets[0] if budgets else None


def _needs_no_permission(pod: Pod, budget: PodDisruptionBudget) -> bool:
    """Whether a pod that is not ready may be evicted without a disruption: it does not count as healthy."""
    if any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions):
        return False
    status = budget.status
    return budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow" or (
        status.current_healthy >= status.desired_healthy > 0
    )


def check_and_decrement(budget: PodDisruptionBudget, pod_name: str, now: int) -> PodDisruptionBudgetStatus:
    """The budget's status after one more allowed disruption; raises an ApiError if none is allowed."""
    status, name = budget.status, budget.metadata.name
    if status.observed_generation < budget.metadata.generation:
        problem = f"The disruption budget {name} is still being processed by the server."
        raise too_many_requests(WOULD_VIOLATE, [_cause(problem)], retry_after_s=10)
    resource = replace(resource_of("PodDisruptionBudget"), plural="poddisruptionbudget")
    if status.disruptions_allowed < 0:
        raise forbidden(resource, name, "pdb disruptions allowed is negative")
    if len(status.disrupted_pods) > MOST_DISRUPTED_PODS:
        problem = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden(resource, name, problem)
    if status.disruptions_allowed == 0:
        raise too_many_requests(WOULD_VIOLATE, [_cause(_why_not(budget))])
    status = status.changed(disruptions_allowed=status.disruptions_allowed - 1)
    if status.disruptions_allowed == 0:
        status = with_disruption_allowed(status, now)
    return status.changed(disrupted_pods={**status.disrupted_pods, pod_name: format_time(now)})


def _cause(message: str) -> dict[str, str]:
    return {"reason": "DisruptionBudget", "message": message}


def _why_not(budget: PodDisruptionBudget) -> str:
    status, named = budget.status, f"The disruption budget {budget.metadata.name}"
    condition = find_condition(status.conditions, DISRUPTION_ALLOWED) or {}
    message = condition.get("message", "") if condition.get("status") == "False" else ""
    if message and condition["reason"] == SYNC_FAILED:
        return f"{named} does not allow evicting pods currently because it failed sync: {message}"
    if status.current_healthy <= status.desired_healthy:
        return f"{named} needs {status.desired_healthy} healthy pods and has {status.current_healthy} currently"
    if message:
        return f"{named} does not allow evicting pods currently ({condition['reason']}): {message}"
    return f"{named} does not allow evicting pods currently"
