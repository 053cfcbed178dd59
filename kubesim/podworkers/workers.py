"""Pod workers: one task per pod that syncs it, terminates it and cleans up.

The sync loop calls `update_pod`; the worker takes the newest update (its mailbox holds one), waits until the runtime
cache is newer than its last sync, and calls the `PodSyncer`. `state.py` decides the effect of an update
and the next step.

Mirrors: pkg/kubelet/pod_workers.go podWorkers, podWorkerLoop, killPodNow
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine
from dataclasses import field
from typing import Any

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, go, wake
from kubesim.concurrency.tasks import end
from kubesim.errors import KubesimError, SyncError
from kubesim.podworkers.requeue import Delays, requeue_after
from kubesim.podworkers.resyncs import Resyncs
from kubesim.podworkers.state import PodSyncStatuses, PodWork
from kubesim.podworkers.syncer import NOTHING_MORE, PodSyncer, SyncContext, SyncOutcome
from kubesim.podworkers.updates import KillPodOptions, PodStatusFn, UpdatePodOptions
from kubesim.runtime.helper import EventRecorder
from kubesim.runtime.pod_cache import PodCache
from kubesim.runtime.types import RuntimePodStatus
from kubesim.trace import Recorder
from kubesim.trace.records import SyncBegin, SyncEnd, WorkerState, WorkerUpdate
from kubesim.values import part

MIN_KILL_TIMEOUT_S = 10


class Worker:
    """A worker's task and its mailbox. `signal`: an update is pending; the update is in the pod's sync status."""

    __slots__ = ("cause", "closed", "context", "draws", "last_sync", "pod", "signal", "task", "uid", "waiter")

    def __init__(self, uid: str, pod: str) -> None:
        self.uid = uid
        self.pod = pod
        self.task: asyncio.Task[None] | None = None
        self.signal = False
        self.closed = False
        self.waiter: asyncio.Future[None] | None = None
        self.context = SyncContext()
        self.cause: int | None = None  # the trace record of its latest update
        self.last_sync: int | None = None
        self.draws = 0

    def wake(self) -> None:
        self.signal = True
        if self.waiter is not None:
            wake(self.waiter, None)

    def close(self) -> None:
        self.closed = True
        if self.waiter is not None:
            wake(self.waiter, None)


@part
class PodWorkers:
    """Runs one worker task per pod. Contract:

    - `update_pod` returns immediately. The worker holds one pending update; a newer update replaces an older one.
    - A worker syncs its pod only with a runtime status that is newer than its last sync.
    - A pod goes from syncing to terminating to terminated, and never back. A pod with the same uid that is created
      again waits until the worker has finished.
    - While a pod terminates, its grace period can only become shorter.
    - Static pods with the same full name start one after the other, in the order in which they were added.
    - An error in one worker never stops another one.

    `states` answers queries about pods. `on_crash` is called with errors that no syncer should raise, `on_state` when a
    pod changes state.
    """

    clock: LoopClock
    syncer: PodSyncer
    cache: PodCache
    states: PodSyncStatuses
    resyncs: Resyncs
    recorder: Recorder
    events: EventRecorder
    delays: Delays
    on_crash: Callable[[str, Exception], None] = field(default=lambda uid, error: _report_crash(uid, error))
    on_state: Callable[[str], None] = field(default=lambda uid: None)
    _workers: dict[str, Worker] = field(default_factory=dict)
    _tasks: dict[asyncio.Task[None], None] = field(default_factory=dict)  # in start order

    # -- interface ----------------------------------------------------------------------------------------------

    def update_pod(self, options: UpdatePodOptions) -> None:
        """Send an update to the worker of a pod. The first update of a pod starts its worker."""
        decision = self.states.update_pod(options, self.clock.now(), self.cache.known)
        uid = decision.uid
        seq = 0
        if self.recorder.on:
            update = WorkerUpdate(uid=uid, pod=decision.pod, update=options.update_type, why=decision.why)
            seq = self.recorder.record(update)
        for completed in decision.completed:
            completed()
        if not decision.accepted:
            return
        worker = self._workers.get(uid) or self._start(uid, decision.pod)
        self.resyncs.touch(uid)
        worker.cause = seq
        if decision.terminating:
            worker.cause = self._record_state(
                worker, "terminating", f"the pod must terminate: {decision.terminating}", seq
            )
        worker.wake()
        if decision.cancel:
            worker.context.cancel()

    def count_resyncs(self, last: int, tick_after: Callable[[int], int]) -> None:
        """Count the resyncs of settled pods up to the sync tick `last`, each at the first tick after it is due."""
        settled, workers, resync = self.resyncs.settled, self._workers, self.delays.intervals.resync
        while (due := settled.earliest()) is not None and (tick := tick_after(due)) <= last:
            worker = workers[settled.pop()]
            worker.last_sync = tick
            self.resyncs.counted += 1
            settled.enqueue_at(worker.uid, tick + self._add_jitter(worker, resync))

    def sync_known_pods(self, desired: Collection[str]) -> None:
        """Housekeeping: terminate pods that no source lists (UID not in `desired`); remove finished ones."""
        known = self.states.sync_known_pods(desired, self.clock.now())
        for uid in known.stop:
            worker = self._workers.pop(uid, None)
            if worker is not None:
                worker.close()
                self.resyncs.forget(uid)
        for uid in known.stop:
            self.on_state(uid)  # the pod's remains in the runtime may be collected now
        for uid in known.wake:
            worker = self._workers[uid]
            self.resyncs.touch(uid)
            why = "no source lists the pod any more, so the worker terminates it"
            worker.cause = self._record_state(worker, self.states.statuses[uid].work_type(), why)
            worker.wake()

    async def kill_pod_now(
        self,
        pod: Pod,
        *,
        evict: bool = False,
        grace_period_override: int | None = None,
        status_fn: PodStatusFn | None = None,
    ) -> None:
        """Kill a pod and wait until its containers are stopped; raises SyncError if that takes too long."""
        grace = grace_period_override
        if grace is None:
            grace = pod.spec.termination_grace_period_seconds or 0
        timeout = max(grace + int(grace / 2), MIN_KILL_TIMEOUT_S) * SECOND
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        kill = KillPodOptions(evict, grace_period_override, status_fn, lambda: wake(done, True))
        self.update_pod(UpdatePodOptions("kill", pod, kill=kill))
        timer = self.clock.call_at(self.clock.now() + timeout, wake, done, False)
        try:
            killed = await done
        finally:
            timer.cancel()
        if not killed:
            message = "Container runtime did not kill the pod within specified grace period."
            self.events.event(pod, "Warning", "ExceededGracePeriod", message)
            raise SyncError("timeout waiting to kill pod")

    def tasks(self) -> list[asyncio.Task[None]]:
        """The tasks of all workers, in start order."""
        return list(self._tasks)

    async def close(self) -> None:
        """Cancel all workers in start order."""
        for task in self.tasks():
            await end(task)

    def statistics(self) -> dict[str, int]:
        working = sum(status.working for status in self.states.statuses.values())
        return {"pods": len(self.states.statuses), "workers": len(self._workers), "working": working}

    # -- the worker task ----------------------------------------------------------------------------------------

    def _start(self, uid: str, pod: str) -> Worker:
        worker = self._workers[uid] = Worker(uid, pod)
        worker.task = go(self._loop(worker), f"worker {pod}")
        self._tasks[worker.task] = None
        worker.task.add_done_callback(self._ended)
        return worker

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            task.get_loop().call_exception_handler({"message": f"{task.get_name()} died", "exception": error})

    async def _loop(self, worker: Worker) -> None:
        """Wait for an update and handle it, until the pod is finished. An idle worker costs only this frame."""
        while True:
            if worker.signal:
                worker.signal = False
                if not await self._work(worker):
                    return
            elif worker.closed:
                return
            else:
                worker.waiter = asyncio.get_running_loop().create_future()
                await worker.waiter
                worker.waiter = None

    async def _work(self, worker: Worker) -> bool:
        """Handle the pending update, if the pod may start, with a runtime status newer than the last sync. False: the
        worker is finished.
        """
        if self.recorder.on:
            self.recorder.because(worker.cause)
        work = self.states.start_pod_sync(worker.uid, self.clock.now())
        if isinstance(work, str):
            if work == "never":
                self._stop(worker, "the pod was terminated before it could start")
            elif work == "wait":
                self.resyncs.enqueue(worker.uid, self._add_jitter(worker, self.delays.intervals.backoff))
            return work != "never"
        if worker.context.cancelled:
            worker.context = SyncContext()
        self.resyncs.sync_begins(worker.uid)
        outcome: SyncOutcome | None = None
        error: Exception | None = None
        try:
            status = await self._status(worker, work)
            self._begin(worker, work)
            try:
                outcome = await self._call_syncer(worker, work, status)
                if outcome is not None and outcome.again:
                    self.update_pod(UpdatePodOptions("update", work.options.pod, work.options.mirror_pod))
            finally:
                worker.last_sync = self.clock.now()
        except KubesimError as failure:
            error = failure
        except Exception as crash:  # a bug: report it, and retry as after any failed sync
            error = crash
            self.on_crash(worker.uid, crash)
        return self._complete(worker, work, outcome or NOTHING_MORE, error)

    async def _status(self, worker: Worker, work: PodWork) -> RuntimePodStatus | None:
        """The runtime status of the pod; a runtime-only pod needs none."""
        pod = work.options.pod
        if pod is None or work.options.running_pod is not None:
            return None
        try:
            return await self.cache.get_newer_than(worker.uid, worker.last_sync)
        except KubesimError as error:
            self.events.event(pod, "Warning", "FailedSync", f"error determining status: {error}")
            self._begin(worker, work)
            raise

    def _call_syncer(
        self, worker: Worker, work: PodWork, status: RuntimePodStatus | None
    ) -> Coroutine[Any, Any, SyncOutcome | None]:
        """The syncer call for this work; only SyncPod has an outcome."""
        options, syncer, context = work.options, self.syncer, worker.context
        if options.running_pod is not None:
            self.states.acknowledge_terminating(worker.uid)
            return syncer.sync_terminating_runtime_pod(context, options.running_pod)
        assert options.pod is not None
        assert status is not None
        if work.work_type == "terminated":
            return syncer.sync_terminated_pod(context, options.pod, status)
        if work.work_type == "terminating":
            status_fn = self.states.acknowledge_terminating(worker.uid)
            grace = options.kill.grace_period_override if options.kill is not None else None
            return syncer.sync_terminating_pod(context, options.pod, status, grace, status_fn)
        return syncer.sync_pod(context, options.update_type, options.pod, options.mirror_pod, status)

    def _complete(self, worker: Worker, work: PodWork, outcome: SyncOutcome, error: Exception | None) -> bool:
        """Apply the outcome of a sync: the pod's next state and next sync. False: the pod is finished."""
        if outcome.post_sync is not None:
            outcome.post_sync()
        now, uid = self.clock.now(), worker.uid
        error = error or outcome.error
        transition = error is None and (outcome.terminal or work.work_type != "sync")
        if transition and (work.work_type == "terminated" or work.options.running_pod is not None):
            self._record_end(worker, work, None, None, "the sync succeeded and was the pod's last")
            if work.work_type == "terminated":
                self.states.complete_terminated(uid)
            else:
                self.states.complete_terminating_runtime_pod(uid, now)
            self._stop(worker, "everything of the pod is cleaned up")
            return False
        requeue = requeue_after(self.delays.intervals, transition, error, now)
        delay = self._add_jitter(worker, requeue.delay)
        self._record_end(worker, work, error, delay, requeue.why)
        if transition and work.work_type == "terminating":
            for completed in self.states.complete_terminating(uid, now):
                completed()
            worker.cause = self._record_state(worker, "terminated", "no container of the pod is running any more")
        elif transition:
            self.states.complete_sync(uid, now)
            worker.cause = self._record_state(
                worker, "terminating", "SyncPod found that the pod has reached a terminal phase"
            )
        self.resyncs.enqueue(uid, delay, found_nothing=outcome.settled and error is None)
        if self.states.complete_work(uid):
            worker.signal = True
        return True

    def _stop(self, worker: Worker, why: str) -> None:
        self._record_state(worker, "finished", why)
        if self._workers.get(worker.uid) is worker:
            del self._workers[worker.uid]
            self.resyncs.forget(worker.uid)

    def _add_jitter(self, worker: Worker, delay: int) -> int:
        worker.draws += 1
        return self.delays.add_jitter(delay, worker.uid, worker.draws)

    # -- the trace ----------------------------------------------------------------------------------------------

    def _begin(self, worker: Worker, work: PodWork) -> None:
        """Record the start of a sync; it becomes the cause of the sync's records."""
        if self.recorder.on:
            worker.context.cause = self.recorder.record(
                SyncBegin(
                    uid=worker.uid,
                    pod=worker.pod,
                    sync=_call_name(work),
                    update=work.options.update_type,
                    why=_WHY_BEGIN[work.work_type],
                )
            )
            self.recorder.because(worker.context.cause)

    def _record_end(
        self, worker: Worker, work: PodWork, error: Exception | None, requeue: int | None, why: str
    ) -> None:
        if self.recorder.on:
            text = "" if error is None else str(error)
            seq = self.recorder.record(
                SyncEnd(uid=worker.uid, pod=worker.pod, sync=_call_name(work), error=text, requeue=requeue, why=why)
            )
            self.recorder.because(seq)

    def _record_state(self, worker: Worker, state: str, why: str, cause: int | None = None) -> int:
        self.on_state(worker.uid)
        if not self.recorder.on:
            return 0
        return self.recorder.record(WorkerState(uid=worker.uid, pod=worker.pod, state=state, why=why, cause=cause))


_WHY_BEGIN = {
    "sync": "the worker takes the pending update; the runtime status is newer than its last sync",
    "terminating": "the pod must terminate: its containers are stopped",
    "terminated": "no container is running any more: the pod's other resources are released",
}


def _call_name(work: PodWork) -> str:
    if work.options.running_pod is not None:
        return "SyncTerminatingRuntimePod"
    return {"sync": "SyncPod", "terminating": "SyncTerminatingPod", "terminated": "SyncTerminatedPod"}[work.work_type]


def _report_crash(uid: str, error: Exception) -> None:
    asyncio.get_running_loop().call_exception_handler({"message": f"the sync of pod {uid} crashed", "exception": error})
