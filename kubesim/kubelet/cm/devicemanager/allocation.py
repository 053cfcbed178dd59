"""Chooses the devices that a container gets: reused ones first, then aligned ones, then what the plugin prefers.

Where upstream takes any element of a set, the devices come in the order in which the plugin lists them.

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

# What the plugin prefers: of these, including these, this many. None: it has no preference.
Prefer = Callable[[set[str], set[str], int], set[str] | None]


@value_object
class DeviceRequest:
    """This many devices of a resource for a container."""

    pod_uid: str
    container: str
    resource: str
    required: int


@value_object
class ResourceState:
    """The devices of one resource. `healthy` is None if no plugin registered it; those that are chosen are added to
    `allocated`, which has the devices in use of all resources."""

    devices: Mapping[str, PluginDevice]
    healthy: set[str] | None
    allocated: dict[str, set[str]]
    held: set[str] | None  # by this container already


def check_held_devices(request: DeviceRequest, held: set[str] | None) -> None:
    """A container that has devices keeps exactly those. Raises AllocationError if it requests another number."""
    if held is not None and request.required != len(held):
        raise AllocationError(
            f"pod {quoted(request.pod_uid)} container {quoted(request.container)} changed request for resource "
            f"{quoted(request.resource)} from {len(held)} to {request.required}"
        )


def devices_to_allocate(
    request: DeviceRequest, state: ResourceState, reusable: Collection[str], affinity: NumaNodes | None, prefer: Prefer
) -> set[str]:
    """The devices to allocate now, which are in use from here on; none if the container has what it needs.

    Raises AllocationError. As upstream, the health of a container's devices is checked before their number.
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
        """Until there are enough."""
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
    if needed < len(aligned):  # all come from the aligned ones, so the plugin may choose among those
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
    """As the plugin lists them; by name those that it does not."""
    positions = {device: position for position, device in enumerate(devices)}
    return sorted(ids, key=lambda device: (positions.get(device, len(positions)), device))


def has_topology(devices: Mapping[str, PluginDevice]) -> bool:
    """If any device names a NUMA node, alignment matters."""
    return any(device.numa_nodes for device in devices.values())


def filter_by_affinity(
    available: set[str], devices: Mapping[str, PluginDevice], affinity: NumaNodes | None
) -> tuple[set[str], set[str], set[str]]:
    """The available devices on the NUMA nodes of the affinity, those on others, and those without any."""
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
