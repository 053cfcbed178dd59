"""Adds the end of each pod to the Job's status exactly once.

1. The status lists the pod as uncounted.
2. The pod loses its finalizer.
3. The status counts the pod and no longer lists it.

If the controller stops in between, the next sync continues. The conditions that end the Job are written on the way: the
first with step 1, the last with step 3.

Mirrors: pkg/controller/job/job_controller.go trackJobStatusAndRemoveFinalizers, canRemoveFinalizer,
flushUncountedAndRemoveFinalizers, cleanUncountedPodsWithoutFinalizers, enactJobFinished
"""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.api.pods.phases import SUCCEEDED
from kubesim.api.workloads.batch import Job, JobCondition, JobStatus, UncountedTerminatedPods
from kubesim.cluster.controllers.job.outcome.counting import NONE_UNCOUNTED
from kubesim.cluster.controllers.job.outcome.ending import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    ensure_condition,
    is_true,
    new_condition,
)
from kubesim.cluster.controllers.job.outcome.indexes import Indexes
from kubesim.cluster.controllers.job.outcome.job_pods import (
    has_tracking_finalizer,
    index_order,
    is_indexed,
    is_pod_failed,
    valid_index,
)
from kubesim.cluster.controllers.job.outcome.policies import match_pod_failure_policy
from kubesim.cluster.controllers.job.sync_plan import SyncPlan, ready_after
from kubesim.values import value_object

MAX_UNCOUNTED_PODS = 500


@value_object
class Tracking:
    """The three writes; None where nothing changes. `finished` is the final condition of the Job."""

    before: JobStatus | None
    untrack: tuple[Pod, ...]
    after: JobStatus | None
    finished: JobCondition | None


@value_object
class _Ended:
    """Terminated pods, and the resulting status fields."""

    pods: tuple[Pod, ...]
    succeeded: tuple[str, ...]
    failed: tuple[str, ...]
    indexes: tuple[int, ...]
    all_of_them: bool


def track(plan: SyncPlan, active: int, now: int) -> Tracking:
    """Plan the writes. `active` is the number of active pods after this sync."""
    job, old = plan.job, plan.job.status
    terminating = plan.counts.terminating + len(plan.changes.delete)
    tracked = {pod.metadata.uid for pod in plan.counts.pods if has_tracking_finalizer(pod)}
    status = old.changed(active=active, ready=ready_after(plan), terminating=terminating)
    status = _without_counted(status, tracked)
    ended = _ended(plan, status)
    uncounted = status.uncounted_terminated_pods or NONE_UNCOUNTED
    status = status.changed(
        uncounted_terminated_pods=UncountedTerminatedPods(
            succeeded=(*uncounted.succeeded, *ended.succeeded), failed=(*uncounted.failed, *ended.failed)
        )
    )
    if is_indexed(job):
        status = _with_indexes(status, plan, ended.indexes)
    first, last = _conditions(job, plan.finished, now)
    if first is not None:
        status = status.changed(conditions=(*status.conditions, first))
    before = status if plan.suspend_event or status != old else None
    after = _without_counted(status, tracked - {pod.metadata.uid for pod in ended.pods})
    finished = last if ended.all_of_them and _can_end(after) else None
    if finished is not None:
        after = _finished(after, finished)
    return Tracking(before, ended.pods, after if after != status else None, finished)


def _without_counted(status: JobStatus, tracked: set[str]) -> JobStatus:
    """Count the pods that have lost their finalizer."""
    uncounted = status.uncounted_terminated_pods or NONE_UNCOUNTED
    succeeded = tuple(uid for uid in uncounted.succeeded if uid in tracked)
    failed = tuple(uid for uid in uncounted.failed if uid in tracked)
    return status.changed(
        succeeded=status.succeeded + len(uncounted.succeeded) - len(succeeded),
        failed=status.failed + len(uncounted.failed) - len(failed),
        uncounted_terminated_pods=UncountedTerminatedPods(succeeded=succeeded, failed=failed),
    )


def _ended(plan: SyncPlan, status: JobStatus) -> _Ended:
    job = plan.job
    known = job.status.uncounted_terminated_pods or NONE_UNCOUNTED
    present = status.uncounted_terminated_pods or NONE_UNCOUNTED
    pods: list[Pod] = []
    succeeded: list[str] = []
    failed: list[str] = []
    indexes: list[int] = []
    room = MAX_UNCOUNTED_PODS - len(present.succeeded) - len(present.failed)
    for pod in sorted(plan.counts.pods, key=index_order) if is_indexed(job) else plan.counts.pods:
        if not has_tracking_finalizer(pod) or not _can_untrack(plan, pod):
            continue
        pods.append(pod)
        uid = pod.metadata.uid
        if pod.status.phase == SUCCEEDED and uid not in known.failed:
            index = valid_index(pod, job.spec.completions or 0)
            if not is_indexed(job):
                succeeded += [uid] if uid not in known.succeeded else []
            elif index is not None and index not in plan.counts.indexes.previous:
                indexes.append(index)
        elif uid not in known.failed and _counts_as_failed(plan, pod):
            failed.append(uid)
        if len(indexes) + len(succeeded) + len(failed) >= room:
            return _Ended(tuple(pods), tuple(succeeded), tuple(failed), tuple(indexes), all_of_them=False)
    return _Ended(tuple(pods), tuple(succeeded), tuple(failed), tuple(indexes), all_of_them=True)


def _can_untrack(plan: SyncPlan, pod: Pod) -> bool:
    """Whether the finalizer can be removed: the Job ends, the pod succeeded, or its failure need not be counted."""
    job = plan.job
    if job.metadata.deletion_timestamp is not None or plan.finished is not None or pod.status.phase == SUCCEEDED:
        return True
    if not is_pod_failed(pod, job.spec):
        return False
    delayed = plan.counts.indexes.delayed.get(index_order(pod))
    return delayed is None or delayed.metadata.uid != pod.metadata.uid


def _counts_as_failed(plan: SyncPlan, pod: Pod) -> bool:
    """Whether a pod counts as failed: when a Job fails, every pod that has not succeeded does."""
    job = plan.job
    fails = plan.finished is not None and plan.finished.type != SUCCESS_CRITERIA_MET
    if not is_pod_failed(pod, job.spec) and not fails:
        return False
    if is_indexed(job) and valid_index(pod, job.spec.completions or 0) is None:
        return False
    return match_pod_failure_policy(job.spec.pod_failure_policy, pod).counts


def _with_indexes(status: JobStatus, plan: SyncPlan, new: tuple[int, ...]) -> JobStatus:
    succeeded: Indexes = plan.counts.indexes.succeeded.with_indexes(new)
    failed = plan.counts.indexes.failed
    return status.changed(
        succeeded=succeeded.total(),
        completed_indexes=str(succeeded),
        failed_indexes=None if failed is None else str(failed),
    )


# -- the end of the Job ---------------------------------------------------------------------------------------------


def _conditions(job: Job, finished: JobCondition | None, now: int) -> tuple[JobCondition | None, JobCondition | None]:
    """The condition to add first, unless present, and the final condition."""
    if finished is None:
        return None, None
    if finished.type == FAILED:
        return None, finished
    last = new_condition(
        FAILED if finished.type == FAILURE_TARGET else COMPLETE, "True", finished.reason, finished.message, now
    )
    return (None if is_true(job.status, finished.type) else finished), last


def _can_end(status: JobStatus) -> bool:
    uncounted = status.uncounted_terminated_pods or NONE_UNCOUNTED
    return not uncounted.succeeded and not uncounted.failed and not status.terminating


def _finished(status: JobStatus, condition: JobCondition) -> JobStatus:
    conditions, _ = ensure_condition(status.conditions, condition)
    changes = {"completion_time": condition.last_transition_time} if condition.type == COMPLETE else {}
    return status.changed(conditions=conditions, **changes)
