"""Creates the container manager of a kubelet with the managers that its configuration enables.

Mirrors: pkg/kubelet/cm/container_manager_linux.go NewContainerManager
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubesim.api.pod import Pod
from kubesim.concurrency import Channel
from kubesim.kubelet.cm.container_manager import ContainerManager
from kubesim.runtime.disk import KubeletDisk
from kubesim.runtime.protocol import Runtime
from kubesim.trace.records import Note

if TYPE_CHECKING:
    from kubesim.kubelet.cm.devicemanager.plugin import PluginsOnNode
    from kubesim.kubelet.cm.dra.manager import DraManager, Read
    from kubesim.kubelet.cm.dra.plugin import DraDriversOnNode
    from kubesim.kubelet.context import KubeletContext, PodViews

CPU_MANAGER_STATE = "cpu_manager_state"
MEMORY_MANAGER_STATE = "memory_manager_state"
DRA_MANAGER_STATE = "dra_manager_state"
UPDATES = 100  # pending updates; more are dropped


def new_container_manager(
    context: KubeletContext,
    views: PodViews,
    runtime: Runtime,
    disk: KubeletDisk,
    plugins: PluginsOnNode | None = None,
    drivers: DraDriversOnNode | None = None,
    read: Read | None = None,
) -> ContainerManager:
    """Create the container manager. Raises MachineError if the kubelet would not start."""
    settings, gates = context.settings.resource_managers, context.gates
    manager = ContainerManager(settings, gates)
    if disk.state_files:
        _check_policies(context, disk)
    if read is not None and gates.enabled("DynamicResourceAllocation"):
        _add_dra_manager(manager, context, views, disk, drivers, read)
    if plugins is not None:
        _add_device_manager(manager, context, views, disk, plugins)
    if settings.cpu_policy == "none" and settings.memory_policy == "None":
        return manager
    from kubesim.kubelet.cm.active_pods import ActivePods

    def report(pod: Pod | None, container: str, text: str) -> None:
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
        manager.cpu = cpus.CpuManager(policy, active, runtime, views.statuses.get_pod_status, report)
    if settings.memory_policy != "None":
        from kubesim.kubelet.cm.memorymanager import manager as memory
        from kubesim.kubelet.cm.memorymanager.state import MemoryState

        stored = disk.state_files.setdefault(MEMORY_MANAGER_STATE, MemoryState())
        manager.memory = memory.MemoryManager(memory.new_policy(settings, stored, affinity, gates), active, report)
    return manager


def _add_device_manager(
    manager: ContainerManager, context: KubeletContext, views: PodViews, disk: KubeletDisk, plugins: PluginsOnNode
) -> None:
    from kubesim.kubelet.cm.devicemanager.manager import DeviceManager

    updates = manager.updates = manager.updates or Channel("resource updates", UPDATES)
    manager.plugins = plugins
    manager.devices = DeviceManager(
        context.clock.now,
        disk.state_files,
        views.active_pods,
        views.sources,
        manager.topology.affinity,
        [node.id for node in manager.settings.machine.topology],
        context.gates,
        updates.try_send,
    )


def _add_dra_manager(
    manager: ContainerManager,
    context: KubeletContext,
    views: PodViews,
    disk: KubeletDisk,
    drivers: DraDriversOnNode | None,
    read: Read,
) -> None:
    """Create the DRA manager now if there are drivers or checkpointed claims; otherwise the first pod that needs it
    does.
    """

    def make() -> DraManager:
        from kubesim.kubelet.cm.dra.manager import DraManager

        files, sources, updates = disk.state_files, views.sources, manager.updates
        notify = (lambda uids: None) if updates is None else updates.try_send
        return DraManager(
            context.clock, files, read, views.active_pods, lambda: sources.all_ready, context.gates, notify
        )

    manager.make_dra = make
    if drivers is not None or disk.state_files.get(DRA_MANAGER_STATE):
        manager.updates = Channel("resource updates", UPDATES)
        manager.dra, manager.drivers = make(), drivers


def _check_policies(context: KubeletContext, disk: KubeletDisk) -> None:
    """Raises MachineError if the state files have other policies: they must be deleted first."""
    from kubesim.kubelet.cm.cpumanager import state as cpus
    from kubesim.kubelet.cm.memorymanager import state as memory

    settings = context.settings.resource_managers
    if CPU_MANAGER_STATE in disk.state_files:
        cpus.restore(disk.state_files[CPU_MANAGER_STATE], settings.cpu_policy)
    if MEMORY_MANAGER_STATE in disk.state_files:
        memory.restore(disk.state_files[MEMORY_MANAGER_STATE], settings.memory_policy)
