"""Pod workers of kubelets without a terminating state: one sync function, and a separate pod killer.

The pod killer stops pods without a worker: pods removed by their source, and pods that only the runtime knows. It runs
concurrently with a sync in progress, and with a new pod of the same name.

Mirrors: pkg/kubelet/pod_workers.go managePodLoop, wrapUp; pkg/kubelet/kubelet.go deletePod; pkg/kubelet/kubelet_pods.go
podKiller (v1.12)
"""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import field
from typing import Any

from kubesim.clock import go
from kubesim.errors import KubesimError
from kubesim.podworkers.requeue import requeue_after
from kubesim.podworkers.state import PodWork, is_cache_terminal
from kubesim.podworkers.syncer import SyncContext, SyncOutcome
from kubesim.podworkers.undelivered import UndeliveredUpdates
from kubesim.podworkers.updates import UpdatePodOptions
from kubesim.podworkers.workers import PodWorkers, Worker
from kubesim.runtime.types import RuntimePodStatus
from kubesim.values import part


@part
class SingleSyncWorkers(PodWorkers):
    """Pod workers without states; `states` are `UndeliveredUpdates`."""

    emits_sync_errors: bool = False  # emit an Event for each failed sync
    _killing: set[str] = field(default_factory=set)

    def update_pod(self, options: UpdatePodOptions) -> None:
        if options.running_pod is not None:
            self._kill(options.running_pod.uid, options)
        elif options.update_type == "kill" and options.kill is None:
            assert options.pod is not None
            self._forget(options.pod.metadata.uid)
            self._kill(options.pod.metadata.uid, options)
        else:
            PodWorkers.update_pod(self, options)  # `super()` fails in a class with slots

    def _forget(self, uid: str) -> None:
        """Stop the worker after the sync in progress; pending updates are dropped."""
        assert isinstance(self.states, UndeliveredUpdates)
        self.states.forget(uid)
        worker = self._workers.pop(uid, None)
        if worker is not None:
            worker.close()
            self.resyncs.forget(uid)
            self.on_state(uid)

    def _kill(self, uid: str, options: UpdatePodOptions) -> None:
        if uid not in self._killing:
            self._killing.add(uid)
            task = go(self._run_killer(uid, options), f"pod killer {uid}")
            self._tasks[task] = None
            task.add_done_callback(self._ended)

    async def _run_killer(self, uid: str, options: UpdatePodOptions) -> None:
        context = SyncContext()
        try:
            if options.running_pod is not None:
                await self.syncer.sync_terminating_runtime_pod(context, options.running_pod)
            elif options.pod is not None:
                observed = self.cache.known(uid)
                if observed is not None and not is_cache_terminal(observed):
                    await self.syncer.sync_terminating_pod(context, options.pod, observed, None, None)
        except KubesimError:
            pass  # the next housekeeping retries
        finally:
            self._killing.discard(uid)
            self.on_state(uid)

    def _call_syncer(
        self, worker: Worker, work: PodWork, status: RuntimePodStatus | None
    ) -> Coroutine[Any, Any, SyncOutcome | None]:
        options = work.options
        kill = options.kill
        if options.update_type != "kill" or kill is None:
            return PodWorkers._call_syncer(self, worker, work, status)
        assert options.pod is not None
        assert status is not None
        return self.syncer.sync_terminating_pod(
            worker.context, options.pod, status, kill.grace_period_override, kill.status_fn
        )

    def _complete(self, worker: Worker, work: PodWork, outcome: SyncOutcome, error: Exception | None) -> bool:
        if outcome.post_sync is not None:
            outcome.post_sync()
        options, error = work.options, error or outcome.error
        if options.kill is not None and options.kill.completed is not None:
            options.kill.completed()
        if error is not None and self.emits_sync_errors and options.pod is not None:
            self.events.event(options.pod, "Warning", "FailedSync", f"Error syncing pod, skipping: {error}")
        requeue = requeue_after(self.delays.intervals, False, error, self.clock.now())
        delay = self._add_jitter(worker, requeue.delay)
        self._record_end(worker, work, error, delay, requeue.why)
        if not worker.closed:
            self.resyncs.enqueue(worker.uid, delay, found_nothing=outcome.settled and error is None)
        self.on_state(worker.uid)
        if self.states.complete_work(worker.uid):
            worker.signal = True
        return True
