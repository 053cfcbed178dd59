"""A device manager with scripted plugins, and pods that request devices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from kubesim.api.pod import Pod
from kubesim.kubelet.cm.devicemanager.manager import DeviceManager
from kubesim.kubelet.cm.devicemanager.plugin import (
    ContainerAllocateResponse,
    DevicePluginOptions,
    PluginDevice,
)
from kubesim.kubelet.cm.devicemanager.pod_devices import AllocatedDevices
from kubesim.values import mutable, part

Prefer = Callable[[Collection[str], Collection[str], int], tuple[str, ...]]


@part
class FakePlugin:
    """Implements `DevicePlugin`; records requests in `calls`."""

    response: Callable[[Sequence[str]], ContainerAllocateResponse] = lambda ids: ContainerAllocateResponse()
    prefer: Prefer | None = None
    pre_start_required: bool = False
    calls: list[tuple[Any, ...]] = field(default_factory=list)

    def options(self) -> DevicePluginOptions:
        return DevicePluginOptions(self.pre_start_required, self.prefer is not None)

    def preferred_allocation(
        self, available: Collection[str], must_include: Collection[str], size: int
    ) -> tuple[str, ...]:
        self.calls.append(("preferred", sorted(available), sorted(must_include), size))
        assert self.prefer is not None
        return self.prefer(available, must_include, size)

    def allocate(self, device_ids: Sequence[str]) -> ContainerAllocateResponse:
        self.calls.append(("allocate", *sorted(device_ids)))
        return self.response(device_ids)

    def pre_start_container(self, device_ids: Sequence[str]) -> None:
        self.calls.append(("prestart", *sorted(device_ids)))


@mutable
class Sources:
    all_ready: bool = True


@part
class Kubelet:
    """The kubelet around a device manager. A new manager (`restart`) reads the previous checkpoint."""

    time: int = 0
    pods: list[Pod] = field(default_factory=list)
    sources: Sources = field(default_factory=Sources)
    state_files: dict[str, Any] = field(default_factory=dict)
    updates: list[tuple[str, ...]] = field(default_factory=list)

    def manager(self, **settings: Any) -> DeviceManager:
        return DeviceManager(
            lambda: self.time,
            self.state_files,
            lambda: self.pods,
            self.sources,
            on_update=lambda uids: self.updates.append(tuple(uids)),
            **settings,
        )

    def restart(self, running: Iterable[tuple[str, str]] = ()) -> DeviceManager:
        manager = self.manager()
        manager.start(running)
        return manager


def register(manager: DeviceManager, resource: str, devices: Iterable[Any], plugin: FakePlugin | None = None) -> None:
    """Register a plugin. Devices are given as objects or ids."""
    manager.plugin_connected(resource, plugin or FakePlugin())
    manager.update_devices(resource, [d if isinstance(d, PluginDevice) else PluginDevice(d) for d in devices])


def on_node(numa_node: int, *ids: str) -> list[PluginDevice]:
    return [PluginDevice(each, numa_nodes=(numa_node,)) for each in ids]


def hold(manager: DeviceManager, uid: str, container: str, resource: str, *ids: str, numa_node: int = 0) -> None:
    """Allocate these devices to a container."""
    response = ContainerAllocateResponse()
    manager.pod_devices.insert(uid, container, resource, AllocatedDevices({numa_node: ids}, response))
    manager.known.allocated = manager.pod_devices.devices()


def pod_with(
    *limits: Mapping[str, Any], uid: str = "pod", init: Sequence[Mapping[str, Any]] = (), **fields: Any
) -> Pod:
    """A pod with containers c0, c1, ... and these limits. An init container (i0, i1, ...) with `restartPolicy` among
    its limits is a sidecar.
    """

    def container(prefix: str, number: int, amounts: Mapping[str, Any]) -> dict[str, Any]:
        amounts = dict(amounts)
        policy = {"restartPolicy": amounts.pop("restartPolicy")} if "restartPolicy" in amounts else {}
        return {"name": f"{prefix}{number}", "resources": {"limits": amounts}, **policy}

    spec = {
        "containers": [container("c", number, each) for number, each in enumerate(limits)],
        "initContainers": [container("i", number, each) for number, each in enumerate(init)],
    }
    return Pod.from_json({"metadata": {"name": uid, "namespace": "default", "uid": uid}, "spec": spec, **fields})


def allocate_all(manager: DeviceManager, pod: Pod) -> None:
    """Allocate the devices of all containers, as at admission."""
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        manager.allocate(pod, container)
