"""Device resources in the capacity and allocatable of the node's status.

Mirrors: pkg/kubelet/nodestatus/setters.go MachineInfo, as far as device plugins are concerned
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.node import NodeStatus
from kubesim.values import value_object


@value_object
class DeviceCapacity:
    """All devices and the healthy ones by resource, and the resources to remove after their plugin disconnected."""

    capacity: Mapping[str, int]
    allocatable: Mapping[str, int]
    removed: tuple[str, ...] = ()


def with_device_capacity(status: NodeStatus, devices: DeviceCapacity) -> NodeStatus:
    """The node status with device capacity. A resource without its plugin stays, with zero allocatable."""
    removed = dict.fromkeys(devices.removed, "0")
    capacity = {name: str(count) for name, count in devices.capacity.items()} | removed
    allocatable = {name: str(count) for name, count in devices.allocatable.items()} | removed
    if not capacity:
        return status
    return status.changed(capacity={**status.capacity, **capacity}, allocatable={**status.allocatable, **allocatable})
