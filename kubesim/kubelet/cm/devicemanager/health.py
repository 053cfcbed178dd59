"""The health of a container's devices in the pod status.

Mirrors: pkg/kubelet/cm/devicemanager/manager.go UpdateAllocatedResourcesStatus
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.pod import ContainerStatus, PodStatus
from kubesim.kubelet.cm.devicemanager.plugin import HEALTHY, UNHEALTHY, PluginDevice
from kubesim.kubelet.cm.devicemanager.pod_devices import PodDevices


def with_allocated_resources_status(
    status: PodStatus, uid: str, pod_devices: PodDevices, devices: Mapping[str, Mapping[str, PluginDevice]]
) -> PodStatus:
    """The status with the device health of each regular container. An unlisted device counts as healthy. Devices of a
    disconnected plugin keep their last health.
    """
    if not pod_devices.has_pod(uid):
        return status
    statuses = tuple(_with_devices(each, uid, pod_devices, devices) for each in status.container_statuses)
    return status.changed(container_statuses=statuses)


def _with_devices(
    status: ContainerStatus, uid: str, pod_devices: PodDevices, devices: Mapping[str, Mapping[str, PluginDevice]]
) -> ContainerStatus:
    found = {entry["name"]: entry for entry in status.allocated_resources_status}
    for resource, held in pod_devices.container_devices(uid, status.name).items():
        listed = devices.get(resource, {})
        found[resource] = {"name": resource, "resources": [_health(device, listed) for device in held]}
    return status.changed(allocated_resources_status=tuple(found.values())) if found else status


def _health(device: str, listed: Mapping[str, PluginDevice]) -> dict[str, Any]:
    is_healthy = device not in listed or listed[device].health == HEALTHY
    return {"resourceID": device, "health": HEALTHY if is_healthy else UNHEALTHY}
