"""Chooses devices for a container: reusable devices first, then aligned devices, then the plugin's preference.

Where upstream takes a random element of a set, this uses the order of the plugin's list.

Mirrors: pkg/kubelet/cm/devicemanager/manager.go devicesToAllocate, filterByAffinity
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from kubesim.golang.text import quoted
from kubesim.kubelet.cm.admission import AllocationError
from kubesim.kubelet.cm.devicemanager.plugin import PluginDevice
from kubesim.kubelet.cm.devicemanager.pod_devices import WITHOUT_TOPOLOGY
from kubesim.kubelet.cm.topologymanager.hints import NumaNodes
from kubesim.values import value_object

# GetPreferredAllocation: available devices, required devices, count. None: the plugin does not offer it.
Prefer = Callable[[set[str], set[str], int], set[str] | None]


@value_object
class DeviceRequest:
    """A number of devices of one resource for a container."""

    pod_uid: str
    container: str
    resource: str
    required: int


@value_object
class ResourceState:
    """The devices of one resource. `healthy` is None before a plugin registers it. Chosen devices are added to
    `allocated`, which holds the devices in use of all resources.
    """

    devices: Mapping[str, PluginDevice]
    healthy: set[str] | None
    allocated: dict[str, set[str]]
    held: set[str] | None  # devices that the container already has


def check_held_devices(request: DeviceRequest, held: set[str] | None) -> None:
    """A container keeps the devices it has. Raises AllocationError if it requests another number."""
    if held is not None and request.required != len(held):
        raise AllocationError(
            f"pod {quoted(request.pod_uid)} container {quoted(request.container)} changed request for resource "
            f"{quoted(request.resource)} from {len(held)} to {request.required}"
        )


def devices_to_allocate(
    request: DeviceRequest, state: ResourceState, reusable: Collection[str], affinity: NumaNodes | None, prefer: Prefer
) -> set[str]:
    """Choose the devices and mark them as allocated; empty if the container has enough.

    Raises AllocationError. As upstream, it checks the health of a container's devices before their number.
    """
    resource, required, healthy = request.resource, request.required, state.healthy
    if healthy is None:
        raise AllocationError(f"cannot allocate unregistered device {resource}")
    if not healthy:
        raise AllocationError(f"no healthy devices present; cannot allocate unhealthy devices {resource}")
    if not healthy >= (state.held or set()):
        raise AllocationError(
            f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {resource}"
        )
    if state.held is not None or not required:
        return set()
    chosen: set[str] = set()
    in_use = state.allocated.setdefault(resource, set())

    def take(devices: Collection[str]) -> None:
        """Take devices until there are enough."""
        for device in in_order({*devices} - chosen, state.devices)[: required - len(chosen)]:
            chosen.add(device)
            in_use.add(device)

    take(reusable)
    needed = required - len(chosen)
    if not needed:
        return chosen
    available = healthy - in_use
    if len(available) < needed:
        raise AllocationError(
            f"requested number of devices unavailable for {resource}. Requested: {needed}, Available: {len(available)}"
        )
    aligned, unaligned, no_affinity = filter_by_affinity(available, state.devices, affinity)
    if needed < len(aligned):  # the plugin may choose among the aligned devices
        take((prefer(aligned | chosen, {*chosen}, required) or set()) & aligned)
        take(aligned)
        return chosen
    take(aligned)
    if len(chosen) < required:
        take((prefer(available | chosen, {*chosen}, required) or set()) & available)
        take(unaligned)
        take(no_affinity)
    return chosen


def in_order(ids: Collection[str], devices: Mapping[str, PluginDevice]) -> list[str]:
    """Sort in the plugin's order; devices that it does not list go last, by name."""
    positions = {device: position for position, device in enumerate(devices)}
    return sorted(ids, key=lambda device: (positions.get(device, len(positions)), device))


def has_topology(devices: Mapping[str, PluginDevice]) -> bool:
    """Whether any device names a NUMA node. If not, alignment does not matter."""
    return any(device.numa_nodes for device in devices.values())


def filter_by_affinity(
    available: set[str], devices: Mapping[str, PluginDevice], affinity: NumaNodes | None
) -> tuple[set[str], set[str], set[str]]:
    """Available devices in three groups: on the NUMA nodes of the affinity, on other nodes, without topology."""
    if affinity is None or not has_topology(devices):
        return set(), set(), available
    aligned: set[str] = set()
    unaligned: set[str] = set()
    without: set[str] = set()
    for device in available:
        nodes = devices[device].numa_nodes or (WITHOUT_TOPOLOGY,)
        if any(node in affinity for node in nodes):
            aligned.add(device)
        elif nodes == (WITHOUT_TOPOLOGY,):
            without.add(device)
        else:
            unaligned.add(device)
    return aligned, unaligned, without
