"""The container manager: what a container gets of the node beyond cpu shares and a memory limit.

It composes the managers of CPUs, memory, devices and resource claims. A pod is admitted once the topology manager has
let each of them allocate; later a container is created with what was allocated. A node without any of these managers
has nothing to do here.

Mirrors: pkg/kubelet/cm/container_manager_linux.go; internal_container_lifecycle_linux.go
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kubesim.api.pod import Container, Pod, PodStatus
from kubesim.concurrency import Channel
from kubesim.errors import RuntimeCallError
from kubesim.features import FeatureGates
from kubesim.kubelet.cm.admission import AllocationError, pod_admit_result
from kubesim.kubelet.cm.topologymanager.hints import HintProvider
from kubesim.kubelet.context import KubeletContext, PodViews
from kubesim.runtime.disk import KubeletDisk
from kubesim.runtime.helper import RunContainerOptions
from kubesim.runtime.protocol import ContainerConfig, Runtime
from kubesim.values import part

if TYPE_CHECKING:
    from kubesim.kubelet.cm.devicemanager.manager import DeviceManager
    from kubesim.kubelet.cm.devicemanager.plugin import PluginsOnNode
    from kubesim.kubelet.cm.dra.manager import DraManager, Read
    from kubesim.kubelet.cm.dra.plugin import DraDriversOnNode

ADMITTED = ("", "")
NO_OPTIONS = RunContainerOptions()
UPDATES = 100  # not yet handled; more are dropped


@part
class ContainerManager:
    """One life of it: what must survive the kubelet is on its disk."""

    devices: DeviceManager | None = None
    dra: DraManager | None = None
    plugins: PluginsOnNode | None = None
    updates: Channel[Sequence[str]] | None = None  # UIDs of pods whose devices changed their health
    drivers: DraDriversOnNode | None = None
    make_dra: Callable[[], DraManager] | None = None  # with the first pod that has claims, if there are no drivers

    async def start(self, runtime: Runtime) -> None:
        """Once, when the runtime is up for the first time; no pod is synced before."""
        try:
            containers = await runtime.list_containers()
        except RuntimeCallError:
            containers = []
        if self.devices is not None:
            self.devices.start((each.pod_uid, each.name) for each in containers if each.state == "running")
            if self.plugins is not None:
                self.plugins.kubelet_serves(self.devices)
        if self.dra is not None and self.drivers is not None:
            self.drivers.kubelet_serves(self.dra)

    @property
    def _providers(self) -> list[HintProvider]:
        """In the order in which they allocate: devices, CPUs, memory."""
        return [provider for provider in (self.devices,) if provider is not None]

    # -- admission ----------------------------------------------------------------------------------------------

    def admit(self, pod: Pod) -> tuple[str, str]:
        """Allocate what the pod's containers need; reason and message of a refusal, empty if there is none."""
        providers = self._providers
        if not providers:
            return ADMITTED
        try:
            for container in (*pod.spec.init_containers, *pod.spec.containers):
                for provider in providers:
                    provider.allocate(pod, container)
        except AllocationError as error:
            return pod_admit_result(error)
        return ADMITTED

    # -- a container --------------------------------------------------------------------------------------------

    def get_resources(self, pod: Pod, container: Container) -> RunContainerOptions:
        """What devices and claims add to a container; NO_OPTIONS if there are none."""
        if self.dra is None and self.devices is None:
            return NO_OPTIONS
        claimed = NO_OPTIONS if self.dra is None else self.dra.get_resources(pod, container)
        plugged = None if self.devices is None else self.devices.device_run_container_options(pod, container)
        if plugged is None:
            return claimed
        return RunContainerOptions(
            env=plugged.env,
            mounts=plugged.mounts,
            devices=plugged.devices,
            cdi_devices=claimed.cdi_devices + plugged.cdi_devices,
            annotations=plugged.annotations,
        )

    def resource_health(self, gates: FeatureGates) -> Callable[[Pod, PodStatus], PodStatus] | None:
        """Adds the health of its devices to the status of a pod; None if no pod has any, or nobody is to know."""
        managers = [manager for manager in (self.devices, self.dra) if manager is not None]
        if not managers or not gates.enabled("ResourceHealthStatus"):
            return None

        def update(pod: Pod, status: PodStatus) -> PodStatus:
            for manager in managers:
                status = manager.update_allocated_resources_status(pod, status)
            return status

        return update

    def pre_create_container(self, pod: Pod, container: Container, config: ContainerConfig) -> ContainerConfig:
        """The configuration with the CPUs and NUMA nodes that the container may use."""
        return config

    def pre_start_container(self, pod: Pod, container: Container, container_id: str) -> None:
        """The container exists now, and is about to run."""

    # -- resource claims ----------------------------------------------------------------------------------------

    async def prepare_dynamic_resources(self, pod: Pod) -> None:
        """Before the sandbox is created."""
        if not pod.spec.resource_claims and pod.status.extended_resource_claim_status is None:
            return
        if self.dra is None and self.make_dra is not None:
            self.dra = self.make_dra()
        if self.dra is not None:
            await self.dra.prepare_resources(pod)

    async def unprepare_dynamic_resources(self, pod: Pod) -> None:
        """After the containers have stopped."""
        if self.dra is not None and (pod.spec.resource_claims or pod.status.extended_resource_claim_status is not None):
            await self.dra.unprepare_resources(pod)

    def pod_might_need_to_unprepare_resources(self, uid: str) -> bool:
        return self.dra is not None and self.dra.pod_might_need_to_unprepare_resources(uid)


def new_container_manager(
    context: KubeletContext,
    views: PodViews,
    disk: KubeletDisk,
    plugins: PluginsOnNode | None,
    drivers: DraDriversOnNode | None,
    read: Read,
) -> ContainerManager:
    """With a device manager if the node has device plugins, and a DRA manager if it has drivers or had claims."""
    updates: Channel[Sequence[str]] = Channel("resource updates", UPDATES)

    def make_dra() -> DraManager:
        from kubesim.kubelet.cm.dra.manager import DraManager  # most pods have no claims

        ready = lambda: views.sources.all_ready  # noqa: E731
        return DraManager(
            context.clock, disk.checkpoints, read, views.active_pods, ready, context.gates, updates.try_send
        )

    manager = ContainerManager()
    if context.gates.enabled("DynamicResourceAllocation"):
        manager.make_dra = make_dra
        if drivers is not None or disk.checkpoints.get("dra_manager_state"):
            manager.dra, manager.drivers, manager.updates = make_dra(), drivers, updates
    if plugins is None:
        return manager
    from kubesim.kubelet.cm.devicemanager.manager import DeviceManager  # most nodes have no devices

    manager.devices = DeviceManager(
        context.clock.now,
        disk.checkpoints,
        views.active_pods,
        views.sources,
        gates=context.gates,
        on_update=updates.try_send,
    )
    manager.plugins, manager.updates = plugins, updates
    return manager
