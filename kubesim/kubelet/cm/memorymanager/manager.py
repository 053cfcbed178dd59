"""The memory manager with the static policy: allocates at admission and releases the memory of init containers.

Mirrors: pkg/kubelet/cm/memorymanager/memory_manager.go
"""

from __future__ import annotations

from kubesim.api.pod import Container, Pod
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.quantity import BINARY_SI, Quantity
from kubesim.features import FeatureGates
from kubesim.kubelet.cm.active_pods import ActivePods
from kubesim.kubelet.cm.cpumanager.manager import Report
from kubesim.kubelet.cm.cpumanager.policy_static import Affinity
from kubesim.kubelet.cm.memorymanager.policy_static import StaticMemoryPolicy, new_static_memory_policy
from kubesim.kubelet.cm.memorymanager.requests import MemoryReservation, system_reserved_memory
from kubesim.kubelet.cm.memorymanager.state import MemoryState, restore
from kubesim.kubelet.cm.memorymanager.topology_hints import pod_topology_hints, topology_hints
from kubesim.kubelet.cm.settings import ResourceManagerSettings
from kubesim.kubelet.cm.topologymanager.hints import Hints
from kubesim.kubelet.cm.topologymanager.manager import all_containers
from kubesim.values import part

STATIC = "Static"


@part
class MemoryManager:
    """The memory manager; implements `HintProvider`."""

    policy: StaticMemoryPolicy
    active: ActivePods
    report: Report

    def start(self) -> None:
        """Restore the state. Raises MachineError if it is unusable."""
        restore(self.policy.state, STATIC)
        self.policy.start()

    def topology_hints(self, pod: Pod, container: Container) -> Hints:
        self._remove_stale_state()
        return topology_hints(self.policy, pod, container)

    def pod_topology_hints(self, pod: Pod) -> Hints:
        self._remove_stale_state()
        return pod_topology_hints(self.policy, pod)

    def allocate(self, pod: Pod, container: Container) -> None:
        self._remove_stale_state()
        is_new = self.policy.state.get(pod.metadata.uid, container.name) is None
        self.policy.allocate(pod, container)
        if is_new:
            self._report_assignment(pod, container)

    def allocate_pod(self, pod: Pod) -> None:
        self._remove_stale_state()
        self.policy.allocate_pod(pod)
        for container in all_containers(pod):
            self._report_assignment(pod, container)

    def _report_assignment(self, pod: Pod, container: Container) -> None:
        for block in self.policy.state.get(pod.metadata.uid, container.name) or ():
            nodes = ",".join(map(str, block.nodes))
            size = Quantity(block.size, 0, BINARY_SI)
            text = f"{block.type} {size} comes from NUMA node {nodes}: the pod is Guaranteed"
            self.report(pod, container.name, text)

    def _remove_stale_state(self) -> None:
        for uid, name in self.active.stale(self.policy.state.assignments):
            self.policy.remove_container(uid, name)

    def numa_nodes(self, uid: str, container: str) -> list[int]:
        """The NUMA nodes of the container's memory; empty: any node."""
        return sorted({node for block in self.policy.state.get(uid, container) or () for node in block.nodes})

    def add_container(self, pod: Pod, container: Container) -> None:
        """Called before a container starts: earlier init containers have finished, except sidecars."""
        for init in pod.spec.init_containers:
            if init.name == container.name:
                break
            if not is_restartable_init_container(init):
                self.policy.remove_container(pod.metadata.uid, init.name)


def new_policy(
    settings: ResourceManagerSettings, state: MemoryState, affinity: Affinity, gates: FeatureGates
) -> StaticMemoryPolicy:
    """Create the policy. Raises MachineError if the configuration does not fit the machine."""
    reserved = [MemoryReservation(node, limits) for node, limits in settings.reserved_memory]
    sizes = system_reserved_memory(settings.machine, settings.reservation, reserved)
    return new_static_memory_policy(settings.machine, state, sizes, affinity, gates)
