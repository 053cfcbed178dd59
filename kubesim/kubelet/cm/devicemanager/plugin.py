"""A device plugin as the kubelet sees it: its devices, its options and its calls.

A plugin registers for one extended resource, and from then on streams its devices. The scenario's plugins implement
`DevicePlugin` (`scenario/hardware/device_plugins.py`).

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
    """A call that the plugin answered with an error; the text is gRPC's (`rpc error: code = Unknown desc = ...`)."""


@value_object
class PluginDevice:
    """A device, and the NUMA nodes that it is attached to; None: it has no topology."""

    id: str
    health: str = HEALTHY
    numa_nodes: tuple[int, ...] | None = None


@value_object
class ContainerAllocateResponse:
    """What a container needs to use the devices that were allocated to it."""

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
    """Every call may raise DevicePluginError."""

    def options(self) -> DevicePluginOptions: ...
    def preferred_allocation(
        self, available: Collection[str], must_include: Collection[str], size: int
    ) -> tuple[str, ...]: ...
    def allocate(self, device_ids: Sequence[str]) -> ContainerAllocateResponse: ...
    def pre_start_container(self, device_ids: Sequence[str]) -> None: ...


class PluginRegistry(Protocol):
    """The kubelet as a plugin sees it: it registers, and then streams its devices."""

    def plugin_connected(self, resource: str, plugin: DevicePlugin) -> None: ...
    def plugin_disconnected(self, resource: str) -> None: ...
    def update_devices(self, resource: str, devices: Iterable[PluginDevice]) -> None: ...


class PluginsOnNode(Protocol):
    """The device plugins of a node, which outlive its kubelet."""

    def kubelet_serves(self, registry: PluginRegistry) -> None:
        """The kubelet's registration socket exists: each plugin registers, at its own moment."""
