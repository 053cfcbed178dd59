"""Whether a Job has ended, and its conditions.

A Job ends in two steps. `FailureTarget` or `SuccessCriteriaMet` announces the outcome, and its pods are stopped.
`Failed` or `Complete`, with the same reason, follows when all pods are counted and none is terminating.

Mirrors: pkg/controller/job/job_controller.go syncJob, pastBackoffLimitOnFailure, pastActiveDeadline,
ensureJobConditionStatus, newFailedConditionForFailureTarget
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.pod import Pod
from kubesim.api.pods.phases import PENDING, RUNNING
from kubesim.api.timestamps import SECOND, format_time, parse_time
from kubesim.api.workloads.batch import Job, JobCondition, JobSpec, JobStatus
from kubesim.cluster.controllers.job.outcome.counting import JobCounts
from kubesim.cluster.controllers.job.outcome.job_pods import is_indexed, is_pod_failed
from kubesim.cluster.controllers.job.outcome.policies import match_pod_failure_policy, match_success_policy

COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
FAILURE_TARGET, SUCCESS_CRITERIA_MET = "FailureTarget", "SuccessCriteriaMet"


def find_job_condition(status: JobStatus, condition_type: str) -> JobCondition | None:
    return next((condition for condition in status.conditions if condition.type == condition_type), None)


def is_true(status: JobStatus, condition_type: str) -> bool:
    condition = find_job_condition(status, condition_type)
    return condition is not None and condition.status == "True"


def finished_type(job: Job) -> str:
    """`Complete` or `Failed`; empty if the Job has not finished."""
    ends = (COMPLETE, FAILED)
    return next((c.type for c in job.status.conditions if c.type in ends and c.status == "True"), "")


def is_suspended(spec: JobSpec) -> bool:
    return bool(spec.suspend)


def new_condition(condition_type: str, status: str, reason: str, message: str, now: int) -> JobCondition:
    moment = format_time(now)
    return JobCondition(
        type=condition_type,
        status=status,
        last_probe_time=moment,
        last_transition_time=moment,
        reason=reason,
        message=message,
    )


def ensure_condition(conditions: tuple[JobCondition, ...], new: JobCondition) -> tuple[tuple[JobCondition, ...], bool]:
    """The conditions with this one, and whether they changed. A missing condition counts as False."""
    old = next((condition for condition in conditions if condition.type == new.type), None)
    if old is None:
        return ((*conditions, new), True) if new.status != "False" else (conditions, False)
    if (old.status, old.reason, old.message) == (new.status, new.reason, new.message):
        return conditions, False
    return tuple(new if condition is old else condition for condition in conditions), True


def end_of(job: Job, counts: JobCounts, now: int) -> JobCondition | None:
    """The condition that ends the Job; conditions that depend on the number of desired pods are excluded."""
    met = find_job_condition(job.status, SUCCESS_CRITERIA_MET)
    if met is not None and met.status == "True":
        return met
    target = find_job_condition(job.status, FAILURE_TARGET)
    if target is not None and target.status == "True":
        return new_condition(FAILED, "True", target.reason, target.message, now)
    message = _fail_job_message(job, counts.pods)
    if message:
        return _failure("PodFailurePolicy", message, now)
    if counts.failed > (job.spec.backoff_limit or 0) or _is_past_backoff_limit_on_failure(job.spec, counts.pods):
        return _failure("BackoffLimitExceeded", "Job has reached the specified backoff limit", now)
    left = deadline_left(job, now)
    if left is not None and left <= 0:
        return _failure("DeadlineExceeded", "Job was active longer than specified deadline", now)
    return _end_of_indexes(job, counts, now) if is_indexed(job) else None


def _end_of_indexes(job: Job, counts: JobCounts, now: int) -> JobCondition | None:
    spec, succeeded, failed = job.spec, counts.indexes.succeeded, counts.indexes.failed
    if failed is not None:
        if spec.max_failed_indexes is not None and failed.total() > spec.max_failed_indexes:
            message = "Job has exceeded the specified maximal number of failed indexes"
            return _failure("MaxFailedIndexesExceeded", message, now)
        if failed.total() and failed.total() + succeeded.total() >= (spec.completions or 0):
            return _failure("FailedIndexes", "Job has failed indexes", now)
    message = match_success_policy(spec.success_policy, spec.completions or 0, succeeded)
    return new_condition(SUCCESS_CRITERIA_MET, "True", "SuccessPolicy", message, now) if message else None


def completions_reached(job: Job, succeeded: int, active: int, now: int) -> JobCondition | None:
    """Whether enough pods succeeded. Without `completions`, one success and no active pod suffice."""
    wanted = 1 if job.spec.completions is None else job.spec.completions
    if succeeded < wanted or active:
        return None
    message = "Reached expected number of succeeded pods"
    return new_condition(SUCCESS_CRITERIA_MET, "True", "CompletionsReached", message, now)


def _failure(reason: str, message: str, now: int) -> JobCondition:
    return new_condition(FAILURE_TARGET, "True", reason, message, now)


def _fail_job_message(job: Job, pods: Sequence[Pod]) -> str:
    policy = job.spec.pod_failure_policy
    if policy is None:
        return ""
    failed = (pod for pod in pods if is_pod_failed(pod, job.spec))
    return next((match.message for pod in failed if (match := match_pod_failure_policy(policy, pod)).message), "")


def _is_past_backoff_limit_on_failure(spec: JobSpec, pods: Sequence[Pod]) -> bool:
    """Whether the restarts reached backoffLimit. They count as failures with restartPolicy OnFailure."""
    if spec.template.spec.restart_policy != "OnFailure":
        return False
    restarts = sum(
        status.restart_count
        for pod in pods
        if pod.status.phase in (RUNNING, PENDING)
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    )
    return restarts >= max(spec.backoff_limit or 0, 1)


def deadline_left(job: Job, now: int) -> int | None:
    """Microseconds until activeDeadlineSeconds; None if no deadline is running."""
    deadline, start = job.spec.active_deadline_seconds, job.status.start_time
    if deadline is None or start is None or is_suspended(job.spec):
        return None
    return parse_time(start) + deadline * SECOND - now
