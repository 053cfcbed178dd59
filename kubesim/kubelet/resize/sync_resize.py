"""Resizes of kubelet v1.30: each sync of the pod decides about them and reports `status.resize`.

A deferred resize is retried by the next sync, a minute or more later; freed resources do not trigger a retry. A change
of limits alone is not admitted.

Mirrors: pkg/kubelet/kubelet.go handlePodResourcesResize, canResizePod of v1.30
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any, Protocol

from kubesim.api.pod import Pod
from kubesim.api.pods.pod_kinds import is_static_pod
from kubesim.api.pods.resources import quantities
from kubesim.kubelet.admission.predicates import AdmissionResult
from kubesim.kubelet.resize.allocation_manager import AllocationManager
from kubesim.kubelet.status.resize_conditions import INFEASIBLE, resize_status
from kubesim.values import part


class ResizingSync(Protocol):
    """A pod syncer with a hook before it starts and resizes containers."""

    resize: Callable[[Pod], Awaitable[tuple[Pod, Collection[str]]]] | None


def allocation_at_sync(sync: ResizingSync, *parts: Any) -> AllocationAtSync:
    manager = AllocationAtSync(*parts)
    sync.resize = manager.resize_at_sync
    return manager


@part
class AllocationAtSync(AllocationManager):
    """An allocation manager without pending resizes between syncs."""

    async def push_pending_resize(self, uid: str) -> None: ...
    async def retry_pending_resizes(self) -> None: ...

    async def resize_at_sync(self, pod: Pod) -> tuple[Pod, Collection[str]]:
        """The pod to sync, and the containers whose resize was refused.

        Upstream syncs the pod's full spec: a container that restarts gets even a refused resize.
        """
        wanted = self.views.manager.by_uid(pod.metadata.uid)
        if wanted is None or is_static_pod(wanted):
            return pod, ()
        if wanted.status.phase == "Running":
            await self._consider(wanted)
        allocated = self.update_pod(wanted)
        if not self.context.gates.rules.starts_with_refused_resources:
            return allocated, ()
        return wanted, () if allocated is wanted else _refused_containers(wanted, allocated)

    async def _consider(self, wanted: Pod) -> None:
        uid, allocated = wanted.metadata.uid, self.update_pod(wanted)
        if allocated is wanted:
            self.views.statuses.resize.clear_pending(uid)
            return
        if not requests_differ(wanted, allocated):
            if not _refused_containers(wanted, allocated):
                self.state.set(wanted, self.context.gates)
            return
        async with self._lock:
            await self._decide(wanted)
        status = self.views.statuses.get_pod_status(uid) or wanted.status
        resize = resize_status(self.views.statuses.resize.get(uid))
        self.views.statuses.set_pod_status(wanted, status.changed(resize=resize))

    async def _decide(self, pod: Pod) -> None:
        uid, generation, now = pod.metadata.uid, pod.metadata.generation, self.context.clock.wall()
        conditions = self.views.statuses.resize
        if self.admission is not None and self.admission.exceeds_allocatable(pod):
            result = AdmissionResult(False, INFEASIBLE, "")
        else:
            result = await self._admit(pod, self._admit_resized)
        if not result.admit:
            conditions.set_pending(uid, result.reason, result.message, generation, now)
            return
        self.state.set(pod, self.context.gates)
        self.pods_changed()
        conditions.clear_pending(uid)
        conditions.clear_in_progress(uid)
        conditions.set_in_progress(uid, "", "", generation, now)


def requests_differ(wanted: Pod, allocated: Pod) -> bool:
    """Whether requests differ. As upstream, a container with another number of requests prevents the resize."""
    for after, before in zip(wanted.spec.containers, allocated.spec.containers, strict=True):
        requests, had = after.resources.requests, before.resources.requests
        if not requests:
            continue
        if len(requests) != len(had):
            return False
        if quantities(requests) != quantities(had):
            return True
    return False


def _refused_containers(wanted: Pod, allocated: Pod) -> list[str]:
    return [
        after.name
        for after, before in zip(wanted.spec.containers, allocated.spec.containers, strict=True)
        if quantities(after.resources.requests) != quantities(before.resources.requests)
    ]
