"""The kubelet: all its parts, made and wired in the order of the flow.

    config -> sync loop -> handlers -> pod workers -> sync_pod -> runtime manager -> runtime
                 ^                                        |              |
                 +--- pleg, probes, ticks                 +--> status manager -> API server

Mirrors: pkg/kubelet/kubelet.go NewMainKubelet, Run
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Container, Pod
from kubesim.clock import LoopClock, Randomness
from kubesim.cluster.client import ApiClient
from kubesim.concurrency import TaskSet
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.admission.sysctls import SysctlAllowlist
from kubesim.kubelet.allocation import Admission, AllocationManager
from kubesim.kubelet.container_deletor import ContainerDeletor
from kubesim.kubelet.environment import Find, make_environment
from kubesim.kubelet.handlers import Handlers
from kubesim.kubelet.housekeeping import ContainerGC, Housekeeping
from kubesim.kubelet.http_hook import HttpHook
from kubesim.kubelet.mirror import MirrorClient
from kubesim.kubelet.node_care import NodeCare, NodeParts
from kubesim.kubelet.object_manager import CONFIG_MAP, SECRET, ObjectNotFound, ObjectUnavailable
from kubesim.kubelet.pleg import GenericPleg
from kubesim.kubelet.pod_manager import PodManager
from kubesim.kubelet.pod_status import StatusGenerator
from kubesim.kubelet.preemption import CriticalPodAdmission
from kubesim.kubelet.probes.manager import ProbeManager
from kubesim.kubelet.probes.prober import Prober
from kubesim.kubelet.reason_cache import ReasonCache
from kubesim.kubelet.runtime_state import RuntimeState
from kubesim.kubelet.settings import KubeletSettings
from kubesim.kubelet.status.manager import StatusManager
from kubesim.kubelet.sync_loop import SyncLoop
from kubesim.kubelet.sync_pod import PodSync
from kubesim.kubelet.volumes.manager import VolumeManager, VolumeParts
from kubesim.podworkers.requeue import Intervals
from kubesim.podworkers.work_queue import WorkQueue
from kubesim.podworkers.workers import PodWorkers
from kubesim.runtime.backoff import new_crash_loop_backoff
from kubesim.runtime.disk import KubeletDisk
from kubesim.runtime.helper import ContainerConfigError, EventRecorder, MemoryUsage
from kubesim.runtime.images import ImageManager
from kubesim.runtime.manager import RuntimeManager
from kubesim.runtime.network import Network
from kubesim.runtime.pod_cache import PodCache
from kubesim.runtime.protocol import Runtime
from kubesim.sources.checkpoint import PodCheckpoints
from kubesim.sources.config import ConfigStream
from kubesim.trace import Recorder


class Kubelet:
    """One life of a node agent. `start` begins its tasks, `close` ends them all; what is to outlive it is on `disk`."""

    def __init__(
        self,
        clock: LoopClock,
        randomness: Randomness,
        recorder: Recorder,
        tasks: TaskSet,
        settings: KubeletSettings,
        runtime: Runtime,
        network: Network,
        client: ApiClient,
        config: ConfigStream,
        events: EventRecorder,
        volume_parts: VolumeParts,
        *,
        list_duration: int = 0,
        admission: Admission | None = None,
        gates: FeatureGates = DEFAULT_GATES,
        disk: KubeletDisk | None = None,
        node_parts: NodeParts | None = None,
        find: Find = lambda kind, namespace, name: None,
        checkpoints: PodCheckpoints | None = None,
    ) -> None:
        self._clock, self._tasks, self.settings = clock, tasks.child(), settings
        tasks, disk = self._tasks, disk or KubeletDisk()
        self._find, self._gates = find, gates
        jitter = settings.jitter
        self.pods = PodManager(checkpoints)
        self.cache = PodCache()
        self.statuses = StatusManager(
            client,
            self.pods,
            lambda pod: self.workers.states.could_have_running_containers(pod.metadata.uid),
            clock,
            recorder,
            node=settings.node_name,
            stream=randomness.stream("status", "select"),
            gates=gates,
        )
        self.probes = ProbeManager(
            clock,
            tasks,
            recorder,
            Prober(clock, runtime, network, events),
            self.statuses.get_pod_status,
            randomness,
            jitter=jitter,
            node=settings.node_name,
            gates=gates,
        )
        images = ImageManager(runtime, events, clock, settings=settings.image_pulls, records=disk.pulls, gates=gates)
        hook = HttpHook(clock, network, events, lambda: self.runtime)
        backoff = new_crash_loop_backoff(settings.max_container_restart_period, gates)
        self.runtime = RuntimeManager(runtime, clock, recorder, events, self, images, backoff, hook.run, gates, disk)
        self.pleg = GenericPleg(
            clock,
            self.runtime,
            self.cache,
            recorder,
            period=settings.relist_period,
            threshold=settings.relist_threshold,
            list_duration=list_duration,
            gates=gates,
        )
        runtime.on_change(self.pleg.pod_changed)
        self.runtime_state = RuntimeState(clock, runtime, self.pleg.healthy, lambda: self.workers.touch_all())
        reasons = ReasonCache()
        generator = StatusGenerator(
            clock, settings, gates, self.statuses, self.probes, reasons, events, self.runtime.pod_cgroup
        )
        self.mirrors = MirrorClient(client, settings.node_name)
        self.volumes = VolumeManager(
            clock,
            recorder,
            tasks,
            settings,
            events,
            self.pods,
            lambda: self.workers.states,
            lambda: self.handlers.sources_ready,
            lambda uid: self.workers.touch(uid),
            volume_parts,
        )
        self.syncer = PodSync(
            clock,
            gates,
            self.runtime,
            self.runtime_state,
            self.statuses,
            generator,
            self.probes,
            reasons,
            self.mirrors,
            self.volumes,
            self.pleg,
            events,
            find,
        )
        self.queue = WorkQueue(clock)
        self.workers = self.syncer.workers = PodWorkers(
            clock,
            self.syncer,
            self.cache,
            self.queue,
            recorder,
            events,
            randomness,
            intervals=Intervals(settings.resync_interval, settings.backoff_period),
            jitter=jitter,
            pod_from_allocation=lambda pod: self.allocation.update_pod(pod),
            on_state=self._worker_state_changed,
        )
        self.allocation = AllocationManager(
            clock,
            tasks,
            disk.allocated,
            self.statuses.resize,
            events,
            self.pods,
            admission,
            CriticalPodAdmission(lambda: self.allocation.allocated_pods(), self.workers.kill_pod_now, events, gates),
            lambda: self.handlers.active_pods(),
            self._sync_pod_now,
            lambda: self.handlers.sources_ready,
            policies=settings.policies,
            gates=gates,
        )
        self.care: NodeCare | None = None
        if node_parts is not None:
            self.care = NodeCare(
                clock,
                randomness,
                recorder,
                tasks,
                settings,
                node_parts,
                client,
                runtime,
                self.runtime_state,
                self.workers,
                self.volumes.wait_for_unmount,
                lambda: self.handlers.active_pods(),
                self.allocation.allocated_pods,
                lambda: self.container_gc,
                gates,
            )
            self.allocation.admit_before.append(self.care.eviction.admit)
            self.allocation.admit_after.append(self.care.shutdown.admit)
        self.allocation.admit_before.append(SysctlAllowlist(settings.allowed_unsafe_sysctls).admit)
        deletor = ContainerDeletor(tasks, self.runtime, settings.containers_to_keep)
        self.handlers = Handlers(
            self.pods,
            self.workers,
            self.statuses,
            self.cache,
            deletor,
            events,
            self.allocation,
            self.volumes,
            clock,
            gates,
        )
        self.housekeeping = Housekeeping(
            clock,
            recorder,
            self.pods,
            self.workers,
            self.statuses,
            self.probes,
            self.mirrors,
            self.runtime,
            self.handlers,
            self.allocation,
            self.volumes,
        )
        self.container_gc = ContainerGC(
            clock, settings, self.workers, self.runtime, lambda: self.handlers.sources_ready
        )
        self.sync_loop = SyncLoop(
            clock,
            randomness,
            recorder,
            settings,
            config.updates,
            self.pleg.events,
            self.probes,
            self.handlers,
            self.housekeeping,
            self.pods,
            self.workers,
            self.queue,
            self.statuses,
            self.cache,
            deletor,
            self.runtime_state,
            config.mux.seen_all_sources,
        )
        self.probes.on_worker_end = self.workers.touch

    def start(self) -> None:
        """Begin everything, each part at its own moment."""
        settings = self.settings
        self._begin("runtime poll", 0, lambda: self.runtime_state.run(settings.runtime_poll_period))
        self._begin("status manager", settings.status_manager_starts, self.statuses.run)
        self._begin("container gc", settings.container_gc_starts, self.container_gc.run)
        self._begin("volume populator", settings.volume_populator_starts, self.volumes.run_populator)
        self._begin("volume reconciler", settings.volume_reconciler_starts, self.volumes.run_reconciler)
        self._begin("pleg", settings.pleg_starts, self.pleg.run)
        self._begin("sync loop", settings.sync_loop_starts, self.sync_loop.run)
        if self.care is not None:
            self.care.start(self._begin)

    def _begin(self, name: str, delay: int, part: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def later() -> None:
            await self._clock.sleep(delay)
            await part()

        self._tasks.start(name, later() if delay else part())

    async def close(self) -> None:
        """The agent's process ends: at this instant, and whatever it is doing stays as it is."""
        self.allocation.close()
        await self._tasks.kill([*self.workers.tasks(), *self.runtime.hooks_under_way()])

    def _worker_state_changed(self, uid: str) -> None:
        self.allocation.pods_changed()
        self.volumes.pod_may_be_over(uid)

    def _sync_pod_now(self, pod: Pod) -> None:
        self.handlers.handle_pod_syncs([pod])
        self.pleg.request_relist(pod.metadata.uid)

    # -- what the runtime manager asks (RuntimeHelper) ----------------------------------------------------------

    def is_pod_termination_requested(self, uid: str) -> bool:
        return self.workers.states.is_pod_termination_requested(uid)

    def request_pod_reinspect(self, uid: str) -> None:
        self.pleg.request_reinspect(uid)

    def pod_memory_usage(self, uid: str) -> MemoryUsage | None:
        return None if self.care is None else self.care.memory_usage(uid)

    def on_pod_sandbox_ready(self, pod: Pod) -> None:
        self.syncer.on_pod_sandbox_ready(pod)

    def container_environment(
        self, pod: Pod, container: Container, pod_ips: tuple[str, ...]
    ) -> tuple[tuple[str, str], ...]:
        hosts, node = self.settings.host_ips, self.settings.node_name
        return make_environment(pod, container, pod_ips, hosts, node, self._find_for_environment, self._gates)

    def _find_for_environment(self, kind: str, namespace: str, name: str) -> ApiObject | None:
        if kind not in (CONFIG_MAP, SECRET):
            return self._find(kind, namespace, name)
        try:
            return self.volumes.objects.get(kind, namespace, name)
        except ObjectNotFound:
            return None
        except ObjectUnavailable as error:
            raise ContainerConfigError(str(error)) from None
