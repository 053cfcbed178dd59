"""The DRA driver API and the registry of drivers.

Simulated drivers implement `DraPlugin` (`scenario/hardware/dra_drivers.py`).

Mirrors: staging/src/k8s.io/kubelet/pkg/apis/dra/v1/api.proto; pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from kubesim.api.timestamps import SECOND
from kubesim.errors import KubesimError
from kubesim.runtime.helper import DynamicResourcesError
from kubesim.values import value_object

CALL_TIMEOUT = 45 * SECOND  # default of a driver

if TYPE_CHECKING:
    from kubesim.kubelet.cm.dra.health_info import DeviceHealthReport


class DraPluginError(KubesimError):
    """A failed call; the text is gRPC's (`rpc error: code = Unknown desc = ...`)."""


@value_object
class DraClaim:
    namespace: str
    uid: str
    name: str


@value_object
class PreparedDevice:
    """A prepared device. Empty `request_names`: it is for all requests of the claim."""

    pool_name: str
    device_name: str
    request_names: tuple[str, ...] = ()
    cdi_device_ids: tuple[str, ...] = ()
    share_id: str = ""  # set if several claims share the device


@value_object
class ClaimResult:
    """A driver's result for one claim: an error, or its devices (none after NodeUnprepareResources)."""

    error: str = ""
    devices: tuple[PreparedDevice, ...] = ()


class DraPlugin(Protocol):
    """A driver. Both calls are idempotent, return results by claim UID, and may raise DraPluginError."""

    @property
    def name(self) -> str: ...

    def health(self) -> Sequence[DeviceHealthReport]:
        """The stream of device health; empty if the driver does not report health."""
        ...

    async def node_prepare_resources(self, claims: Sequence[DraClaim]) -> Mapping[str, ClaimResult]: ...
    async def node_unprepare_resources(self, claims: Sequence[DraClaim]) -> Mapping[str, ClaimResult]: ...


class DraRegistry(Protocol):
    """The kubelet's registration service for drivers."""

    def plugin_registered(self, plugin: DraPlugin) -> None: ...
    def health_reported(self, driver: str, devices: Sequence[DeviceHealthReport]) -> None: ...


class DraDriversOnNode(Protocol):
    """The DRA drivers of a node; they outlive the kubelet process."""

    def kubelet_serves(self, registry: DraRegistry) -> None:
        """Called when the kubelet accepts registrations: each driver registers after its own delay."""

    def kubelet_is_gone(self) -> None: ...


def get_plugin(plugins: Mapping[str, DraPlugin], driver: str) -> DraPlugin:
    """The registered driver of this name. Raises DynamicResourcesError."""
    if not driver:
        raise DynamicResourcesError("DRA driver name is empty")
    plugin = plugins.get(driver)
    if plugin is None:
        raise DynamicResourcesError(f"DRA driver {driver} is not registered")
    return plugin
