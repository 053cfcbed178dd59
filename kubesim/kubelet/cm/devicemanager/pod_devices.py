"""The devices of each container, and the Allocate response of their plugin.

Upstream uses maps; here the order is that of allocation, so that the same one of two conflicting settings always takes
effect.

Mirrors: pkg/kubelet/cm/devicemanager/pod_devices.go; checkpoint/checkpoint.go DevicesPerNUMA
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kubesim.kubelet.cm.devicemanager.plugin import ContainerAllocateResponse, PluginDevice
from kubesim.runtime.helper import RunContainerOptions
from kubesim.runtime.types import ContainerMount, DeviceInfo
from kubesim.values import value_object

WITHOUT_TOPOLOGY = -1  # the NUMA node of devices without topology

DevicesPerNuma = Mapping[int, tuple[str, ...]]


@value_object
class AllocatedDevices:
    """The devices of one container for one resource by NUMA node, and the plugin's response."""

    devices: DevicesPerNuma
    response: ContainerAllocateResponse

    def ids(self) -> set[str]:
        return {device for devices in self.devices.values() for device in devices}


@value_object
class PodDevicesEntry:
    """An entry of the checkpoint."""

    pod_uid: str
    container: str
    resource: str
    allocated: AllocatedDevices


class PodDevices:
    """Allocated devices by pod UID, container name and resource name."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, dict[str, AllocatedDevices]]] = {}

    def pods(self) -> list[str]:
        return list(self._pods)

    def has_pod(self, uid: str) -> bool:
        return uid in self._pods

    def insert(self, uid: str, container: str, resource: str, allocated: AllocatedDevices) -> None:
        self._pods.setdefault(uid, {}).setdefault(container, {})[resource] = allocated

    def delete(self, uids: Iterable[str]) -> None:
        for uid in uids:
            self._pods.pop(uid, None)

    def of_pod(self, uid: str, resource: str) -> set[str]:
        """The devices of all containers of a pod."""
        found: set[str] = set()
        for container in self._pods.get(uid, {}):
            found |= self.of_container(uid, container, resource) or set()
        return found

    def of_container(self, uid: str, container: str, resource: str) -> set[str] | None:
        """The devices of a container for a resource; None if unknown."""
        allocated = self.resources(uid, container).get(resource)
        return None if allocated is None else allocated.ids()

    def resources(self, uid: str, container: str) -> Mapping[str, AllocatedDevices]:
        return self._pods.get(uid, {}).get(container, {})

    def devices(self) -> dict[str, set[str]]:
        """All allocated devices, by resource."""
        found: dict[str, set[str]] = {}
        for entry in self.entries():
            found.setdefault(entry.resource, set()).update(entry.allocated.ids())
        return found

    def pod_of_device(self, device: str) -> str:
        """The UID of the first pod with a device of this id, of any resource; empty if there is none."""
        return next((entry.pod_uid for entry in self.entries() if device in entry.allocated.ids()), "")

    def entries(self) -> Iterator[PodDevicesEntry]:
        for uid, containers in self._pods.items():
            for container, resources in containers.items():
                for resource, allocated in resources.items():
                    yield PodDevicesEntry(uid, container, resource, allocated)

    def container_devices(self, uid: str, container: str) -> dict[str, dict[str, PluginDevice]]:
        """The devices of a container by resource and id, with their NUMA nodes."""
        found: dict[str, dict[str, PluginDevice]] = {}
        for resource, allocated in self.resources(uid, container).items():
            nodes: dict[str, tuple[int, ...] | None] = {}
            for node, ids in allocated.devices.items():
                for device in ids:
                    nodes[device] = None if node == WITHOUT_TOPOLOGY else (node, *(nodes.get(device) or ()))
            found[resource] = {device: PluginDevice(device, "", numa_nodes) for device, numa_nodes in nodes.items()}
        return found

    def run_container_options(self, uid: str, container: str) -> RunContainerOptions | None:
        """The merged responses of the plugins of all its resources; for a duplicate name the first setting wins."""
        resources = self._pods.get(uid, {}).get(container)
        if resources is None:
            return None
        env: dict[str, str] = {}
        mounts: dict[str, ContainerMount] = {}
        devices: dict[str, DeviceInfo] = {}
        annotations: dict[str, str] = {}
        cdi_devices: dict[str, None] = {}
        for allocated in resources.values():
            response = allocated.response
            for name, value in response.envs:
                env.setdefault(name, value)
            for device in response.devices:
                devices.setdefault(device.path_in_container, device)
            for mount in response.mounts:
                mounts.setdefault(mount.container_path, mount)
            for name, value in response.annotations:
                annotations.setdefault(name, value)
            cdi_devices.update(dict.fromkeys(response.cdi_devices))
        return RunContainerOptions(
            env=tuple(env.items()),
            mounts=tuple(mounts.values()),
            devices=tuple(devices.values()),
            annotations=tuple(annotations.items()),
            cdi_devices=tuple(cdi_devices),
        )
