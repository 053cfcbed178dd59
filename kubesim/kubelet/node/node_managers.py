"""The managers that act on the whole node: eviction, garbage collection of images and logs, graceful shutdown, node
status.

The kubelet creates them if the node provides stats (`NodeParts`), which they require.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kubesim.api.pod import Pod
from kubesim.cluster.api_client import ApiClient
from kubesim.kubelet.containers.log_rotation import ContainerLogManager, LogFiles
from kubesim.kubelet.context import KubeletContext, PodViews
from kubesim.kubelet.eviction.manager import EvictionManager, NodeEventRecorder
from kubesim.kubelet.eviction.stats import StatsProvider
from kubesim.kubelet.images.image_gc import ImageGC
from kubesim.kubelet.loop.housekeeping import ContainerGC
from kubesim.kubelet.loop.runtime_state import RuntimeState
from kubesim.kubelet.node.node_conditions import NodeHealth, NodeStatusUpdater
from kubesim.kubelet.node.node_shutdown import NodeShutdown
from kubesim.podworkers.syncer import SyncContext
from kubesim.podworkers.workers import PodWorkers
from kubesim.runtime.helper import MemoryUsage
from kubesim.runtime.protocol import Runtime
from kubesim.values import part, value_object

if TYPE_CHECKING:
    from kubesim.kubelet.cm.devicemanager.manager import DeviceManager

Begin = Callable[[str, int, Callable[[], Coroutine[Any, Any, None]]], None]


class VolumesOnNode(Protocol):
    async def wait_for_unmount(self, context: SyncContext, pod: Pod) -> None: ...
    def volumes_in_use(self) -> tuple[str, ...]: ...


@value_object
class NodeParts:
    """The additional dependencies of the node managers."""

    stats: StatsProvider
    events: NodeEventRecorder
    logs: LogFiles


@part
class _Reclaim:
    """Reclaims images and containers; implements `NodeReclaim`."""

    container_gc: ContainerGC
    image_gc: ImageGC

    async def delete_all_unused_containers(self) -> None:
        await self.container_gc.delete_all_unused_containers()

    async def delete_unused_images(self) -> None:
        await self.image_gc.delete_unused_images()


class NodeManagers:
    def __init__(
        self,
        context: KubeletContext,
        views: PodViews,
        parts: NodeParts,
        client: ApiClient,
        runtime: Runtime,
        runtime_state: RuntimeState,
        workers: PodWorkers,
        container_gc: ContainerGC,
        volumes: VolumesOnNode,
        allocated_pods: Callable[[], Sequence[Pod]],
    ) -> None:
        clock, settings, gates = context.clock, context.settings, context.gates
        stats, events = parts.stats, parts.events
        self._context = context
        self._volumes = volumes
        self._runtime_state = runtime_state
        self._stats = stats
        self.devices: DeviceManager | None = None  # set if the node has device plugins
        self.image_gc = ImageGC(clock, runtime, settings.image_gc, stats, events)
        self.logs = ContainerLogManager(clock, runtime, parts.logs, settings.log_rotation)
        self.eviction = EvictionManager(
            clock,
            settings.eviction,
            stats,
            workers.kill_pod_now,
            _Reclaim(container_gc, self.image_gc),
            events,
            allocated_pods,
            views.states.should_pod_be_finished,
            gates,
        )
        self.shutdown = NodeShutdown(
            clock,
            context.tasks,
            settings.shutdown_periods,
            workers.kill_pod_now,
            volumes.wait_for_unmount,
            events,
            views.active_pods,
            self._update_status_at_once,
            gates,
        )
        self.node_status = NodeStatusUpdater(
            clock,
            context.recorder,
            client,
            settings.node_name,
            self._health,
            self._is_changing,
            events.node_event,
            context.randomness.stream("node status"),
            period=settings.node_status_period,
            jitter=settings.jitter,
        )

    def start(self, begin: Begin) -> None:
        settings = self._context.settings
        begin("eviction", settings.eviction_starts, self.eviction.run)
        begin("image gc", settings.image_gc_starts, self.image_gc.run)
        begin("log rotation", settings.log_rotation_starts, self.logs.run)
        begin("node status", settings.node_status_starts, self.node_status.run)

    def memory_usage(self, uid: str) -> MemoryUsage | None:
        usage = self._stats.pod_usage(uid)
        if usage is None:
            return None
        return MemoryUsage(usage.memory, {item.name: item.memory for item in usage.containers})

    def _health(self) -> NodeHealth:
        state = self._runtime_state
        problems = (state.runtime_problem(self._context.clock.now()), state.network_problem(), self.shutdown.problem())
        devices, gates = None if self.devices is None else self.devices.get_capacity(), self._context.gates
        return NodeHealth(self.eviction.node_conditions, problems, self._volumes.volumes_in_use(), devices, gates)

    def _is_changing(self) -> bool:
        return self._runtime_state.is_failing() or (self.devices is not None and self.devices.is_changing())

    def _update_status_at_once(self) -> None:
        self._context.tasks.start("node status now", self.node_status.update())
