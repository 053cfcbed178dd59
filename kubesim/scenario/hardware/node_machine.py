"""The machine of a simulated node, with the kubelet's settings for CPUs, memory and alignment.

A node without a topology has one NUMA node, and one core for each CPU of its capacity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubesim.api.pods.resources import HUGE_PAGES_PREFIX
from kubesim.api.quantity import Quantity, quantity
from kubesim.features import FeatureGates
from kubesim.kubelet.cm.machine import Core, MachineError, MachineInfo, NumaNode
from kubesim.kubelet.cm.settings import ResourceManagerSettings
from kubesim.kubelet.eviction import signals
from kubesim.kubelet.node.node_status import DEFAULT_CAPACITY
from kubesim.kubeletconfig.decode import ConfigurationProblem
from kubesim.runtime.allocation.cpuset import format_cpus, parse_cpus
from kubesim.scenario.load.kubelet_configuration import KubeletConfiguration

if TYPE_CHECKING:
    from kubesim.scenario.language.nodes.machine_items import TopologyItem

Capacity = Mapping[str, str | int | float]
KIB = 1024
LOCAL_DISTANCE, REMOTE_DISTANCE = 10, 20


def machine_info(capacity: Capacity, item: TopologyItem | None = None) -> MachineInfo:
    """The CPUs, memory and NUMA nodes of a machine. Raises ValueError with the field that contradicts the capacity, and
    why.

    CPUs are numbered as Linux mostly does: first the first thread of every core, then the second threads.
    """
    from kubesim.scenario.language.nodes.machine_items import TopologyItem

    item = item or TopologyItem()
    capacity = {**DEFAULT_CAPACITY, **capacity}
    cpus, sockets = quantity(capacity["cpu"]).value(), item.sockets
    nodes = item.numa_nodes or sockets
    _check_division(item, cpus, nodes)
    cores = cpus // item.threads_per_core
    memory = _divided("memory", quantity(capacity["memory"]), item.memory, nodes)
    pages = _hugepages(capacity, item, nodes)
    topology = []
    for node in range(nodes):
        own = [
            Core(
                tuple(range(core, cpus, cores)),
                core * sockets // cores,
                None if item.uncore_caches is None else core * item.uncore_caches // cores,
            )
            for core in range(node * cores // nodes, (node + 1) * cores // nodes)
        ]
        of_node = {size: amounts[node] // (size * KIB) for size, amounts in pages.items()}
        topology.append(NumaNode(node, tuple(own), memory[node], of_node, _distances(item, node, nodes)))
    return MachineInfo(tuple(topology), cpus, sockets)


def _check_division(item: TopologyItem, cpus: int, nodes: int) -> None:
    if cpus % item.threads_per_core:
        raise ValueError(f"threadsPerCore: {cpus} CPUs cannot be divided into cores of {item.threads_per_core}")
    cores = cpus // item.threads_per_core
    parts = {"sockets": item.sockets, "numaNodes": nodes, "uncoreCaches": item.uncore_caches or 1}
    for name, count in parts.items():
        if cores % count:
            raise ValueError(f"{name}: {cores} cores cannot be divided into {count}")
    if nodes % item.sockets and item.sockets % nodes:
        raise ValueError(f"numaNodes: {nodes} NUMA nodes cannot be divided into {item.sockets} sockets")
    for row in (item.distances, *item.distances) if item.distances else ():
        if len(row) != nodes:
            raise ValueError(f"distances: there must be one from each of {nodes} NUMA nodes to each")


def _divided(field: str, total: Quantity, given: tuple[str | int | float, ...], nodes: int) -> list[int]:
    """The bytes of each NUMA node."""
    if not given:
        part = total.value() // nodes
        return [*[part] * (nodes - 1), total.value() - part * (nodes - 1)]
    amounts = [quantity(amount).value() for amount in given]
    if len(amounts) != nodes:
        raise ValueError(f"{field}: there are {nodes} NUMA nodes")
    if sum(amounts) != total.value():
        raise ValueError(f"{field}: must add up to the capacity of {total}")
    return amounts


def _hugepages(capacity: Capacity, item: TopologyItem, nodes: int) -> dict[int, list[int]]:
    """The bytes of each NUMA node, by page size in KiB."""
    found: dict[int, list[int]] = {}
    named = {name.removeprefix(HUGE_PAGES_PREFIX) for name in capacity if name.startswith(HUGE_PAGES_PREFIX)}
    for size in sorted({*named, *item.hugepages}):
        total = quantity(capacity.get(HUGE_PAGES_PREFIX + size, 0))
        pages = quantity(size).value() // KIB
        amounts = _divided(f"hugepages.{size}", total, item.hugepages.get(size, ()), nodes)
        found[pages] = amounts
        if any(amount % (pages * KIB) for amount in amounts):
            raise ValueError(f"hugepages.{size}: must be whole pages on each NUMA node")
    return found


def _distances(item: TopologyItem, node: int, nodes: int) -> tuple[int, ...]:
    if item.distances:
        return item.distances[node]
    return tuple([LOCAL_DISTANCE if other == node else REMOTE_DISTANCE for other in range(nodes)])


def resource_manager_settings(
    capacity: Capacity, item: TopologyItem | None, configuration: KubeletConfiguration
) -> ResourceManagerSettings:
    values = configuration.values
    return ResourceManagerSettings(
        machine=machine_info(capacity, item),
        reservation=_node_allocatable_reservation({**DEFAULT_CAPACITY, **capacity}, configuration),
        cpu_policy=values["cpuManagerPolicy"],
        cpu_options=values["cpuManagerPolicyOptions"] or {},
        cpu_reconcile_period=values["cpuManagerReconcilePeriod"],
        reserved_cpus=parse_cpus(values["reservedSystemCPUs"]),
        memory_policy=values["memoryManagerPolicy"],
        reserved_memory=tuple([(each["numaNode"], each["limits"]) for each in values["reservedMemory"] or ()]),
        topology_policy=values["topologyManagerPolicy"],
        topology_scope=values["topologyManagerScope"],
        topology_options=values["topologyManagerPolicyOptions"] or {},
    )


def _node_allocatable_reservation(capacity: Capacity, configuration: KubeletConfiguration) -> dict[str, Quantity]:
    """The resources reserved for the system and the kubelet, plus the hard eviction thresholds.

    Mirrors: pkg/kubelet/cm/node_container_manager_linux.go GetNodeAllocatableReservation
    """
    total = dict(configuration.reserved)
    for threshold in configuration.eviction.thresholds:
        resource = _KEPT_FREE.get(threshold.signal)
        if resource is not None and threshold.is_hard:
            kept = threshold.value.of(quantity(capacity[resource]))
            total[resource] = total[resource] + kept if resource in total else kept
    return {name: amount for name, amount in total.items() if name in capacity and not amount.is_zero}


_KEPT_FREE = {signals.MEMORY_AVAILABLE: "memory", signals.NODEFS_AVAILABLE: "ephemeral-storage"}


def has_resource_managers(item: TopologyItem | None, configuration: KubeletConfiguration) -> bool:
    """Whether the kubelet's configuration uses the topology of the machine."""
    values = configuration.values
    return (
        item is not None
        or values["cpuManagerPolicy"] != "none"
        or bool(values["cpuManagerPolicyOptions"])
        or values["memoryManagerPolicy"] != "None"
        or values["topologyManagerPolicy"] != "none"
    )


def visible_cpuset(settings: ResourceManagerSettings) -> tuple[str, str]:
    """The CPUs and NUMA nodes that a container without limits sees."""
    topology = settings.machine.topology
    cpus = [cpu for node in topology for core in node.cores for cpu in core.threads]
    return format_cpus(cpus), format_cpus([node.id for node in topology])


def check_resource_managers(settings: ResourceManagerSettings, gates: FeatureGates) -> None:
    """Raises ConfigurationProblem if a kubelet with this configuration would not start on its machine."""
    from kubesim.kubelet.cm.container_manager import ContainerManager
    from kubesim.kubelet.cm.cpumanager import manager as cpus
    from kubesim.kubelet.cm.cpumanager.state import CpuState
    from kubesim.kubelet.cm.memorymanager import manager as memory
    from kubesim.kubelet.cm.memorymanager.state import MemoryState

    field = "topologyManagerPolicy"
    try:
        affinity = ContainerManager(settings, gates).topology.affinity
        field = "cpuManagerPolicy"
        if settings.cpu_policy == cpus.STATIC:
            cpus.new_policy(settings, CpuState(), affinity, gates)
        elif settings.cpu_options:
            given = " ".join(f"{name}:{value}" for name, value in sorted(settings.cpu_options.items()))
            raise MachineError(f"new none policy error: None policy: received unsupported options=map[{given}]")
        field = "memoryManagerPolicy"
        if settings.memory_policy == memory.STATIC:
            memory.new_policy(settings, MemoryState(), affinity, gates)
    except MachineError as error:
        raise ConfigurationProblem((field,), str(error)) from None
