"""Makes the container manager of a kubelet, with those managers that its configuration asks for.

Mirrors: pkg/kubelet/cm/container_manager_linux.go NewContainerManager
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubesim.api.pod import Pod
from kubesim.kubelet.cm.container_manager import ContainerManager
from kubesim.runtime.disk import KubeletDisk
from kubesim.runtime.protocol import Runtime
from kubesim.trace.records import Note

if TYPE_CHECKING:
    from kubesim.kubelet.context import KubeletContext, PodViews

CPU_MANAGER_STATE = "cpu_manager_state"
MEMORY_MANAGER_STATE = "memory_manager_state"


def new_container_manager(
    context: KubeletContext, views: PodViews, runtime: Runtime, disk: KubeletDisk
) -> ContainerManager:
    """Raises MachineError if the kubelet would not start."""
    settings, gates = context.settings.resource_managers, context.gates
    manager = ContainerManager(settings, gates)
    if disk.state_files:
        _check_policies(context, disk)
    if settings.cpu_policy == "none" and settings.memory_policy == "None":
        return manager
    from kubesim.kubelet.cm.active_pods import ActivePods

    def tell(pod: Pod | None, container: str, text: str) -> None:
        if not context.recorder.on:
            return
        note = Note(node=context.settings.node_name, container=container, text=text)
        if pod is not None:
            note.pod, note.uid = f"{pod.metadata.namespace}/{pod.metadata.name}", pod.metadata.uid
        context.recorder.record(note)

    active = ActivePods(views.active_pods, lambda: views.sources.all_ready)
    affinity = manager.topology.affinity
    if settings.cpu_policy != "none":
        from kubesim.kubelet.cm.cpumanager import manager as cpus
        from kubesim.kubelet.cm.cpumanager.state import CpuState

        state = disk.state_files.setdefault(CPU_MANAGER_STATE, CpuState())
        policy = cpus.new_policy(settings, state, affinity, gates)
        manager.cpu = cpus.CpuManager(policy, active, runtime, views.statuses.get_pod_status, tell)
    if settings.memory_policy != "None":
        from kubesim.kubelet.cm.memorymanager import manager as memory
        from kubesim.kubelet.cm.memorymanager.state import MemoryState

        stored = disk.state_files.setdefault(MEMORY_MANAGER_STATE, MemoryState())
        manager.memory = memory.MemoryManager(memory.new_policy(settings, stored, affinity, gates), active, tell)
    return manager


def _check_policies(context: KubeletContext, disk: KubeletDisk) -> None:
    """Raises MachineError if an earlier kubelet had other policies: its state must be deleted first."""
    from kubesim.kubelet.cm.cpumanager import state as cpus
    from kubesim.kubelet.cm.memorymanager import state as memory

    settings = context.settings.resource_managers
    if CPU_MANAGER_STATE in disk.state_files:
        cpus.restore(disk.state_files[CPU_MANAGER_STATE], settings.cpu_policy)
    if MEMORY_MANAGER_STATE in disk.state_files:
        memory.restore(disk.state_files[MEMORY_MANAGER_STATE], settings.memory_policy)
