"""Housekeeping: what nobody wants any more is ended and forgotten.

Runs in the sync loop, so that no update comes in between; and the once-a-minute garbage collection of dead containers.
Mirrors: pkg/kubelet/kubelet_pods.go HandlePodCleanups; pkg/kubelet/kuberuntime/kuberuntime_gc.go GarbageCollect
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from kubesim.api.phases import TERMINAL_PHASES
from kubesim.api.pod import Pod
from kubesim.api.pod_kinds import is_static_pod
from kubesim.clock import LoopClock
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
        self.ticker: Ticker | None = None  # the sync loop's
        self.restarted: Counter[bool] = Counter()  # pods that came back under their old uid; by whether they are static
        self.orphans = 0  # pods that only the runtime knew

    def wanted(self) -> None:
        """Something changed that a clean-up might act on."""
        if self.ticker is not None:
            self.ticker.want_next()

    async def handle_pod_cleanups(self) -> None:
        """Looks at what is wanted and not worked on, or worked on and not wanted; what is in order costs nothing."""
        desired = self._pods.uids()
        states = self._workers.states
        self._workers.sync_known_pods(desired)
        try:
            running = await self._runtime.get_running_pods()
        except RuntimeCallError:
            self.wanted()
            return
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
        self._forget_backoffs(self._clock.now())
        if acted_on:
            self._tell(acted_on)
        if acted_on or volumes_left or not worked_on <= desired:
            self.wanted()

    def _forget_backoffs(self, now: int) -> None:
        """Those whose time is over, and ask for the tick at which the next one's is."""
        backoff = self._runtime.backoff
        expiry = backoff.next_expiry()
        if expiry is not None and expiry <= now:
            backoff.gc(now)
            expiry = backoff.next_expiry()
        if expiry is not None and self.ticker is not None:
            self.ticker.want(expiry)

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


class _LeftForNextTime:
    """What the runtime fails to do in this block is tried again in the next round; everything else goes on."""

    def __init__(self, wanted: Callable[[], None]) -> None:
        self._wanted = wanted

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, RuntimeCallError):
            return False
        self._wanted()
        return True


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
        self._ticker: Ticker | None = None
        self._policy = GCPolicy(max_per_pod_container=settings.containers_to_keep)
        self._left_for_next_time = _LeftForNextTime(self.wanted)

    def wanted(self) -> None:
        if self._ticker is not None:
            self._ticker.want_next()

    async def run(self) -> None:
        settings = self._settings
        self._ticker = Ticker(
            self._clock,
            "container gc",
            settings.container_gc_period,
            phase=self._clock.now(),
            every=settings.every_tick,
        )
        try:
            await self.collect()
            self.wanted()
            while True:
                await self._ticker.channel.receive()
                await self.collect()
        finally:
            self._ticker.stop()

    async def delete_all_unused_containers(self) -> None:
        """Also those of pods that have ended and are still wanted: there is disk pressure."""
        await self.collect(evict_non_deleted_pods=True)

    async def collect(self, *, evict_non_deleted_pods: bool = False) -> None:
        actuated = self._runtime.actuated
        for uid in actuated.uids():
            if self._workers.states.should_pod_content_be_removed(uid):
                actuated.forget(uid)
        with self._left_for_next_time:
            await self._evict_containers(evict_non_deleted_pods)
        with self._left_for_next_time:
            await self._evict_sandboxes(evict_non_deleted_pods)
        if self._sources_ready():
            self._remove_logs(self._runtime.logs.pods())

    async def _evict_containers(self, evict_non_deleted_pods: bool) -> None:
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
            with self._left_for_next_time:
                if eviction.kill_first:
                    await self._runtime.kill_unknown_container(by_id[eviction.id])
                await self._runtime.remove_container(eviction.id)

    async def _evict_sandboxes(self, evict_non_deleted_pods: bool) -> None:
        runtime = self._runtime.runtime
        containers = await runtime.list_containers()
        sandboxes = await runtime.list_pod_sandboxes()
        evicted = evict_sandboxes(
            sandboxes, containers, self._workers.states, evict_non_deleted_pods=evict_non_deleted_pods
        )
        for sandbox_id in evicted:
            with self._left_for_next_time:
                await runtime.stop_pod_sandbox(sandbox_id)
                await runtime.remove_pod_sandbox(sandbox_id)

    def _remove_logs(self, uids: Iterable[str]) -> None:
        for uid in uids:
            if self._workers.states.should_pod_content_be_removed(uid):
                self._runtime.logs.remove_pod(uid)
