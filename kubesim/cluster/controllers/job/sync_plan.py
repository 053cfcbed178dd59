"""Plans one sync of a Job: pods to delete or create, the new status, and the time of the next sync.

Pure: a Job, its pods, the back-off record and the time in; a `SyncPlan` out.

Mirrors: pkg/controller/job/job_controller.go syncJob, manageJob, getPodCreationInfoForIndependentIndexes;
indexed_job_utils.go firstPendingIndexes
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND, format_time
from kubesim.api.workloads.batch import Job, JobCondition, JobStatus
from kubesim.cluster.controllers.job.outcome.backoff import BackoffRecord, remaining_time, remaining_time_of_index
from kubesim.cluster.controllers.job.outcome.counting import NONE_UNCOUNTED, JobCounts, count_pods
from kubesim.cluster.controllers.job.outcome.ending import (
    SUSPENDED,
    completions_reached,
    deadline_left,
    end_of,
    ensure_condition,
    is_suspended,
    new_condition,
)
from kubesim.cluster.controllers.job.outcome.job_pods import (
    indexes_of,
    is_indexed,
    is_ready,
    is_terminating,
    only_replace_failed_pods,
    pods_for_removal,
)
from kubesim.values import replace, value_object

SYNC_JOB_BATCH_PERIOD = SECOND  # batch period of pod changes
MAX_CREATE_DELETE_PER_SYNC = 500


@value_object
class PodChanges:
    """The pods to delete, or the indexes for which to create pods (None: a pod without an index).

    `untrack`: remove the finalizer of deleted pods first, so that they do not count as failed. `wait`: delay of the
    creation.
    """

    why: str = ""
    delete: tuple[Pod, ...] = ()
    untrack: bool = False
    create: tuple[int | None, ...] = ()
    wait: int = 0


NO_CHANGES = PodChanges()


@value_object
class SyncPlan:
    """The plan. `job` has its status from the start of the sync, with a start time. `suspend_event` is the reason of an
    Event.
    """

    job: Job
    counts: JobCounts
    changes: PodChanges
    finished: JobCondition | None = None
    suspend_event: str = ""
    sync_after: int | None = None


def plan_sync(job: Job, pods: Sequence[Pod], backoff: BackoffRecord, now: int) -> SyncPlan:
    job = job.changed(status=_started(job, now))
    counts = count_pods(job, pods, backoff)
    finished = end_of(job, counts, now)
    if finished is not None:
        why = f"the Job ends ({finished.reason}), so its active pods are deleted"
        return SyncPlan(job, counts, PodChanges(why, delete=counts.active), finished)
    left = deadline_left(job, now)
    if job.metadata.deletion_timestamp is not None:
        reached = completions_reached(job, counts.succeeded, len(counts.active), now)
        return SyncPlan(job, counts, NO_CHANGES, reached, sync_after=left)
    changes = _manage(job, counts, now)
    plan = SyncPlan(job, counts, changes, sync_after=_earliest(left, changes.wait))
    active = len(counts.active) - len(changes.delete) + len(changes.create)
    reached = completions_reached(job, counts.succeeded, active, now)
    return replace(plan, finished=reached) if reached is not None else _with_suspension(plan, now)


def _started(job: Job, now: int) -> JobStatus:
    status = job.status
    if status.uncounted_terminated_pods is None:
        status = status.changed(uncounted_terminated_pods=NONE_UNCOUNTED)
    if status.start_time is None and not is_suspended(job.spec):
        status = status.changed(start_time=format_time(now))
    return status


def _earliest(left: int | None, wait: int) -> int | None:
    times = [time for time in (left, max(wait, SYNC_JOB_BATCH_PERIOD) if wait else None) if time is not None]
    return min(times, default=None)


def _with_suspension(plan: SyncPlan, now: int) -> SyncPlan:
    """Clear the start time of a suspended Job, and set it again on resume."""
    if is_suspended(plan.job.spec):
        condition = new_condition(SUSPENDED, "True", "JobSuspended", "Job suspended", now)
        start, event = None, "Suspended"
    else:
        condition = new_condition(SUSPENDED, "False", "JobResumed", "Job resumed", now)
        start, event = format_time(now), "Resumed"
    conditions, changed = ensure_condition(plan.job.status.conditions, condition)
    if not changed:
        return plan
    status = plan.job.status.changed(conditions=conditions, start_time=start)
    return replace(plan, job=plan.job.changed(status=status), suspend_event=event)


# -- the number of pods ---------------------------------------------------------------------------------------------


def _manage(job: Job, counts: JobCounts, now: int) -> PodChanges:
    active = len(counts.active)
    if is_suspended(job.spec):
        why = "the Job is suspended, so its active pods are deleted"
        return PodChanges(why, tuple(pods_for_removal(job, counts.active, active)), untrack=True)
    wanted = _wanted_active(job, counts)
    too_many = pods_for_removal(job, counts.active, max(0, active - wanted))
    if too_many:
        why = f"{active} pods are active and {wanted} are wanted, so {len(too_many)} of them are deleted"
        return PodChanges(why, tuple(too_many[:MAX_CREATE_DELETE_PER_SYNC]), untrack=True)
    terminating = counts.terminating if only_replace_failed_pods(job.spec) else 0
    missing = wanted - terminating - active
    if missing <= 0:
        return NO_CHANGES
    why = f"{active} pods are active and {wanted} are wanted, so {{}} created"
    return _create(job, counts, missing, why, now)


def _wanted_active(job: Job, counts: JobCounts) -> int:
    """The desired number of active pods. Without `completions`, no pod is created after the first success."""
    parallelism, completions = job.spec.parallelism or 0, job.spec.completions
    if completions is None:
        return len(counts.active) if counts.succeeded else parallelism
    return max(0, min(completions - counts.succeeded, parallelism))


def _create(job: Job, counts: JobCounts, missing: int, why: str, now: int) -> PodChanges:
    per_index = job.spec.backoff_limit_per_index is not None
    wait = 0 if per_index else remaining_time(counts.backoff, now)
    if wait:
        return PodChanges(wait=wait)
    missing = min(missing, MAX_CREATE_DELETE_PER_SYNC)
    create: tuple[int | None, ...] = (None,) * missing
    if is_indexed(job):
        create = tuple(_first_pending_indexes(job, counts, missing))
        if per_index:
            waits = {index: remaining_time_of_index(counts.indexes.delayed.get(index or 0), now) for index in create}
            create = tuple(index for index in create if not waits[index])
            if not create:
                return PodChanges(wait=min(waits.values(), default=0))
    number = "one is" if len(create) == 1 else f"{len(create)} are"
    return PodChanges(why.format(number), create=create)


def _first_pending_indexes(job: Job, counts: JobCounts, count: int) -> list[int]:
    done = counts.indexes.succeeded.with_indexes(indexes_of(counts.active))
    if only_replace_failed_pods(job.spec):
        done = done.with_indexes(indexes_of(pod for pod in counts.pods if is_terminating(pod)))
    if counts.indexes.failed is not None:
        done = done.merge(counts.indexes.failed)
    return done.first_missing(count, job.spec.completions or 0)


def ready_after(plan: SyncPlan) -> int:
    """The number of ready pods after the plan."""
    return plan.counts.ready - sum(map(is_ready, plan.changes.delete))
