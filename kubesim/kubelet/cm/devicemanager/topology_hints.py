"""Topology hints for the devices of a container or a pod.

Mirrors: pkg/kubelet/cm/devicemanager/topology_hints.go generateDeviceTopologyHints, deviceNUMANodes
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

from kubesim.kubelet.cm.devicemanager.plugin import PluginDevice
from kubesim.kubelet.cm.topologymanager.hints import TopologyHint

Devices = Mapping[str, PluginDevice]


def device_topology_hints(
    devices: Devices, machine: Sequence[int], available: Collection[str], reusable: Collection[str], request: int
) -> tuple[TopologyHint, ...]:
    """Each combination of NUMA nodes with enough available devices and all reusable ones. The smallest possible
    combinations are preferred. Only nodes with devices are considered, unless there are none.
    """
    nodes = device_numa_nodes(devices, machine) or machine
    smallest = len(nodes)
    found: list[frozenset[int]] = []
    for size in range(1, len(nodes) + 1):
        for combination in combinations(nodes, size):
            mask = frozenset(combination)
            if size < smallest and sum(_touches(device, mask) for device in devices.values()) >= request:
                smallest = size
            with_topology = [device for device in reusable if devices[device].numa_nodes is not None]
            if not all(_touches(devices[device], mask) for device in with_topology):
                continue
            matching = len(with_topology) + sum(_touches(devices[device], mask) for device in available)
            if matching >= request:
                found.append(mask)
    return tuple(TopologyHint(mask, len(mask) == smallest) for mask in found)


def _touches(device: PluginDevice, mask: frozenset[int]) -> bool:
    return any(node in mask for node in device.numa_nodes or ())


def device_numa_nodes(devices: Devices, machine: Sequence[int]) -> list[int]:
    """The NUMA nodes with devices; those that the machine does not have are ignored."""
    return sorted({node for device in devices.values() for node in device.numa_nodes or ()} & {*machine})
