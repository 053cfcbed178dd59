"""Subresources that are more than another view of the object: binding and eviction of pods.

(`status`, `ephemeralcontainers`, `resize` and `finalize` are updates with a strategy of their own: `strategies.py`.)

Mirrors: pkg/registry/core/pod/storage storage.go BindingREST, eviction.go EvictionREST
"""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Pod, PodCondition
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.timestamps import format_time
from kubesim.api.validation.field import Errors, JsonObject
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
    conflict,
    forbidden,
    internal_error,
    precondition_failed,
    too_many_requests,
)
from kubesim.cluster.registry.deletion import DeleteOptions, check_preconditions
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.selectors import selector_from
from kubesim.cluster.store.store import Store
from kubesim.golang.text import aggregate
from kubesim.values import replace

WOULD_VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget."
MOST_DISRUPTED_PODS = 2000


def bind(store: Store, target: Target, binding: JsonObject, *, dry_run: bool = False) -> None:
    """Give a pod its node, for ever. Nobody asks whether the node exists."""
    metadata, node = binding.get("metadata") or {}, binding.get("target") or {}
    if metadata.get("name", "") != target.name:
        raise bad_request("name in URL does not match name in Binding object")
    errors = Errors()
    if node.get("kind", "") not in ("", "Node"):
        errors.unsupported("target.kind", node["kind"], ("Node", "<empty>"))
    if not node.get("name"):
        errors.required("target.name")
    if errors:
        raise internal_error(aggregate(errors))
    pod = store.get("Pod", target.namespace, target.name)
    assert isinstance(pod, Pod)
    if metadata.get("uid") and metadata["uid"] != pod.metadata.uid:
        raise precondition_failed(target.resource, target.namespace, target.name, metadata["uid"], pod.metadata.uid)
    problem = _why_not_bound(pod)
    if problem:
        raise conflict(target.resource, target.name, problem, named="pods/binding")
    if not dry_run:
        store.write(pod, _bound(pod, node["name"], metadata, store.now()))


def _why_not_bound(pod: Pod) -> str:
    name = pod.metadata.name
    if pod.metadata.deletion_timestamp is not None:
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if pod.spec.node_name:
        return f'pod {name} is already assigned to node "{pod.spec.node_name}"'
    if pod.spec.scheduling_gates:
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def _bound(pod: Pod, node_name: str, metadata: JsonObject, now: int) -> Pod:
    """With its node, the condition that says so, and what the scheduler wrote on the binding."""
    changes: dict[str, Any] = {}
    for name in ("annotations", "labels"):
        if metadata.get(name):
            changes[name] = {**getattr(pod.metadata, name), **metadata[name]}
    pod = pod_with_condition(pod, PodCondition(type="PodScheduled", status="True"), now)
    return pod.changed(
        metadata=pod.metadata.changed(**changes),
        spec=pod.spec.changed(node_name=node_name),
        status=pod.status.changed(nominated_node_name=""),
    )


def pod_with_condition(pod: Pod, condition: PodCondition, now: int) -> Pod:
    """The pod with this condition in place of the one of its type; its time changes only if its status does.

    Mirrors: pkg/api/v1/pod util.go UpdatePodCondition
    """
    conditions = list(pod.status.conditions)
    at = next((n for n, other in enumerate(conditions) if other.type == condition.type), None)
    moment = format_time(now)
    if at is not None and conditions[at].status == condition.status:
        moment = conditions[at].last_transition_time or moment
    changed = condition.changed(last_probe_time=None, last_transition_time=moment)
    if at is None:
        conditions.append(changed)
    else:
        conditions[at] = changed
    return pod.changed(status=pod.status.changed(conditions=tuple(conditions)))


# -- eviction -------------------------------------------------------------------------------------------------------


def evict(store: Store, target: Target, eviction: JsonObject, options: DeleteOptions) -> None:
    """Ask the pod's disruption budget, mark the pod as disrupted, then delete it gracefully.

    A pod that has not started, has ended or is being deleted already needs nobody's permission.
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
    if options.resource_version:  # the mark is ours
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
    """A pod that is not ready does not count as healthy, so that its eviction takes nothing from the others."""
    if any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions):
        return False
    status = budget.status
    return budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow" or (
        status.current_healthy >= status.desired_healthy > 0
    )


def check_and_decrement(budget: PodDisruptionBudget, pod_name: str, now: int) -> PodDisruptionBudgetStatus:
    """The budget's status after it has allowed one more disruption; raises an ApiError if it does not."""
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
