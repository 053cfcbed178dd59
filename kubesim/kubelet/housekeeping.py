"""Housekeeping: what nobody wants any more is ended and forgotten.

Runs in the sync loop, so that no update comes in between; and the once-a-minute garbage collection of dead containers.
Mirrors: pkg/kubelet/kubelet_pods.go HandlePodCleanups; pkg/kubelet/kuberuntime/kuberuntime_gc.go GarbageCollect
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from kubesim.api.phases import TERMINAL_PHASES
from kubesim.api.pod import Pod
from kubesim.api.pod_kinds import is_static_pod
from kubesim.clock import NEVER, LoopClock
from kubesim.concurrency import Ticker
from kubesim.errors import RuntimeCallError
from kubesim.kubelet.allocation import AllocationManager
from kubesim.kubelet.handlers import Handlers
from kubesim.kubelet.mirror import MirrorClient
from kubesim.kubelet.pod_manager import PodManager
from kubesim.kubelet.probes.manager import ProbeManager
from kubesim.kubelet.settings import KubeletSettings
from kubesim.kubelet.status.manager import StatusManager
from kubesim.kubelet.volumes.manager import VolumeManager
from kubesim.podworkers.updates import KillPodOptions, UpdatePodOptions
from kubesim.podworkers.workers import PodWorkers
from kubesim.runtime.gc import GCPolicy, evict_containers, evict_sandboxes
from kubesim.runtime.manager import RuntimeManager
from kubesim.runtime.types import RuntimePod
from kubesim.trace import Recorder
from kubesim.trace.records import Handler


class Housekeeping:
    def __init__(
        self,
        clock: LoopClock,
        recorder: Recorder,
        pods: PodManager,
        workers: PodWorkers,
        statuses: StatusManager,
        probes: ProbeManager,
        mirrors: MirrorClient,
        runtime: RuntimeManager,
        handlers: Handlers,
        allocation: AllocationManager,
        volumes: VolumeManager,
    ) -> None:
        self._clock = clock
        self._recorder = recorder
        self._pods = pods
        self._workers = workers
        self._statuses = statuses
        self._probes = probes
        self._mirrors = mirrors
        self._runtime = runtime
        self._handlers = handlers
        self._allocation = allocation
        self._volumes = volumes
        self.restarted: Counter[bool] = Counter()  # pods that came back under their old uid; by whether they are static
        self.orphans = 0  # pods that only the runtime knew

    async def handle_pod_cleanups(self) -> int:
        """Acts on pods that are wanted and not worked on, or worked on and not wanted.

        Returns the moment before which the next clean-up finds nothing to do; 0 if this one changed something.
        """
        desired = self._pods.uids()
        states = self._workers.states
        in_order = states.statuses.keys() <= desired
        self._workers.sync_known_pods(desired)
        try:
            running = await self._runtime.get_running_pods()
        except RuntimeCallError:
            return 0
        self._probes.cleanup_pods(states.could_have_running_containers)
        mirrors = self._pods.mirror_uids()
        self._statuses.remove_orphaned_statuses(desired | mirrors if mirrors else desired)
        self._allocation.remove_orphaned_pods(desired)
        volumes_left = self._volumes.cleanup_orphaned_pod_dirs(lambda uid: uid in desired or uid in running)
        if mirrors:
            await self._delete_orphaned_mirrors()
        worked_on = states.statuses.keys()
        acted_on: set[str] = set()
        if not desired <= worked_on:
            idle = [pod for pod in self._pods.pods() if pod.metadata.uid not in worked_on]
            acted_on |= self._restart_unknown(idle)
            acted_on |= self._end_rejected([pod for pod in idle if pod.metadata.uid not in acted_on], running)
        if not running.keys() <= worked_on:
            acted_on |= self._end_orphans([pod for uid, pod in running.items() if uid not in worked_on])
        for uid in self._runtime.pods_with_cgroup():
            state = states.statuses.get(uid)
            is_over = state is None or state.terminated_at is not None
            if is_over and not self._volumes.pod_volumes_exist(uid):  # memory of a volume counts for the pod's group
                self._runtime.destroy_pod_cgroup(uid)
        self._runtime.backoff.gc(self._clock.now())
        if acted_on:
            self._tell(acted_on)
        return self._runtime.backoff.next_expiry() if in_order and not acted_on and not volumes_left else 0

    async def _delete_orphaned_mirrors(self) -> None:
        for name in self._pods.orphaned_mirror_full_names():
            if not self._workers.states.is_pod_for_mirror_pod_terminating_by_full_name(name):
                await self._mirrors.delete(name)

    def _restart_unknown(self, idle: list[Pod]) -> set[str]:
        """Wanted pods without a worker: their uid was used before, and the worker of that life has ended by now."""
        started: set[str] = set()
        for pod in idle:
            if self._handlers.is_active(pod):
                mirror = self._pods.mirror_of(pod)
                self._workers.update_pod(UpdatePodOptions(update_type="create", pod=pod, mirror_pod=mirror))
                started.add(pod.metadata.uid)
                self.restarted[is_static_pod(pod)] += 1
        return started

    def _end_rejected(self, idle: list[Pod], running: Mapping[str, RuntimePod]) -> set[str]:
        """Deleted pods that ended without ever having a worker, such as rejected ones: let a worker finish them."""
        ended: set[str] = set()
        for pod in idle:
            uid = pod.metadata.uid
            if pod.metadata.deletion_timestamp is None or pod.status.phase not in TERMINAL_PHASES:
                continue
            if uid not in running:
                self._workers.update_pod(UpdatePodOptions(update_type="kill", pod=pod))
                ended.add(uid)
        return ended

    def _end_orphans(self, orphans: list[RuntimePod]) -> set[str]:
        """Pods that only the runtime knows are stopped quickly, the newest first."""
        for running in sorted(orphans, key=lambda pod: -pod.created_at):
            options = UpdatePodOptions(
                update_type="kill", running_pod=running, kill=KillPodOptions(grace_period_override=1)
            )
            self._workers.update_pod(options)
            self.orphans += 1
        return {running.uid for running in orphans}

    def _tell(self, acted_on: set[str]) -> None:
        """A clean-up that found nothing is not worth a record."""
        if self._recorder.on:
            self._recorder.record(Handler(name="HandlePodCleanups", pods=tuple(sorted(acted_on))))


class ContainerGC:
    """Once a minute: dead containers beyond the limit, and sandboxes without containers, are removed."""

    def __init__(
        self,
        clock: LoopClock,
        settings: KubeletSettings,
        workers: PodWorkers,
        runtime: RuntimeManager,
        sources_ready: Callable[[], bool],
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._workers = workers
        self._runtime = runtime
        self._sources_ready = sources_ready
        self._policy = GCPolicy(max_per_pod_container=settings.containers_to_keep)

    async def run(self) -> None:
        ticker = Ticker(self._clock, "container gc", self._settings.container_gc_period)
        try:
            await self.collect()
            while True:
                await ticker.channel.receive()
                ticker.done(0 if await self.collect() else NEVER)
        finally:
            ticker.stop()

    async def delete_all_unused_containers(self) -> None:
        """Also those of pods that have ended and are still wanted: there is disk pressure."""
        await self.collect(evict_non_deleted_pods=True)

    async def collect(self, *, evict_non_deleted_pods: bool = False) -> bool:
        """One round. Whether there was anything to collect; what the runtime fails to do is left to the next round."""
        actuated = self._runtime.actuated
        for uid in actuated.uids():
            if self._workers.states.should_pod_content_be_removed(uid):
                actuated.forget(uid)
        found = False
        for evict in (self._evict_containers, self._evict_sandboxes):
            try:
                found = await evict(evict_non_deleted_pods) or found
            except RuntimeCallError:
                found = True
        if self._sources_ready():
            self._remove_logs(self._runtime.logs.pods())
        return found

    async def _evict_containers(self, evict_non_deleted_pods: bool) -> bool:
        containers = await self._runtime.runtime.list_containers()
        evictions = evict_containers(
            containers,
            self._policy,
            self._workers.states,
            now=self._clock.now(),
            all_sources_ready=self._sources_ready(),
            evict_non_deleted_pods=evict_non_deleted_pods,
        )
        by_id = {info.id: info for info in containers}
        for eviction in evictions:
            with suppress(RuntimeCallError):
                if eviction.kill_first:
                    await self._runtime.kill_unknown_container(by_id[eviction.id])
                await self._runtime.remove_container(eviction.id)
        return bool(evictions)

    async def _evict_sandboxes(self, evict_non_deleted_pods: bool) -> bool:
        runtime = self._runtime.runtime
        containers = await runtime.list_containers()
        sandboxes = await runtime.list_pod_sandboxes()
        evicted = evict_sandboxes(
            sandboxes, containers, self._workers.states, evict_non_deleted_pods=evict_non_deleted_pods
        )
        for sandbox_id in evicted:
            with suppress(RuntimeCallError):
                await runtime.stop_pod_sandbox(sandbox_id)
                await runtime.remove_pod_sandbox(sandbox_id)
        return bool(evicted)

    def _remove_logs(self, uids: Iterable[str]) -> None:
        for uid in uids:
            if self._workers.states.should_pod_content_be_removed(uid):
                self._runtime.logs.remove_pod(uid)
