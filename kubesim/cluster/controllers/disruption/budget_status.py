"""Computes the status of a PodDisruptionBudget.

Pure: time is an argument.

Mirrors: pkg/controller/disruption/disruption.go getExpectedPodCount, countHealthyPods, buildDisruptedPodMap,
updatePdbStatus, failSafe
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND, parse_time
from kubesim.api.workloads.conditions import with_status_condition
from kubesim.api.workloads.policy import (
    DISRUPTION_ALLOWED,
    SYNC_FAILED,
    PodDisruptionBudget,
    PodDisruptionBudgetStatus,
    with_disruption_allowed,
)
from kubesim.cluster.controllers.disruption.scales import ExpectedScale
from kubesim.values import value_object

DELETION_TIMEOUT = 120 * SECOND  # deadline between an allowed eviction and the deletion of the pod


@value_object
class ExpectedPods:
    """The expected number of pods, and the desired number of healthy ones."""

    expected: int
    desired_healthy: int


def expected_pods(budget: PodDisruptionBudget, pods: Sequence[Pod], scale: ExpectedScale) -> ExpectedPods:
    """With minAvailable as a number, the existing pods count. Otherwise the scale of their owners counts."""
    least, most = budget.spec.min_available, budget.spec.max_unavailable
    if most is not None:
        desired = scale.expected - scaled_value(most, scale.expected)
        return ExpectedPods(scale.expected, max(desired, 0))
    if isinstance(least, int):
        return ExpectedPods(len(pods), least)
    if least is not None:
        return ExpectedPods(scale.expected, scaled_value(least, scale.expected))
    return ExpectedPods(0, 0)


def needs_scale(budget: PodDisruptionBudget) -> bool:
    return budget.spec.max_unavailable is not None or isinstance(budget.spec.min_available, str)


def scaled_value(value: int | str, total: int) -> int:
    """A percentage of a number, rounded up."""
    if isinstance(value, int):
        return value
    return -(-int(value.removesuffix("%")) * total // 100)


@value_object
class DisruptedPods:
    """Evicted pods that still exist, pods not deleted in time, and when to check again."""

    pending: Mapping[str, str]
    not_deleted: tuple[Pod, ...]
    recheck_at: int | None


def disrupted_pods(budget: PodDisruptionBudget, pods: Sequence[Pod], now: int) -> DisruptedPods:
    pending: dict[str, str] = {}
    late: list[Pod] = []
    recheck_at: int | None = None
    for pod in pods:
        since = budget.status.disrupted_pods.get(pod.metadata.name)
        if since is None or pod.metadata.deletion_timestamp is not None:
            continue
        expected = parse_time(since) + DELETION_TIMEOUT
        if expected < now:
            late.append(pod)
        else:
            pending[pod.metadata.name] = since
            recheck_at = expected if recheck_at is None else min(recheck_at, expected)
    return DisruptedPods(pending, tuple(late), recheck_at)


def count_healthy(pods: Sequence[Pod], disrupted: Mapping[str, str], now: int) -> int:
    """The number of ready pods that are neither being deleted nor recently evicted."""

    def is_about_to_go(pod: Pod) -> bool:
        since = disrupted.get(pod.metadata.name)
        return since is not None and parse_time(since) + DELETION_TIMEOUT > now

    return sum(
        1
        for pod in pods
        if pod.metadata.deletion_timestamp is None
        and not is_about_to_go(pod)
        and any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions)
    )


def new_status(
    budget: PodDisruptionBudget, healthy: int, wanted: ExpectedPods, disrupted: Mapping[str, str], now: int
) -> PodDisruptionBudgetStatus:
    """The new status. A budget without pods allows no disruption."""
    allowed = max(healthy - wanted.desired_healthy, 0) if wanted.expected > 0 else 0
    status = PodDisruptionBudgetStatus(
        observed_generation=budget.metadata.generation,
        disruptions_allowed=allowed,
        current_healthy=healthy,
        desired_healthy=wanted.desired_healthy,
        expected_pods=wanted.expected,
        conditions=budget.status.conditions,
    )
    if disrupted:
        status = status.changed(disrupted_pods=dict(disrupted))
    return with_disruption_allowed(status, now)


def failed_status(budget: PodDisruptionBudget, problem: str, now: int) -> PodDisruptionBudgetStatus:
    """The status when the expected number of pods is unknown: no disruption is allowed."""
    status = budget.status
    condition = {"type": DISRUPTION_ALLOWED, "status": "False", "reason": SYNC_FAILED, "message": problem}
    conditions = with_status_condition(status.conditions, condition, now, status.observed_generation)
    return status.changed(disruptions_allowed=0, conditions=conditions)
