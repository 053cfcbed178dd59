"""Pods that a disruption budget protects from preemption.

Mirrors: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go filterPodsWithPDBViolation
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.workloads.policy import PodDisruptionBudget
from kubesim.cluster.scheduling.framework.pod_info import PodInfo
from kubesim.cluster.store.selectors import selector_from

Pods = list[PodInfo]


def split_by_violation(pods: Sequence[PodInfo], budgets: Sequence[PodDisruptionBudget]) -> tuple[Pods, Pods]:
    """The pods whose deletion would violate a budget, and the others, each in the given order.

    The first pods of the list use up the allowed disruptions.
    """
    allowed = [budget.status.disruptions_allowed for budget in budgets]
    selectors = [selector_from(budget.spec.selector) for budget in budgets]
    violating: Pods = []
    others: Pods = []
    for info in pods:
        metadata, violates = info.pod.metadata, False
        for n, budget in enumerate(budgets):
            if (
                not metadata.labels
                or budget.metadata.namespace != metadata.namespace
                or not selectors[n].requirements
                or not selectors[n].matches(metadata.labels)
                or metadata.name in budget.status.disrupted_pods
            ):
                continue
            allowed[n] -= 1
            violates = violates or allowed[n] < 0
        (violating if violates else others).append(info)
    return violating, others
