"""PodDisruptionBudget: a limit on concurrent evictions.

Mirrors: k8s.io/api/policy/v1/types.go; component-helpers/apps/poddisruptionbudget helpers.go
"""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.model import Model, go
from kubesim.api.workloads.conditions import with_status_condition

DISRUPTION_ALLOWED = "DisruptionAllowed"
SYNC_FAILED = "SyncFailed"


class PodDisruptionBudgetSpec(Model):
    min_available: int | str | None = go("*IntOrString")
    selector: dict[str, Any] | None = go("*LabelSelector")
    max_unavailable: int | str | None = go("*IntOrString")
    unhealthy_pod_eviction_policy: str | None = go("*UnhealthyPodEvictionPolicyType")


class PodDisruptionBudgetStatus(Model):
    observed_generation: int = go("int64")
    disrupted_pods: dict[str, str] = go("map[string]Time")
    disruptions_allowed: int = go("int32", always=True)
    current_healthy: int = go("int32", always=True)
    desired_healthy: int = go("int32", always=True)
    expected_pods: int = go("int32", always=True)
    conditions: tuple[dict[str, Any], ...] = go("[]Condition", merge="type")


class PodDisruptionBudget(ApiObject):
    spec: PodDisruptionBudgetSpec = go("PodDisruptionBudgetSpec")
    status: PodDisruptionBudgetStatus = go("PodDisruptionBudgetStatus")


def with_disruption_allowed(status: PodDisruptionBudgetStatus, now: int) -> PodDisruptionBudgetStatus:
    """The status with the condition DisruptionAllowed, derived from the number of allowed disruptions."""
    allowed = status.disruptions_allowed > 0
    condition = {
        "type": DISRUPTION_ALLOWED,
        "status": "True" if allowed else "False",
        "reason": "SufficientPods" if allowed else "InsufficientPods",
    }
    return status.changed(
        conditions=with_status_condition(status.conditions, condition, now, status.observed_generation)
    )
