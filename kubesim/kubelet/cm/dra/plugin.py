"""A DRA driver as the kubelet calls it, and the registry of those that have registered.

The scenario's drivers implement `DraPlugin` (`scenario/hardware/dra_drivers.py`).

Mirrors: staging/src/k8s.io/kubelet/pkg/apis/dra/v1/api.proto; pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from kubesim.api.timestamps import SECOND
from kubesim.errors import KubesimError
from kubesim.runtime.helper import DynamicResourcesError
from kubesim.values import value_object

CALL_TIMEOUT = 45 * SECOND  # of a driver that does not request another

if TYPE_CHECKING:
    from kubesim.kubelet.cm.dra.health_info import DeviceHealthReport


class DraPluginError(KubesimError):
    """A call that failed as a whole; the text is gRPC's (`rpc error: code = Unknown desc = ...`)."""


@value_object
class DraClaim:
    namespace: str
    uid: str
    name: str


@value_object
class PreparedDevice:
    """A device that a container can use now. `request_names`: empty if it is for all requests of the claim."""

    pool_name: str
    device_name: str
    request_names: tuple[str, ...] = ()
    cdi_device_ids: tuple[str, ...] = ()
    share_id: str = ""  # of a device that several claims share


@value_object
class ClaimResult:
    """What a driver answers for one claim: an error, or its devices (none after NodeUnprepareResources)."""

    error: str = ""
    devices: tuple[PreparedDevice, ...] = ()


class DraPlugin(Protocol):
    """Both calls are idempotent, answer by the uid of a claim, and may raise DraPluginError."""

    @property
    def name(self) -> str: ...

    def health(self) -> Sequence[DeviceHealthReport]:
        """Its stream of device health; nothing if it does not report the health of its devices."""
        ...

    async def node_prepare_resources(self, claims: Sequence[DraClaim]) -> Mapping[str, ClaimResult]: ...
    async def node_unprepare_resources(self, claims: Sequence[DraClaim]) -> Mapping[str, ClaimResult]: ...


class DraRegistry(Protocol):
    """The kubelet, as drivers see it."""

    def plugin_registered(self, plugin: DraPlugin) -> None: ...
    def health_reported(self, driver: str, devices: Sequence[DeviceHealthReport]) -> None: ...


class DraDriversOnNode(Protocol):
    """The DRA drivers of a node, which outlive its kubelet."""

    def kubelet_serves(self, registry: DraRegistry) -> None:
        """The kubelet takes registrations: each driver registers, at its own moment."""

    def kubelet_is_gone(self) -> None: ...


def get_plugin(plugins: Mapping[str, DraPlugin], driver: str) -> DraPlugin:
    """Raises DynamicResourcesError."""
    if not driver:
        raise DynamicResourcesError("DRA driver name is empty")
    plugin = plugins.get(driver)
    if plugin is None:
        raise DynamicResourcesError(f"DRA driver {driver} is not registered")
    return plugin
