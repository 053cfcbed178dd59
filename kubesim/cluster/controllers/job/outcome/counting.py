"""Counts the pods of a Job: active, succeeded, failed, and completed indexes.

Each pod counts once: it keeps the tracking finalizer until the Job's status includes its end.

Mirrors: pkg/controller/job/job_controller.go syncJob, getNewFinishedPods, nonIgnoredFailedPodsCount;
indexed_job_utils.go calculateSucceededIndexes, calculateFailedIndexes, getPodsWithDelayedDeletionPerIndex
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field

from kubesim.api.pod import Pod
from kubesim.api.pods.phases import SUCCEEDED
from kubesim.api.workloads.batch import Job, UncountedTerminatedPods
from kubesim.cluster.controllers.job.outcome.backoff import BackoffRecord, new_backoff_record
from kubesim.cluster.controllers.job.outcome.indexes import Indexes, parse_indexes
from kubesim.cluster.controllers.job.outcome.job_pods import (
    finished_time,
    has_tracking_finalizer,
    index_failure_count,
    index_ignored_failure_count,
    indexes_of,
    is_active,
    is_indexed,
    is_pod_failed,
    is_ready,
    is_terminating,
    valid_index,
)
from kubesim.cluster.controllers.job.outcome.policies import match_pod_failure_policy
from kubesim.values import value_object

NO_INDEXES = Indexes()
NONE_UNCOUNTED = UncountedTerminatedPods()


@value_object
class DoneIndexes:
    """Completed indexes of an Indexed Job. `failed` is None without backoffLimitPerIndex.

    `delayed` maps an index to the failed pod that keeps its finalizer until its replacement exists, as the replacement
    inherits its failure count.
    """

    previous: Indexes = NO_INDEXES
    succeeded: Indexes = NO_INDEXES
    failed: Indexes | None = None
    delayed: Mapping[int, Pod] = field(default_factory=dict)


NOTHING_DONE = DoneIndexes()


@value_object
class JobCounts:
    """Counts of pods. `succeeded` and `failed` include pods that the status does not count yet."""

    pods: tuple[Pod, ...]
    active: tuple[Pod, ...]
    ready: int
    terminating: int
    succeeded: int
    failed: int
    backoff: BackoffRecord
    indexes: DoneIndexes


def count_pods(job: Job, pods: Sequence[Pod], backoff: BackoffRecord) -> JobCounts:
    status, policy = job.status, job.spec.pod_failure_policy
    uncounted = status.uncounted_terminated_pods or NONE_UNCOUNTED
    active = tuple(pod for pod in pods if is_active(pod))
    succeeded = _tracked(job, pods, uncounted.succeeded, lambda pod: pod.status.phase == SUCCEEDED)
    failed = _tracked(job, pods, uncounted.failed, lambda pod: is_pod_failed(pod, job.spec))
    counted = sum(match_pod_failure_policy(policy, pod).counts for pod in failed)
    indexes = _done_indexes(job, pods, active) if is_indexed(job) else NOTHING_DONE
    return JobCounts(
        pods=tuple(pods),
        active=active,
        ready=sum(map(is_ready, active)),
        terminating=sum(map(is_terminating, pods)),
        succeeded=indexes.succeeded.total()
        if is_indexed(job)
        else status.succeeded + len(succeeded) + len(uncounted.succeeded),
        failed=status.failed + counted + len(uncounted.failed),
        backoff=new_backoff_record(backoff, succeeded, failed),
        indexes=indexes,
    )


def _tracked(job: Job, pods: Sequence[Pod], known: Collection[str], wanted: Callable[[Pod], bool]) -> list[Pod]:
    """The pods whose end is not yet in the status; of an Indexed Job those with a valid index."""
    return [
        pod
        for pod in pods
        if has_tracking_finalizer(pod)
        and pod.metadata.uid not in known
        and (not is_indexed(job) or valid_index(pod, job.spec.completions or 0) is not None)
        and wanted(pod)
    ]


def _done_indexes(job: Job, pods: Sequence[Pod], active: Sequence[Pod]) -> DoneIndexes:
    completions = job.spec.completions or 0
    previous = parse_indexes(job.status.completed_indexes, completions)
    tracked = [pod for pod in pods if has_tracking_finalizer(pod) and valid_index(pod, completions) is not None]
    succeeded = previous.with_indexes(indexes_of(pod for pod in tracked if pod.status.phase == SUCCEEDED))
    if job.spec.backoff_limit_per_index is None:
        return DoneIndexes(previous, succeeded)
    failed = parse_indexes(job.status.failed_indexes or "", completions)
    failed = failed.with_indexes(indexes_of(pod for pod in tracked if _is_index_failed(job, pod)))
    done = succeeded.merge(failed).with_indexes(indexes_of(active))
    delayed: dict[int, Pod] = {}
    for pod in tracked:
        index = valid_index(pod, completions)
        if index is None or index in done or not is_pod_failed(pod, job.spec):
            continue
        if index not in delayed or not _is_older(pod, delayed[index]):
            delayed[index] = pod
    return DoneIndexes(previous, succeeded, failed, delayed)


def _is_index_failed(job: Job, pod: Pod) -> bool:
    if not is_pod_failed(pod, job.spec):
        return False
    match = match_pod_failure_policy(job.spec.pod_failure_policy, pod)
    if match.action == "FailIndex":
        return True
    return match.counts and index_failure_count(pod) >= (job.spec.backoff_limit_per_index or 0)


def _is_older(pod: Pod, other: Pod) -> bool:
    """Whether a pod is an earlier attempt of an index than another."""
    return _failures(pod) < _failures(other) or finished_time(pod) < finished_time(other)


def _failures(pod: Pod) -> int:
    return index_failure_count(pod) + index_ignored_failure_count(pod)
