"""One pod's worker status, with the questions that the rest of the kubelet may ask about it.

A pod goes from sync to terminating to terminated and never back. Each step has its time; the flags say what led to it.
The questions differ in what they answer for a pod that no worker knows: before the first round of housekeeping
(`pods_synced`) such a pod may run, after it such a pod is gone.

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
    """Moments are microseconds, None is Go's zero time; the grace period is in seconds."""

    fullname: str
    synced_at: int  # first heard of
    started_at: int | None = None  # allowed to start
    terminating_at: int | None = None  # asked to end
    terminated_at: int | None = None  # containers are stopped
    grace_period: int = 0

    has_worker: bool = False
    working: bool = False  # an update is pending or being worked on
    pending_update: UpdatePodOptions | None = None
    active_update: UpdatePodOptions | None = None

    started_terminating: bool = False  # the worker has seen the request: no container will be started any more
    deleted: bool = False
    evicted: bool = False
    finished: bool = False
    restart_requested: bool = False  # the same uid was created again while the pod was terminating
    observed_runtime: bool = False  # seen in the runtime: must be terminated, even if we never started it

    notify_post_terminating: tuple[Callable[[], None], ...] = ()
    status_post_terminating: tuple[PodStatusFn, ...] = ()

    def work_type(self) -> PodWorkerState:
        if self.terminated_at is not None:
            return "terminated"
        return "sync" if self.terminating_at is None else "terminating"

    def replay(self) -> bool:
        """Work on the last update again, unless a newer one is pending or there never was one."""
        if self.pending_update is not None or self.active_update is None:
            return False
        self.pending_update = self.active_update
        self.working = True
        return True


class PodWorkerQueries:
    """The questions. Loops that set things up or tear them down ask the `should_pod_...` ones."""

    def __init__(self) -> None:
        self.statuses: dict[str, PodSyncStatus] = {}
        self.started_static_pods: dict[str, str] = {}  # full name -> uid
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
        """Not merely requested: the worker has seen it, so no container will be started any more."""
        status = self.statuses.get(uid)
        return self.pods_synced if status is None else status.started_terminating

    def should_pod_runtime_be_removed(self, uid: str) -> bool:
        status = self.statuses.get(uid)
        return self.pods_synced if status is None else status.terminated_at is not None

    def should_pod_content_be_removed(self, uid: str) -> bool:
        """An evicted pod's content may be removed immediately, a deleted pod's when its containers are stopped."""
        status = self.statuses.get(uid)
        if status is None:
            return self.pods_synced
        return status.evicted or (status.deleted and status.terminated_at is not None)

    def is_pod_for_mirror_pod_terminating_by_full_name(self, fullname: str) -> bool:
        """Is a static pod of this name terminating? Its mirror pod must not be deleted before it."""
        status = self.statuses.get(self.started_static_pods.get(fullname, ""))
        return status is not None and status.terminating_at is not None and status.terminated_at is None
