"""Housekeeping: stops pods that no source wants any more and removes their state.

Runs in the sync loop, so that no update interleaves with it. Also garbage-collects dead containers once a minute.

Mirrors: pkg/kubelet/kubelet_pods.go HandlePodCleanups; pkg/kubelet/kuberuntime/kuberuntime_gc.go GarbageCollect
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field

from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_kinds import is_static_pod
from kubesim.concurrency import act_every
from kubesim.errors import RuntimeCallError
from kubesim.kubelet.context import KubeletContext, PodViews
from kubesim.kubelet.loop.mirror import MirrorClient
from kubesim.kubelet.probes.manager import ProbeManager
from kubesim.kubelet.resize.allocation_manager import AllocationManager
from kubesim.kubelet.sandbox.userns import UsernsManager
from kubesim.kubelet.volumes.manager import VolumeManager
from kubesim.podworkers.updates import KillPodOptions, UpdatePodOptions
from kubesim.podworkers.workers import PodWorkers
from kubesim.runtime.kuberuntime.act.manager import RuntimeManager
from kubesim.runtime.kuberuntime.decide.gc import GCPolicy, evict_containers, evict_sandboxes
from kubesim.runtime.types import RuntimePod
from kubesim.trace.records import Handler
from kubesim.values import part


@part
class Housekeeping:
    context: KubeletContext
    views: PodViews
    workers: PodWorkers
    probes: ProbeManager
    mirrors: MirrorClient
    runtime: RuntimeManager
    allocation: AllocationManager
    volumes: VolumeManager
    userns: UsernsManager
    restarted: Counter[bool] = field(default_factory=Counter)  # pods that returned with the same UID, by is_static_pod
    orphans: int = 0  # pods known only to the runtime

    async def handle_pod_cleanups(self) -> int:
        """Start workers for wanted pods without one, and stop workers of unwanted pods.

        Returns the time of the next clean-up that can find work; 0 if this one changed something.
        """
        desired = self.views.manager.uids()
        states = self.views.states
        in_order = states.statuses.keys() <= desired
        self.workers.sync_known_pods(desired)
        try:
            running = await self.runtime.get_running_pods()
        except RuntimeCallError:
            return 0
        self.probes.cleanup_pods(states.could_have_running_containers)
        mirrors = self.views.manager.mirror_uids()
        self.views.statuses.remove_orphaned_statuses(desired | mirrors if mirrors else desired)
        self.allocation.remove_orphaned_pods(desired)
        self.userns.clean_up_orphans(lambda uid: uid in desired or uid in running)
        volumes_left = self.volumes.cleanup_orphaned_pod_dirs(lambda uid: uid in desired or uid in running)
        if mirrors:
            await self._delete_orphaned_mirrors()
        worked_on = states.statuses.keys()
        acted_on: set[str] = set()
        if not desired <= worked_on:
            idle = [pod for pod in self.views.manager.pods() if pod.metadata.uid not in worked_on]
            acted_on |= self._restart_unknown(idle)
            acted_on |= self._end_rejected([pod for pod in idle if pod.metadata.uid not in acted_on], running)
        if not running.keys() <= worked_on:
            acted_on |= self._end_orphans([pod for uid, pod in running.items() if uid not in worked_on])
        for uid in self.runtime.pods_with_cgroup():
            state = states.statuses.get(uid)
            is_over = state is None or state.terminated_at is not None
            # files of memory volumes count towards the pod's cgroup
            if is_over and not self.volumes.pod_volumes_exist(uid):
                self.runtime.destroy_pod_cgroup(uid)
        self.runtime.backoff.gc(self.context.clock.wall())
        if acted_on:
            self._record_cleanup(acted_on)
        return self.runtime.backoff.next_expiry() if in_order and not acted_on and not volumes_left else 0

    async def _delete_orphaned_mirrors(self) -> None:
        for name in self.views.manager.orphaned_mirror_full_names():
            if not self.views.states.is_pod_for_mirror_pod_terminating_by_full_name(name):
                await self.mirrors.delete(name)

    def _restart_unknown(self, idle: list[Pod]) -> set[str]:
        """Restart wanted pods whose UID was used before: the previous worker has finished."""
        started: set[str] = set()
        for pod in idle:
            if self.views.is_active(pod):
                mirror = self.views.manager.mirror_of(pod)
                self.workers.update_pod(UpdatePodOptions(update_type="create", pod=pod, mirror_pod=mirror))
                started.add(pod.metadata.uid)
                self.restarted[is_static_pod(pod)] += 1
        return started

    def _end_rejected(self, idle: list[Pod], running: Mapping[str, RuntimePod]) -> set[str]:
        """Start a termination for deleted pods that ended without a worker, such as rejected ones."""
        ended: set[str] = set()
        for pod in idle:
            uid = pod.metadata.uid
            if pod.metadata.deletion_timestamp is None or pod.status.phase not in TERMINAL_PHASES:
                continue
            if uid not in running:
                self.workers.update_pod(UpdatePodOptions(update_type="kill", pod=pod))
                ended.add(uid)
        return ended

    def _end_orphans(self, orphans: list[RuntimePod]) -> set[str]:
        """Kill pods that only the runtime knows, newest first."""
        for running in sorted(orphans, key=lambda pod: -pod.created_at):
            options = UpdatePodOptions(
                update_type="kill", running_pod=running, kill=KillPodOptions(grace_period_override=1)
            )
            self.workers.update_pod(options)
            self.orphans += 1
        return {running.uid for running in orphans}

    def _record_cleanup(self, acted_on: set[str]) -> None:
        """Record a clean-up in the trace, unless it found nothing."""
        if self.context.recorder.on:
            self.context.recorder.record(
                Handler(node=self.context.settings.node_name, name="HandlePodCleanups", pods=tuple(sorted(acted_on)))
            )


@part
class ContainerGC:
    """Garbage collection once a minute: removes dead containers beyond the limit, and sandboxes without containers."""

    context: KubeletContext
    views: PodViews
    runtime: RuntimeManager

    async def run(self) -> None:
        await act_every(self.context.clock, "container gc", self.context.settings.container_gc_period, self.collect)

    async def delete_all_unused_containers(self) -> None:
        """Under disk pressure: also remove dead containers of terminated pods that still exist."""
        await self.collect(evict_non_deleted_pods=True)

    async def collect(self, *, evict_non_deleted_pods: bool = False) -> bool:
        """Run one round. Returns whether there was anything to collect; runtime errors are left to the next round."""
        actuated = self.runtime.actuated
        for uid in actuated.uids():
            if self.views.states.should_pod_content_be_removed(uid):
                actuated.forget(uid)
        found = False
        for evict in (self._evict_containers, self._evict_sandboxes):
            try:
                found = await evict(evict_non_deleted_pods) or found
            except RuntimeCallError:
                found = True
        if self.views.sources.all_ready:
            self._remove_logs(self.runtime.logs.pods())
        return found

    async def _evict_containers(self, evict_non_deleted_pods: bool) -> bool:
        containers = await self.runtime.runtime.list_containers()
        evictions = evict_containers(
            containers,
            GCPolicy(max_per_pod_container=self.context.settings.containers_to_keep),
            self.views.states,
            now=self.context.clock.wall(),
            all_sources_ready=self.views.sources.all_ready,
            evict_non_deleted_pods=evict_non_deleted_pods,
        )
        by_id = {info.id: info for info in containers}
        for eviction in evictions:
            with suppress(RuntimeCallError):
                if eviction.kill_first:
                    await self.runtime.kill_unknown_container(by_id[eviction.id])
                await self.runtime.remove_container(eviction.id)
        return bool(evictions)

    async def _evict_sandboxes(self, evict_non_deleted_pods: bool) -> bool:
        runtime = self.runtime.runtime
        containers = await runtime.list_containers()
        sandboxes = await runtime.list_pod_sandboxes()
        evicted = evict_sandboxes(
            sandboxes, containers, self.views.states, evict_non_deleted_pods=evict_non_deleted_pods
        )
        for sandbox_id in evicted:
            with suppress(RuntimeCallError):
                await runtime.stop_pod_sandbox(sandbox_id)
                await runtime.remove_pod_sandbox(sandbox_id)
        return bool(evicted)

    def _remove_logs(self, uids: Iterable[str]) -> None:
        for uid in uids:
            if self.views.states.should_pod_content_be_removed(uid):
                self.runtime.logs.remove_pod(uid)
