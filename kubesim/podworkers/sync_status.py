"""The sync status of one pod, and the queries of other kubelet components.

A pod moves from sync to terminating to terminated, and never back. Each step has a time; the flags record its cause.
The queries differ for a pod without a worker: before the first housekeeping (`pods_synced`) it may run, afterwards it
is gone.

Mirrors: pkg/kubelet/pod_workers.go podSyncStatus, PodWorkers (the query methods)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from kubesim.podworkers.updates import PodStatusFn, UpdatePodOptions
from kubesim.values import mutable

PodWorkerState = Literal["sync", "terminating", "terminated"]


@mutable
class PodSyncStatus:
    """Times are microseconds, None is Go's zero time; the grace period is in seconds."""

    fullname: str
    synced_at: int  # first update
    started_at: int | None = None  # allowed to start
    terminating_at: int | None = None  # termination requested
    terminated_at: int | None = None  # all containers have stopped
    grace_period: int = 0

    has_worker: bool = False
    working: bool = False  # an update is pending or in progress
    pending_update: UpdatePodOptions | None = None
    active_update: UpdatePodOptions | None = None

    started_terminating: bool = False  # the worker has seen the request: it starts no more containers
    deleted: bool = False
    evicted: bool = False
    finished: bool = False
    restart_requested: bool = False  # a pod with the same UID was created while this one was terminating
    observed_runtime: bool = False  # found in the runtime: must be terminated, even if never started by this kubelet

    notify_post_terminating: tuple[Callable[[], None], ...] = ()
    status_post_terminating: tuple[PodStatusFn, ...] = ()

    def work_type(self) -> PodWorkerState:
        if self.terminated_at is not None:
            return "terminated"
        return "sync" if self.terminating_at is None else "terminating"

    def replay(self) -> bool:
        """Repeat the last update, unless a newer one is pending or there is none."""
        if self.pending_update is not None or self.active_update is None:
            return False
        self.pending_update = self.active_update
        self.working = True
        return True


class PodWorkerQueries:
    """Queries about workers. Components that set up or tear down a pod use the `should_pod_...` queries."""

    def __init__(self) -> None:
        self.statuses: dict[str, PodSyncStatus] = {}
        self.started_static_pods: dict[str, str] = {}  # full name -> UID
        self.pods_synced = False

    def is_pod_known_terminated(self, uid: str) -> bool:
        status = self.statuses.get(uid)
        return status is not None and status.terminated_at is not None

    def could_have_running_containers(self, uid: str) -> bool:
        status = self.statuses.get(uid)
        return not self.pods_synced if status is None else status.terminated_at is None

    def should_pod_be_finished(self, uid: str) -> bool:
        status = self.statuses.get(uid)
        return self.pods_synced if status is None else status.finished

    def is_pod_termination_requested(self, uid: str) -> bool:
        status = self.statuses.get(uid)
        return status is not None and status.terminating_at is not None

    def should_pod_containers_be_terminating(self, uid: str) -> bool:
        """The worker has seen the termination request, so it starts no more containers."""
        status = self.statuses.get(uid)
        return self.pods_synced if status is None else status.started_terminating

    def should_pod_runtime_be_removed(self, uid: str) -> bool:
        status = self.statuses.get(uid)
        return self.pods_synced if status is None else status.terminated_at is not None

    def should_pod_content_be_removed(self, uid: str) -> bool:
        """Whether to remove the pod's content: if evicted, now; if deleted, after its containers have stopped."""
        status = self.statuses.get(uid)
        if status is None:
            return self.pods_synced
        return status.evicted or (status.deleted and status.terminated_at is not None)

    def is_pod_for_mirror_pod_terminating_by_full_name(self, fullname: str) -> bool:
        """Whether a static pod of this name is terminating: its mirror pod must outlive it."""
        status = self.statuses.get(self.started_static_pods.get(fullname, ""))
        return status is not None and status.terminating_at is not None and status.terminated_at is None
