"""The kubelet: creates its components and connects them.

    config -> sync loop -> handlers -> pod workers -> sync_pod -> runtime manager -> runtime
                 ^                                        |              |
                 +--- pleg, probes, ticks                 +--> status manager -> API server

Mirrors: pkg/kubelet/kubelet.go NewMainKubelet, Run
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Container, Pod
from kubesim.cluster.api_client import ApiClient
from kubesim.kubelet.admission.apparmor import AppArmorAdmission
from kubesim.kubelet.admission.pod_features import PodFeaturesAdmission
from kubesim.kubelet.admission.preemption import CriticalPodAdmission
from kubesim.kubelet.admission.sysctls import SysctlAllowlist
from kubesim.kubelet.cm.compose import new_container_manager
from kubesim.kubelet.cm.container_manager import NO_OPTIONS
from kubesim.kubelet.containers.container_deletor import ContainerDeletor
from kubesim.kubelet.containers.environment import EnvironmentSources, Find, make_environment
from kubesim.kubelet.containers.http_hook import HttpHook
from kubesim.kubelet.containers.reason_cache import ReasonCache
from kubesim.kubelet.containers.runtime_class import lookup_runtime_handler
from kubesim.kubelet.containers.service_variables import ServiceLister
from kubesim.kubelet.context import KubeletContext, PodSources, PodViews
from kubesim.kubelet.loop.handlers import Handlers
from kubesim.kubelet.loop.housekeeping import ContainerGC, Housekeeping
from kubesim.kubelet.loop.mirror import MirrorClient
from kubesim.kubelet.loop.pod_manager import PodManager
from kubesim.kubelet.loop.runtime_state import RuntimeState
from kubesim.kubelet.loop.sync_loop import SyncLoop
from kubesim.kubelet.loop.sync_pod import PodSync
from kubesim.kubelet.node.node_managers import NodeManagers, NodeParts
from kubesim.kubelet.pleg.generic import GenericPleg
from kubesim.kubelet.probes.known_answers import KnownAnswer, KnownProber
from kubesim.kubelet.probes.manager import ProbeManager
from kubesim.kubelet.probes.prober import ProbeListener, Prober
from kubesim.kubelet.resize.allocation_manager import Admission, AllocationManager
from kubesim.kubelet.sandbox.pod_sandbox import SandboxHelper
from kubesim.kubelet.status.manager import StatusManager
from kubesim.kubelet.status.pod_status import StatusGenerator
from kubesim.kubelet.volumes.manager import VolumeManager, VolumeParts
from kubesim.kubelet.volumes.object_manager import CONFIG_MAP, SECRET, ObjectNotFound, ObjectUnavailable
from kubesim.podworkers.requeue import Delays, Intervals
from kubesim.podworkers.resyncs import Resyncs
from kubesim.podworkers.state import PodSyncStatuses
from kubesim.podworkers.workers import PodWorkers
from kubesim.runtime.allocation.swap import NodeSwap
from kubesim.runtime.disk import KubeletDisk
from kubesim.runtime.helper import (
    ContainerConfigError,
    InternalContainerLifecycle,
    MemoryUsage,
    PodDNS,
    RunContainerOptions,
)
from kubesim.runtime.images.image_manager import ImageManager
from kubesim.runtime.kuberuntime.act.manager import RuntimeManager
from kubesim.runtime.kuberuntime.decide.backoff import new_crash_loop_backoff
from kubesim.runtime.network.node_network import NodeNetwork
from kubesim.runtime.pod_cache import PodCache
from kubesim.runtime.protocol import Runtime, UserNamespace
from kubesim.sources.checkpoint import PodCheckpoints
from kubesim.sources.config import ConfigStream
from kubesim.values import part, replace

if TYPE_CHECKING:
    from kubesim.kubelet.cm.devicemanager.plugin import PluginsOnNode
    from kubesim.kubelet.cm.dra.plugin import DraDriversOnNode
    from kubesim.kubelet.pleg.evented import EventedPleg


@part
class Dependencies:
    """The services and objects that a kubelet uses. They outlive its process."""

    runtime: Runtime
    network: NodeNetwork
    client: ApiClient
    config: ConfigStream
    volumes: VolumeParts
    disk: KubeletDisk = field(default_factory=KubeletDisk)
    admission: Admission | None = None
    node: NodeParts | None = None
    find: Find = field(default=lambda kind, namespace, name: None)
    checkpoints: PodCheckpoints | None = None
    known_answers: KnownAnswer | None = None
    device_plugins: PluginsOnNode | None = None
    dra_drivers: DraDriversOnNode | None = None
    services: ServiceLister | None = None  # None: a kubelet without an API server
    probed: ProbeListener | None = None


class Kubelet:
    """One kubelet process: `start` starts its tasks, `close` cancels them."""

    def __init__(self, context: KubeletContext, dependencies: Dependencies) -> None:
        self.context = context = replace(context, tasks=context.tasks.child())
        self.settings = context.settings
        self._dependencies = dependencies
        self.views = views = self._make_views()
        self.container_manager = new_container_manager(
            context,
            views,
            dependencies.runtime,
            dependencies.disk,
            dependencies.device_plugins,
            dependencies.dra_drivers,
            dependencies.volumes.read,
        )
        self._make_runtime_side()
        self._make_syncer()
        rules, settings = context.gates.rules, self.settings
        workers = PodWorkers if rules.pod_worker_states else self._single_sync_workers()
        self.workers = workers(
            context.clock,
            self.syncer,
            views.cache,
            views.states,
            views.resyncs,
            context.recorder,
            context.events,
            Delays(
                context.randomness,
                Intervals(settings.resync_interval, settings.backoff_period, rules.retries_network_soon),
                jitter=settings.jitter,
            ),
            on_state=self._worker_state_changed,
        )
        self._make_admission()
        self._make_loop()

    def _make_views(self) -> PodViews:
        """The views of pods that several components share."""
        context, dependencies = self.context, self._dependencies
        manager = PodManager(dependencies.checkpoints)
        states = self._make_states()
        statuses = StatusManager(
            dependencies.client,
            manager,
            self._could_have_running_containers,
            context.clock,
            context.recorder,
            node=self.settings.node_name,
            stream=context.randomness.stream("status", "select"),
            gates=context.gates,
        )
        cache = PodCache(only_newer=context.gates.enabled("EventedPLEG"))
        sources = PodSources(dependencies.config.mux.seen_all_sources)
        views = manager, states, cache, statuses, Resyncs(context.clock), sources
        return PodViews(*views, rejected_status=context.gates.rules.rejected_status)

    def _make_states(self) -> PodSyncStatuses:
        rules = self.context.gates.rules
        if rules.pod_worker_states:
            return PodSyncStatuses(self._with_allocation, rules)
        from kubesim.podworkers.undelivered import PodKnowledge, UndeliveredUpdates

        knowledge = PodKnowledge(
            lambda uid: self.views.manager.by_uid(uid),
            lambda uid: self.views.statuses.get_pod_status(uid),
            lambda uid: self.views.cache.known(uid),
            self._terminate_pod,
        )
        return UndeliveredUpdates(knowledge, removes_records=rules.removal_waits_for_records)

    def _terminate_pod(self, pod: Pod) -> None:
        self.views.statuses.terminate_pod(pod)
        self._worker_state_changed(pod.metadata.uid)

    def _single_sync_workers(self) -> Callable[..., PodWorkers]:
        from kubesim.podworkers.single_sync import SingleSyncWorkers

        return partial(SingleSyncWorkers, emits_sync_errors=self.context.gates.rules.emits_sync_errors)

    def _make_runtime_side(self) -> None:
        """Create the probe manager, the runtime manager, the PLEG and their health checks."""
        context, dependencies, settings = self.context, self._dependencies, self.settings
        clock, events, gates, runtime = context.clock, context.events, context.gates, dependencies.runtime
        prober = Prober(clock, runtime, dependencies.network, events, gates, dependencies.probed)
        if dependencies.known_answers is not None:
            prober = KnownProber(clock, runtime, dependencies.network, events, dependencies.known_answers)
        self.probes = ProbeManager(
            clock,
            context.tasks,
            context.recorder,
            prober,
            self.views.statuses.get_pod_status,
            context.randomness,
            jitter=settings.jitter,
            node=settings.node_name,
            gates=gates,
            on_worker_end=self.views.resyncs.touch,
        )
        disk = dependencies.disk
        images = ImageManager(runtime, events, clock, settings=settings.image_pulls, records=disk.pulls, gates=gates)
        hook = HttpHook(clock, dependencies.network, events, lambda: self.runtime, gates.rules)
        backoff = new_crash_loop_backoff(settings.max_container_restart_period, gates)
        self.runtime = RuntimeManager(
            runtime, clock, context.recorder, events, self, images, backoff, hook.run, gates, disk
        )
        healthy = self._make_pleg(runtime)
        self.runtime_state = RuntimeState(clock, runtime, healthy, self.views.resyncs.mark_all_changed, gates.rules)
        if self.container_manager.devices is not None or self.container_manager.dra is not None:
            self.runtime_state.initialize = lambda: self.container_manager.runtime_is_up(runtime)
        node = dependencies.node
        self.sandbox = SandboxHelper(
            context,
            disk.user_namespaces,
            dependencies.volumes.directories.read_file,
            _no_node_event if node is None else node.events.node_event,
            lambda: self.runtime_state.handlers,
            dependencies.find,
        )

    def _make_pleg(self, runtime: Runtime) -> Callable[[int], tuple[bool, str]]:
        """Create the PLEG and return its health check. With the gate EventedPLEG the generic PLEG relists rarely."""
        context, settings, cache = self.context, self.settings, self.views.cache
        durations = (settings.relist_period, settings.relist_threshold)
        self.evented_pleg: EventedPleg | None = None
        is_evented = context.gates.enabled("EventedPLEG")
        if is_evented:
            from kubesim.kubelet.pleg import evented

            alone, durations = durations, (evented.RELIST_PERIOD, evented.RELIST_THRESHOLD)
        self.pleg = GenericPleg(
            context.clock,
            self.runtime,
            cache,
            context.recorder,
            period=durations[0],
            threshold=durations[1],
            list_duration=settings.list_duration,
            gates=context.gates,
        )
        self.pleg.on_dropped = self.views.resyncs.touch
        runtime.on_change(self.pleg.pod_changed)
        if not is_evented:
            return self.pleg.healthy
        self.evented_pleg = evented.EventedPleg(
            context.clock,
            runtime.get_container_events,
            self.runtime.generate_pod_status,
            cache,
            self.pleg,
            context.recorder,
            alone,
        )
        return self.evented_pleg.healthy

    def _make_syncer(self) -> None:
        """Create the pod syncer and the components it calls."""
        context, views, dependencies = self.context, self.views, self._dependencies
        health = self.container_manager.resource_health()
        generator = StatusGenerator(
            context, views.statuses, self.probes, ReasonCache(), self.runtime.pod_cgroup, health
        )
        self.mirrors = MirrorClient(dependencies.client, self.settings.node_name)
        self.volumes = VolumeManager(context, views, dependencies.volumes)
        syncer = PodSync if context.gates.rules.pod_worker_states else self._single_pod_sync()
        self.syncer = syncer(
            context,
            views,
            self.runtime,
            self.runtime_state,
            generator,
            self.container_manager,
            self.mirrors,
            self.volumes,
            self.pleg,
            dependencies.find,
            dependencies.disk.directories,
            self.sandbox.userns,
            AppArmorAdmission(enabled=self.settings.app_armor_enabled),
        )
        self._environment = EnvironmentSources(
            self.settings.node_name,
            self.settings.host_ips,
            self._find_for_environment,
            dependencies.services,
            self.volumes.find_file,
            context.gates,
        )

    def _single_pod_sync(self) -> type[PodSync]:
        """Without a last sync, the status manager checks which resources a pod still holds."""
        from kubesim.kubelet.loop.single_sync_pod import PodResources, SinglePodSync

        counts_records = self.context.gates.rules.removal_waits_for_records
        resources = PodResources(self.views, self.volumes, self.runtime, counts_records)
        self.views.statuses.may_be_removed = resources.may_be_removed
        return SinglePodSync

    def _make_admission(self) -> None:
        """Create the admission handlers and the eviction and preemption managers."""
        context, views, dependencies = self.context, self.views, self._dependencies
        self.container_gc = ContainerGC(context, views, self.runtime)
        kill_pod, gates = self.workers.kill_pod_now, context.gates
        manager: Callable[..., AllocationManager] = AllocationManager
        if gates.rules.decides_resizes_at_sync and gates.enabled("InPlacePodVerticalScaling"):
            from kubesim.kubelet.resize.sync_resize import allocation_at_sync

            manager = partial(allocation_at_sync, self.syncer)
        self.allocation = manager(
            context,
            views,
            dependencies.disk.allocated,
            dependencies.admission,
            CriticalPodAdmission(self._allocated_pods, kill_pod, context.events, gates),
            self._sync_pod_now,
        )
        self.node_managers: NodeManagers | None = None
        if dependencies.node is not None:
            self.node_managers = NodeManagers(
                context,
                views,
                dependencies.node,
                dependencies.client,
                dependencies.runtime,
                self.runtime_state,
                self.workers,
                self.container_gc,
                self.volumes,
                self._allocated_pods,
            )
            self.allocation.admit_before.append(self.node_managers.eviction.admit)
            self.allocation.admit_after.append(self.node_managers.shutdown.admit)
        features = PodFeaturesAdmission(gates)
        hard = [self.syncer.app_armor.admit] if gates.rules.app_armor_rejects_pod else []
        self.allocation.admit_after[:0] = [*hard, features.admit]
        self.allocation.admit_before.append(SysctlAllowlist(self.settings.allowed_unsafe_sysctls).admit)
        self.allocation.admit_before.append(self.container_manager.admit)
        if (devices := self.container_manager.devices) is not None:
            if self.node_managers is not None:
                self.node_managers.devices = devices
            if dependencies.admission is not None:
                dependencies.admission.update_plugin_resources = devices.node_allocatable

    def _make_loop(self) -> None:
        """Create the sync loop and its handlers."""
        context, views, workers = self.context, self.views, self.workers
        deletor = ContainerDeletor(context.tasks, self.runtime, self.settings.containers_to_keep)
        self.handlers = Handlers(context, views, workers, deletor, self.allocation, self.volumes)
        self.housekeeping = Housekeeping(
            context,
            views,
            workers,
            self.probes,
            self.mirrors,
            self.runtime,
            self.allocation,
            self.volumes,
            self.sandbox.userns,
        )
        self.sync_loop = SyncLoop(
            context,
            self._dependencies.config,
            views,
            workers,
            self.probes,
            self.handlers,
            self.housekeeping,
            self.pleg,
            self.runtime_state,
            self.container_manager.updates,
        )

    def start(self) -> None:
        """Start every component at its own phase."""
        settings = self.settings
        self.container_manager.start(self.context.clock, self._begin)
        self._begin("runtime poll", 0, lambda: self.runtime_state.run(settings.runtime_poll_period))
        self._begin("status manager", settings.status_manager_starts, self.views.statuses.run)
        self._begin("container gc", settings.container_gc_starts, self.container_gc.run)
        self._begin("volume populator", settings.volume_populator_starts, self.volumes.run_populator)
        self._begin("volume reconciler", settings.volume_reconciler_starts, self.volumes.run_reconciler)
        self._begin("pleg", settings.pleg_starts, self.pleg.run)
        if self.evented_pleg is not None:
            self._begin("container events", settings.sync_loop_starts, self.evented_pleg.watch)
            self._begin("evented pleg", settings.sync_loop_starts, self.evented_pleg.process)
        self._begin("sync loop", settings.sync_loop_starts, self._run_sync_loop)
        self._begin("allocation manager", 0, self.allocation.run)
        if not self.context.gates.rules.readiness_through_loop:
            self._begin("readiness", 0, self.sync_loop.run_readiness)
        if self.node_managers is not None:
            self.node_managers.start(self._begin)

    def _begin(self, name: str, delay: int, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def later() -> None:
            await self.context.clock.sleep(delay)
            await run()

        self.context.tasks.start(name, later() if delay else run())

    async def _run_sync_loop(self) -> None:
        self.sandbox.check_limits_for_resolv_conf()
        await self.sync_loop.run()

    async def close(self) -> None:
        """Cancel all tasks at once, as when the kubelet process is killed."""
        await self.context.tasks.kill([*self.workers.tasks(), *self.runtime.hooks_under_way()])

    def _could_have_running_containers(self, pod: Pod) -> bool:
        """Older kubelets report a final phase even while containers run."""
        uid = pod.metadata.uid
        return self.context.gates.rules.pod_worker_states and (
            self.views.states.could_have_running_containers(uid)
            or self.container_manager.pod_might_need_to_unprepare_resources(uid)
        )

    def _worker_state_changed(self, uid: str) -> None:
        self.allocation.pods_changed()
        self.volumes.pod_may_be_over(uid)

    def _with_allocation(self, pod: Pod) -> Pod:
        return self.allocation.update_pod(pod)

    def _allocated_pods(self) -> list[Pod]:
        return self.allocation.allocated_pods()

    def _sync_pod_now(self, pod: Pod) -> None:
        self.handlers.handle_pod_syncs([pod])
        self.pleg.request_relist(pod.metadata.uid)

    # -- RuntimeHelper: callbacks of the runtime manager --------------------------------------------------------

    @property
    def internal_lifecycle(self) -> InternalContainerLifecycle:
        return self.container_manager

    async def prepare_dynamic_resources(self, pod: Pod) -> None:
        await self.container_manager.prepare_dynamic_resources(pod)

    def is_pod_termination_requested(self, uid: str) -> bool:
        return self.views.states.is_pod_termination_requested(uid)

    @property
    def swap(self) -> NodeSwap | None:
        return self.settings.swap

    def lookup_runtime_handler(self, pod: Pod) -> str:
        return lookup_runtime_handler(pod, self._dependencies.find, self.context.gates)

    def request_pod_reinspect(self, uid: str) -> None:
        if self.syncer.resize is None:  # otherwise the sync that resizes the pod inspects it
            self.pleg.request_reinspect(uid)

    def pod_memory_usage(self, uid: str) -> MemoryUsage | None:
        return None if self.node_managers is None else self.node_managers.memory_usage(uid)

    def on_pod_sandbox_ready(self, pod: Pod) -> None:
        self.syncer.on_pod_sandbox_ready(pod)

    def generate_run_container_options(
        self, pod: Pod, container: Container, pod_ips: tuple[str, ...]
    ) -> RunContainerOptions:
        resources = self.container_manager.get_resources(pod, container)
        names = self.sandbox.generate_pod_host_name_and_domain(pod)
        self.volumes.check_block_volumes(pod, container)
        env = resources.env + make_environment(pod, container, pod_ips, self._environment)
        mounts = resources.mounts + self.volumes.make_mounts(pod, container, env)
        hosts_file = self.sandbox.hosts_file(pod, container, pod_ips, names)
        if resources is NO_OPTIONS:
            return RunContainerOptions(env, mounts, hosts_file=hosts_file)
        return replace(resources, env=env, mounts=mounts, hosts_file=hosts_file)

    def get_pod_dns(self, pod: Pod) -> PodDNS:
        return self.sandbox.get_pod_dns(pod)

    def generate_pod_host_name_and_domain(self, pod: Pod) -> tuple[str, str]:
        return self.sandbox.generate_pod_host_name_and_domain(pod)

    def get_pod_cgroup_parent(self, pod: Pod) -> str:
        return self.sandbox.get_pod_cgroup_parent(pod)

    def get_or_create_user_namespace_mappings(self, pod: Pod) -> UserNamespace | None:
        return self.sandbox.get_or_create_user_namespace_mappings(pod)

    def _find_for_environment(self, kind: str, namespace: str, name: str) -> ApiObject | None:
        if kind not in (CONFIG_MAP, SECRET):
            return self._dependencies.find(kind, namespace, name)
        try:
            return self.volumes.objects.get(kind, namespace, name)
        except ObjectNotFound:
            return None
        except ObjectUnavailable as error:
            raise ContainerConfigError(str(error)) from None


def _no_node_event(type: str, reason: str, message: str) -> None:
    """Discards node Events of a kubelet without a node object."""
