"""The container manager: assigns exclusive CPUs, NUMA memory, devices and claims to containers.

It composes the managers of CPUs, memory, devices and resource claims. The topology manager admits a pod when each of
them has allocated. Containers are created with these allocations. Without these managers the container manager does
nothing.

Mirrors: pkg/kubelet/cm/container_manager_linux.go; internal_container_lifecycle_linux.go
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from kubesim.api.pod import Container, Pod, PodStatus
from kubesim.clock import LoopClock
from kubesim.concurrency import Channel
from kubesim.errors import RuntimeCallError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.cm.admission import AllocationError, pod_admit_result
from kubesim.kubelet.cm.settings import ResourceManagerSettings
from kubesim.kubelet.cm.topologymanager.hints import HintProvider
from kubesim.runtime.allocation.cpuset import format_cpus
from kubesim.runtime.helper import RunContainerOptions
from kubesim.runtime.protocol import ContainerConfig, Runtime
from kubesim.runtime.types import NO_RESOURCES
from kubesim.values import replace

if TYPE_CHECKING:
    from kubesim.kubelet.cm.cpumanager.manager import CpuManager
    from kubesim.kubelet.cm.devicemanager.manager import DeviceManager
    from kubesim.kubelet.cm.devicemanager.plugin import PluginsOnNode
    from kubesim.kubelet.cm.dra.manager import DraManager
    from kubesim.kubelet.cm.dra.plugin import DraDriversOnNode
    from kubesim.kubelet.cm.memorymanager.manager import MemoryManager
    from kubesim.kubelet.cm.topologymanager.manager import TopologyManager

ADMITTED = ("", "")
NO_OPTIONS = RunContainerOptions()

Begin = Callable[[str, int, Callable[[], Coroutine[Any, Any, None]]], None]


class ContainerManager:
    """The container manager of one kubelet process; its state is on the kubelet's disk. An unused manager is None."""

    def __init__(self, settings: ResourceManagerSettings | None = None, gates: FeatureGates = DEFAULT_GATES) -> None:
        self.settings = settings or ResourceManagerSettings()
        self.gates = gates
        self.devices: DeviceManager | None = None
        self.plugins: PluginsOnNode | None = None  # for the device manager
        self.updates: Channel[Sequence[str]] | None = None  # UIDs of pods with a change of device health
        self.dra: DraManager | None = None
        self.drivers: DraDriversOnNode | None = None  # for the DRA manager
        self.make_dra: Callable[[], DraManager] | None = None  # for the first claim on a node without drivers
        self.cpu: CpuManager | None = None
        self.memory: MemoryManager | None = None
        self._topology: TopologyManager | None = None

    @property
    def topology(self) -> TopologyManager:
        """Create the topology manager. Raises MachineError if the configuration does not fit the machine."""
        if self._topology is None:
            from kubesim.kubelet.cm.topologymanager.manager import new_topology_manager

            wanted = self.settings
            self._topology = new_topology_manager(
                wanted.machine.topology,
                wanted.topology_policy,
                wanted.topology_scope,
                wanted.topology_options,
                self.gates,
            )
        return self._topology

    def start(self, clock: LoopClock, begin: Begin) -> None:
        """Restore the managers' state. Raises MachineError if it is unusable: the kubelet exits."""
        if (cpu := self.cpu) is not None:
            cpu.start()
            period = self.settings.cpu_reconcile_period
            begin("cpu manager", 0, lambda: cpu.run(clock, period))
        if self.memory is not None:
            self.memory.start()
        if self.dra is not None:
            begin("dra manager", 0, self.dra.run)

    async def runtime_is_up(self, runtime: Runtime) -> None:
        """Called when the runtime first comes up. Before that, no pod is synced and no device plugin registers."""
        if self.dra is not None and self.drivers is not None:
            self.drivers.kubelet_serves(self.dra)
        if self.devices is None:
            return
        try:
            containers = await runtime.list_containers()
        except RuntimeCallError:
            containers = []
        self.devices.start((each.pod_uid, each.name) for each in containers if each.state == "running")
        if self.plugins is not None:
            self.plugins.kubelet_serves(self.devices)

    # -- admission ----------------------------------------------------------------------------------------------

    def admit(self, pod: Pod) -> tuple[str, str]:
        """Allocate the containers' resources. Reason and message of the rejection; both empty if admitted."""
        if self.devices is None and self.cpu is None and self.memory is None:
            return ADMITTED
        in_order: tuple[HintProvider | None, ...] = (self.devices, self.cpu, self.memory)
        self.topology.providers = [provider for provider in in_order if provider is not None]
        try:
            self.topology.admit(pod)
        except AllocationError as error:
            return pod_admit_result(error)
        return ADMITTED

    # -- a container --------------------------------------------------------------------------------------------

    def get_resources(self, pod: Pod, container: Container) -> RunContainerOptions:
        """The options that devices and claims add to a container; NO_OPTIONS if there are none."""
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

    def resource_health(self) -> Callable[[Pod, PodStatus], PodStatus] | None:
        """A function that adds device health to a pod's status; None if no pod has devices or the feature is off."""
        managers = [manager for manager in (self.devices, self.dra) if manager is not None]
        if not managers or not self.gates.enabled("ResourceHealthStatus"):
            return None

        def update(pod: Pod, status: PodStatus) -> PodStatus:
            for manager in managers:
                status = manager.update_allocated_resources_status(pod, status)
            return status

        return update

    def pre_create_container(self, pod: Pod, container: Container, config: ContainerConfig) -> ContainerConfig:
        """The container configuration with its CPU set and NUMA nodes."""
        if self.cpu is None and self.memory is None:
            return config
        uid, name = pod.metadata.uid, container.name
        cpus = "" if self.cpu is None else format_cpus(self.cpu.affinity(uid, name))
        nodes = "" if self.memory is None else ",".join(map(str, self.memory.numa_nodes(uid, name)))
        resources = replace(config.resources or NO_RESOURCES, cpuset_cpus=cpus, cpuset_mems=nodes)
        return replace(config, resources=resources)

    def pre_start_container(self, pod: Pod, container: Container, container_id: str) -> None:
        """Called when the container exists, before it starts."""
        if self.cpu is not None:
            self.cpu.add_container(pod, container)
        if self.memory is not None:
            self.memory.add_container(pod, container)

    def has_cpu_quota(self, pod: Pod, container: Container | None = None) -> bool:
        """Whether to set a CPU quota. Containers and pods with exclusive CPUs need none."""
        if self.cpu is None or not self.gates.enabled("DisableCPUQuotaWithExclusiveCPUs"):
            return True
        if container is None:
            return not self.cpu.pod_has_exclusive_cpus(pod)
        return not self.cpu.has_exclusive_cpus(pod, container)

    # -- resource claims ----------------------------------------------------------------------------------------

    async def prepare_dynamic_resources(self, pod: Pod) -> None:
        """Prepare the pod's claims, before its sandbox is created."""
        if not pod.spec.resource_claims and pod.status.extended_resource_claim_status is None:
            return
        if self.dra is None and self.make_dra is not None:
            self.dra = self.make_dra()
        if self.dra is not None:
            await self.dra.prepare_resources(pod)

    async def unprepare_dynamic_resources(self, pod: Pod) -> None:
        """Unprepare the pod's claims, after its containers have stopped."""
        if self.dra is not None and (pod.spec.resource_claims or pod.status.extended_resource_claim_status is not None):
            await self.dra.unprepare_resources(pod)

    def pod_might_need_to_unprepare_resources(self, uid: str) -> bool:
        return self.dra is not None and self.dra.pod_might_need_to_unprepare_resources(uid)
