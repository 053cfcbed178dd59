"""podFailurePolicy and successPolicy: how the end of a pod affects its Job.

The first matching rule of a podFailurePolicy applies. A failure that no rule matches counts towards backoffLimit.

Mirrors: pkg/controller/job/pod_failure_policy.go matchPodFailurePolicy; success_policy.go matchSuccessPolicy
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.pod import ContainerStatus, Pod, PodCondition
from kubesim.api.workloads.batch import (
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
    SuccessPolicy,
)
from kubesim.cluster.controllers.job.outcome.indexes import Indexes, parse_indexes
from kubesim.values import value_object


@value_object
class FailureMatch:
    """The result of a podFailurePolicy. `message` is the reason why the Job fails; `action` is empty if no rule
    matches.
    """

    counts: bool = True
    action: str = ""
    message: str = ""


NO_MATCH = FailureMatch()


def match_pod_failure_policy(policy: PodFailurePolicy | None, pod: Pod) -> FailureMatch:
    for number, rule in enumerate(policy.rules if policy is not None else ()):
        found = _matching(rule, pod)
        if not found:
            continue
        match rule.action:
            case "Ignore":
                return FailureMatch(False, "Ignore")
            case "FailJob":
                return FailureMatch(True, "FailJob", f"{found} matching FailJob rule at index {number}")
            case "FailIndex" | "Count" as action:
                return FailureMatch(True, action)
    return NO_MATCH


def _matching(rule: PodFailurePolicyRule, pod: Pod) -> str:
    """The part of the pod that the rule matches; empty if none."""
    named = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if rule.on_exit_codes is not None:
        statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
        status = _container_with_exit_code(statuses, rule.on_exit_codes)
        if status is None or status.state.terminated is None:
            return ""
        return f"Container {status.name} for pod {named} failed with exit code {status.state.terminated.exit_code}"
    condition = _matching_condition(pod.status.conditions, rule.on_pod_conditions)
    return "" if condition is None else f"Pod {named} has condition {condition.type}"


def _container_with_exit_code(
    statuses: Sequence[ContainerStatus], requirement: PodFailurePolicyOnExitCodesRequirement
) -> ContainerStatus | None:
    """The container whose exit code matches. Exit code 0 never matches, not even with NotIn."""
    for status in statuses:
        terminated = status.state.terminated
        if terminated is None or terminated.exit_code == 0:
            continue
        if requirement.container_name not in (None, status.name):
            continue
        listed = terminated.exit_code in requirement.values
        if (requirement.operator == "In" and listed) or (requirement.operator == "NotIn" and not listed):
            return status
    return None


def _matching_condition(
    conditions: Sequence[PodCondition], patterns: Sequence[PodFailurePolicyOnPodConditionsPattern]
) -> PodCondition | None:
    wanted = {(pattern.type, pattern.status) for pattern in patterns}
    return next((condition for condition in conditions if (condition.type, condition.status) in wanted), None)


def match_success_policy(policy: SuccessPolicy | None, completions: int, succeeded: Indexes) -> str:
    """The message of the SuccessCriteriaMet condition; empty if no rule matches."""
    if policy is None or not succeeded.intervals:
        return ""
    for number, rule in enumerate(policy.rules):
        if rule.succeeded_indexes is not None:
            required = parse_indexes(rule.succeeded_indexes, completions)
            if not required.intervals:
                continue
            shared = required.shared_with(succeeded)
            met = shared == required.total() or (rule.succeeded_count is not None and shared >= rule.succeeded_count)
        else:
            met = rule.succeeded_count is not None and succeeded.total() >= rule.succeeded_count
        if met:
            return f"Matched rules at index {number}"
    return ""
