"""The endpoint of one device plugin. The kubelet keeps it for five minutes after the plugin has disconnected.

Mirrors: pkg/kubelet/cm/devicemanager/endpoint.go endpointImpl
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kubesim.api.timestamps import MINUTE
from kubesim.kubelet.cm.devicemanager.plugin import (
    ContainerAllocateResponse,
    DevicePlugin,
    DevicePluginError,
    DevicePluginOptions,
)
from kubesim.values import mutable

STOP_GRACE_PERIOD = 5 * MINUTE


@mutable(eq=False)
class PluginEndpoint:
    """`plugin` is None if it registered before the kubelet restarted and has not returned."""

    resource: str
    plugin: DevicePlugin | None = None
    options: DevicePluginOptions | None = None
    stopped_at: int | None = None

    def stop_grace_period_expired(self, now: int) -> bool:
        return self.stopped_at is not None and now - self.stopped_at > STOP_GRACE_PERIOD

    def preferred_allocation(self, available: Collection[str], must_include: Collection[str], size: int) -> set[str]:
        return set(self._running().preferred_allocation(available, must_include, size))

    def allocate(self, device_ids: Sequence[str]) -> ContainerAllocateResponse:
        return self._running().allocate(device_ids)

    def pre_start_container(self, device_ids: Sequence[str]) -> None:
        self._running().pre_start_container(device_ids)

    def _running(self) -> DevicePlugin:
        if self.stopped_at is not None or self.plugin is None:
            raise DevicePluginError(f"endpoint {self._printed()} has been stopped")
        return self.plugin

    def _printed(self) -> str:
        """Upstream prints the whole struct: a mutex, the resource, a client, the stop time. Addresses and the inside of
        a time.Time do not help a reader, so they are constant here.
        """
        client = "<nil>" if self.plugin is None else "0xc000a1c000"
        return f"&{{{{{{}} {{0 0}}}} {self.resource} {client} {{13985823417426042368 1 0x5c8e2e0}} <nil>}}"
