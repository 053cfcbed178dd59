"""The interface between pod workers and the kubelet: `PodSyncer`, the outcome of a sync, and its context.

Mirrors: pkg/kubelet/pod_workers.go podSyncer; pkg/kubelet/container/sync_result.go MinBackoffExpiration
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from kubesim.api.pod import Pod
from kubesim.errors import BackoffError, SyncCancelled, SyncError
from kubesim.podworkers.updates import PodStatusFn, SyncPodType
from kubesim.runtime.types import RuntimePod, RuntimePodStatus
from kubesim.values import value_object

T = TypeVar("T")


class SyncContext:
    """Go's context of a pod's syncs: a flag that a sync checks or waits for, without an exception at every await.

    It spans several syncs, until an update makes the sync in progress obsolete.
    """

    __slots__ = ("_waiters", "cancelled", "cause")

    def __init__(self) -> None:
        self.cancelled = False
        self.cause: int | None = None  # the trace record of the sync in progress
        self._waiters: dict[asyncio.Future[None], None] | None = None

    def cancel(self) -> None:
        self.cancelled = True
        waiters, self._waiters = self._waiters, None
        for waiter in waiters or ():
            _finish(waiter)

    async def race(self, future: asyncio.Future[T]) -> T:
        """Await the future. If the context is cancelled first: raises SyncCancelled, and the future continues."""
        if not future.done() and not self.cancelled:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()

            def arrived(_: object) -> None:
                _finish(waiter)

            future.add_done_callback(arrived)
            if self._waiters is None:
                self._waiters = {}
            self._waiters[waiter] = None
            try:
                await waiter
            finally:
                future.remove_done_callback(arrived)
                if self._waiters is not None:
                    self._waiters.pop(waiter, None)
        if future.done():
            return future.result()
        raise SyncCancelled


def _finish(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


@value_object
class SyncOutcome:
    """The outcome of a SyncPod. `terminal`: the pod has ended without a deletion. `settled`: the sync found nothing to
    do, and the next one will not either unless something touches the pod. `post_sync` is called after the worker has
    recorded the end of the sync, so that a relist it requests is newer. `again`: the next sync has more to do and
    starts immediately. `error`: the sync failed; returning it is cheaper than raising, and a container in back-off
    fails every sync.
    """

    terminal: bool = False
    settled: bool = False
    again: bool = False
    post_sync: Callable[[], None] | None = None
    error: SyncError | None = None


NOTHING_MORE = SyncOutcome()


class PodSyncer(Protocol):
    """The methods that a pod worker calls. Contract:

    - The worker calls `sync_pod` until the pod must terminate, then `sync_terminating_pod` until it succeeds, then
      `sync_terminated_pod` until it succeeds. It never goes back to an earlier phase.
    - Calls for one pod never overlap. Calls for different pods may.
    - A call that fails raises a KubesimError (SyncError and others) or returns the error in its outcome. The worker
      calls it again later.
    - A call may end early with SyncCancelled when `context` is cancelled: an update has made it obsolete.
    """

    async def sync_pod(
        self,
        context: SyncContext,
        update_type: SyncPodType,
        pod: Pod,
        mirror_pod: Pod | None,
        status: RuntimePodStatus,
    ) -> SyncOutcome:
        """Set up a pod that should run. The outcome is terminal if the pod has reached a terminal phase."""
        ...

    async def sync_terminating_pod(
        self,
        context: SyncContext,
        pod: Pod,
        status: RuntimePodStatus,
        grace_period: int | None,
        status_fn: PodStatusFn | None,
    ) -> None:
        """Stop all containers of the pod. After success none of them runs, and none is started again."""
        ...

    async def sync_terminating_runtime_pod(self, context: SyncContext, running_pod: RuntimePod) -> None:
        """Stop the containers of an orphaned pod: the runtime reports it, but no source lists it."""
        ...

    async def sync_terminated_pod(self, context: SyncContext, pod: Pod, status: RuntimePodStatus) -> None:
        """Release the resources of a pod whose containers have all stopped: volumes, cgroups, user namespace."""
        ...


def min_backoff_expiration(error: BaseException) -> int | None:
    """The earliest back-off expiry in the error, its group members and its causes."""
    if isinstance(error, BackoffError):
        return error.expires_at
    if isinstance(error, BaseExceptionGroup):
        found = [moment for inner in error.exceptions if (moment := min_backoff_expiration(inner)) is not None]
        return min(found, default=None)
    return None if error.__cause__ is None else min_backoff_expiration(error.__cause__)
