"""The device plugin API: devices, options and calls of a plugin.

A plugin registers for one extended resource and then streams its devices. Simulated plugins implement `DevicePlugin`
(`scenario/hardware/device_plugins.py`).

Mirrors: staging/src/k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1/api.proto
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from kubesim.errors import KubesimError
from kubesim.runtime.types import ContainerMount, DeviceInfo
from kubesim.values import value_object

HEALTHY = "Healthy"
UNHEALTHY = "Unhealthy"


class DevicePluginError(KubesimError):
    """An error that a plugin returned; the text is gRPC's (`rpc error: code = Unknown desc = ...`)."""


@value_object
class PluginDevice:
    """A device and its NUMA nodes; None: it has no topology."""

    id: str
    health: str = HEALTHY
    numa_nodes: tuple[int, ...] | None = None


@value_object
class ContainerAllocateResponse:
    """The plugin's Allocate response: container options for the allocated devices."""

    envs: tuple[tuple[str, str], ...] = ()
    mounts: tuple[ContainerMount, ...] = ()
    devices: tuple[DeviceInfo, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    cdi_devices: tuple[str, ...] = ()


@value_object
class DevicePluginOptions:
    pre_start_required: bool = False
    get_preferred_allocation_available: bool = False


class DevicePlugin(Protocol):
    """The calls of a plugin. Each may raise DevicePluginError."""

    def options(self) -> DevicePluginOptions: ...
    def preferred_allocation(
        self, available: Collection[str], must_include: Collection[str], size: int
    ) -> tuple[str, ...]: ...
    def allocate(self, device_ids: Sequence[str]) -> ContainerAllocateResponse: ...
    def pre_start_container(self, device_ids: Sequence[str]) -> None: ...


class PluginRegistry(Protocol):
    """The kubelet's registration service for plugins."""

    def plugin_connected(self, resource: str, plugin: DevicePlugin) -> None: ...
    def plugin_disconnected(self, resource: str) -> None: ...
    def update_devices(self, resource: str, devices: Iterable[PluginDevice]) -> None: ...


class PluginsOnNode(Protocol):
    """The device plugins of a node; they outlive the kubelet process."""

    def kubelet_serves(self, registry: PluginRegistry) -> None:
        """Called when the kubelet's registration socket exists: each plugin registers after its own delay."""
