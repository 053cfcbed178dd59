"""Properties of a Job's pods: active, terminating, failed, completion index, end time, order of removal.

Mirrors: pkg/controller/controller_utils.go IsPodActive, IsPodTerminating, ActivePods; pkg/controller/job
job_controller.go isPodFailed, onlyReplaceFailedPods, activePodsForRemoval; indexed_job_utils.go getCompletionIndex,
appendDuplicatedIndexPodsForRemoval; backoff_utils.go getFinishedTime
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kubesim.api.pod import ContainerStatus, Pod
from kubesim.api.pods.phases import FAILED, PENDING, RUNNING, SUCCEEDED, TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import FALSE, READY, find_condition, is_condition_true
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.timestamps import SECOND, parse_time
from kubesim.api.workloads.batch import Job, JobSpec

TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURE_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"

_HIGHEST_COUNT = 2**31 - 1
_PHASE_ORDER = {PENDING: 0, "Unknown": 1, RUNNING: 2}
_NUMBER = re.compile(r"[+-]?[0-9]+")


def is_indexed(job: Job) -> bool:
    return job.spec.completion_mode == "Indexed"


def is_active(pod: Pod) -> bool:
    return pod.status.phase not in TERMINAL_PHASES and pod.metadata.deletion_timestamp is None


def is_terminating(pod: Pod) -> bool:
    return pod.status.phase not in TERMINAL_PHASES and pod.metadata.deletion_timestamp is not None


def is_ready(pod: Pod) -> bool:
    return is_condition_true(pod.status.conditions, READY)


def has_tracking_finalizer(pod: Pod) -> bool:
    return TRACKING_FINALIZER in pod.metadata.finalizers


def only_replace_failed_pods(spec: JobSpec) -> bool:
    """Whether a pod that is being deleted is replaced only after it has terminated."""
    return spec.pod_replacement_policy == "Failed" or spec.pod_failure_policy is not None


def is_pod_failed(pod: Pod, spec: JobSpec) -> bool:
    """Whether a pod failed. A pod being deleted counts immediately, unless only terminated pods are replaced."""
    if pod.status.phase == FAILED:
        return True
    if only_replace_failed_pods(spec):
        return False
    return pod.metadata.deletion_timestamp is not None and pod.status.phase != SUCCEEDED


# -- indexes --------------------------------------------------------------------------------------------------------


def completion_index(pod: Pod) -> int | None:
    """The completion index; None if missing or invalid."""
    text = pod.metadata.annotations.get(COMPLETION_INDEX, "")
    index = int(text) if _NUMBER.fullmatch(text) else -1
    return index if index >= 0 else None


def valid_index(pod: Pod, completions: int) -> int | None:
    """The index of a pod if it is below `completions`."""
    index = completion_index(pod)
    return index if index is not None and index < completions else None


def indexes_of(pods: Iterable[Pod]) -> set[int]:
    return {index for index in map(completion_index, pods) if index is not None}


def index_failure_count(pod: Pod) -> int:
    return _count(pod, INDEX_FAILURE_COUNT)


def index_ignored_failure_count(pod: Pod) -> int:
    return _count(pod, INDEX_IGNORED_FAILURE_COUNT)


def _count(pod: Pod, annotation: str) -> int:
    text = pod.metadata.annotations.get(annotation, "")
    count = int(text) if _NUMBER.fullmatch(text) else 0
    return count if 0 <= count <= _HIGHEST_COUNT else 0


# -- the end of a pod -----------------------------------------------------------------------------------------------


def finished_time(pod: Pod) -> int:
    """When the last container terminated; else when the pod became unready, was deleted, or was created."""
    ended = _containers_finished(pod)
    if ended is not None:
        return ended
    ready = find_condition(pod.status.conditions, READY)
    if ready is not None and ready.status == FALSE and ready.last_transition_time:
        return parse_time(ready.last_transition_time)
    metadata = pod.metadata
    if metadata.deletion_timestamp is not None:
        return parse_time(metadata.deletion_timestamp) - (metadata.deletion_grace_period_seconds or 0) * SECOND
    return parse_time(metadata.creation_timestamp or "1970-01-01T00:00:00Z")


def _containers_finished(pod: Pod) -> int | None:
    """The latest end of the containers, sidecars included. None if one is running or there are none."""
    regular = _latest_end(pod.status.container_statuses)
    sidecars = sidecar_statuses(pod)
    if not sidecars:
        return regular
    last = _latest_end(sidecars)
    return None if last is None else max(last, regular or last)


def _latest_end(statuses: Sequence[ContainerStatus]) -> int | None:
    ends = [status.state.terminated.finished_at for status in statuses if status.state.terminated is not None]
    known = [parse_time(end) for end in ends if end]
    return max(known) if known and len(known) == len(statuses) else None


def sidecar_statuses(pod: Pod) -> list[ContainerStatus]:
    names = {container.name for container in pod.spec.init_containers if is_restartable_init_container(container)}
    return [status for status in pod.status.init_container_statuses if status.name in names]


# -- pods that are too many -----------------------------------------------------------------------------------------


def pods_for_removal(job: Job, pods: Sequence[Pod], at_least: int) -> list[Pod]:
    """Pods to delete: first those without a valid index or with a duplicate one, then those with the least progress."""
    remove: list[Pod] = []
    left = list(pods)
    if is_indexed(job):
        remove, left = _without_own_index(left, job.spec.completions or 0)
    if len(remove) < at_least:
        remove += sorted(left, key=_least_useful_first)[: at_least - len(remove)]
    return remove


def _without_own_index(pods: list[Pod], completions: int) -> tuple[list[Pod], list[Pod]]:
    """The pods to delete, and the one pod to keep per index."""
    by_index: dict[int | None, list[Pod]] = {}
    for pod in sorted(pods, key=index_order):
        by_index.setdefault(valid_index(pod, completions), []).append(pod)
    remove = by_index.pop(None, [])
    left = []
    for same in by_index.values():
        *others, kept = sorted(same, key=_least_useful_first)
        remove += others
        left.append(kept)
    return remove, left


def index_order(pod: Pod) -> int:
    index = completion_index(pod)
    return -1 if index is None else index


def _least_useful_first(pod: Pod) -> tuple[bool, int, bool, int, int, int, int]:
    """Sort key: without a node, pending, not ready, ready for a shorter time, more restarts, newer."""
    condition = find_condition(pod.status.conditions, READY)
    ready = is_ready(pod)
    since = parse_time(condition.last_transition_time) if condition and condition.last_transition_time else 0
    created = parse_time(pod.metadata.creation_timestamp) if pod.metadata.creation_timestamp else 0
    return (
        bool(pod.spec.node_name),
        _PHASE_ORDER.get(pod.status.phase, 0),
        ready,
        -since if ready else 0,
        -_most_restarts(pod.status.container_statuses),
        -_most_restarts(sidecar_statuses(pod)),
        -created,
    )


def _most_restarts(statuses: Sequence[ContainerStatus]) -> int:
    return max((status.restart_count for status in statuses), default=0)
