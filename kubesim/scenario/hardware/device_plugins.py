"""The device plugins of a simulated node. They keep running when the kubelet restarts, and register with it again.

Where they stand: a scenario describes them, `play/simulated_node.py` makes them, and the kubelet's device manager calls
them (`kubelet/cm/devicemanager/plugin.py DevicePlugin`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from kubesim.clock import LoopClock
from kubesim.kubelet.cm.devicemanager.plugin import (
    HEALTHY,
    ContainerAllocateResponse,
    DevicePluginError,
    DevicePluginOptions,
    PluginDevice,
    PluginRegistry,
)
from kubesim.runtime.types import ContainerMount, DeviceInfo
from kubesim.scenario.language.nodes.device_items import DevicePluginItem
from kubesim.trace import Recorder
from kubesim.trace.records import Note
from kubesim.values import part, replace


@part
class SimulatedDevicePlugin:
    """Implements `DevicePlugin`."""

    item: DevicePluginItem
    devices: dict[str, PluginDevice] = field(init=False)
    is_running: bool = field(init=False)
    is_connected: bool = False
    starts: int = 0  # how often the plugin was started

    def __post_init__(self) -> None:
        self.devices = {each.id: PluginDevice(each.id, each.health, each.numa_nodes) for each in self.item.devices}
        self.is_running = self.item.running

    def options(self) -> DevicePluginOptions:
        return DevicePluginOptions(self.item.pre_start_required, self.item.preferred is not None)

    def preferred_allocation(
        self, available: Collection[str], must_include: Collection[str], size: int
    ) -> tuple[str, ...]:
        preferred = [each for each in self.item.preferred or () if each in available and each not in must_include]
        return (*must_include, *preferred)[:size]

    def allocate(self, device_ids: Sequence[str]) -> ContainerAllocateResponse:
        answer = self.item.allocate
        if answer.error:
            raise DevicePluginError(f"rpc error: code = Unknown desc = {answer.error}")
        return ContainerAllocateResponse(
            tuple(_for_devices(answer.env.items(), device_ids)),
            tuple(
                ContainerMount(container, container, host_path=host, read_only=mount.read_only)
                for mount in answer.mounts
                for host, container in _for_devices([mount.paths], device_ids)
            ),
            tuple(
                DeviceInfo(host, container, node.permissions)
                for node in answer.devices
                for host, container in _for_devices([node.paths], device_ids)
            ),
            tuple(_for_devices(answer.annotations.items(), device_ids)),
            tuple(name for name, _ in _for_devices(((each, "") for each in answer.cdi_devices), device_ids)),
        )

    def pre_start_container(self, device_ids: Sequence[str]) -> None:
        if self.item.pre_start_error:
            raise DevicePluginError(f"rpc error: code = Unknown desc = {self.item.pre_start_error}")


def _for_devices(pairs: Iterable[tuple[str, str]], ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Substitute the ids in these texts: once, or for each device if a text has `{id}`."""
    for pair in pairs:
        one, other = (text.replace("{ids}", ",".join(ids)) for text in pair)
        if "{id}" in one or "{id}" in other:
            yield from ((one.replace("{id}", each), other.replace("{id}", each)) for each in ids)
        else:
            yield one, other


@part
class DevicePlugins:
    """Implements `PluginsOnNode`."""

    clock: LoopClock
    recorder: Recorder
    node: str
    plugins: Mapping[str, SimulatedDevicePlugin]
    _registry: PluginRegistry | None = None  # of the running kubelet

    def kubelet_serves(self, registry: PluginRegistry) -> None:
        self._registry = registry
        for plugin in self.plugins.values():
            if plugin.is_running:
                self._register_later(plugin)

    def kubelet_is_gone(self) -> None:
        self._registry = None
        for plugin in self.plugins.values():
            plugin.is_connected = False

    def start(self, resource: str) -> None:
        plugin = self.plugins[resource]
        plugin.is_running = True
        plugin.starts += 1
        self._register_later(plugin)

    def stop(self, resource: str) -> None:
        """Stop the plugin. Its devices become unhealthy immediately, because the kubelet's stream ends."""
        plugin = self.plugins[resource]
        plugin.is_running = False
        if plugin.is_connected and self._registry is not None:
            plugin.is_connected = False
            self._registry.plugin_disconnected(resource)

    def set_health(self, resource: str, device: str, health: str) -> None:
        plugin = self.plugins[resource]
        plugin.devices[device] = replace(plugin.devices[device], health=health)
        if plugin.is_connected and self._registry is not None:
            self._registry.update_devices(resource, plugin.devices.values())

    def _register_later(self, plugin: SimulatedDevicePlugin) -> None:
        moment = self.clock.now() + plugin.item.registers_after
        self.clock.call_at(moment, self._register, plugin, self._registry, plugin.starts)

    def _register(self, plugin: SimulatedDevicePlugin, registry: PluginRegistry | None, starts: int) -> None:
        if registry is None or registry is not self._registry or not plugin.is_running or plugin.starts != starts:
            return
        resource, devices = plugin.item.resource, plugin.devices.values()
        Recorder.because(None)
        if self.recorder.on:
            healthy = sum(device.health == HEALTHY for device in devices)
            text = (
                f"device plugin {resource} registers with the kubelet: {healthy} of {len(devices)} devices are healthy"
            )
            Recorder.because(self.recorder.record(Note(node=self.node, text=text)))
        plugin.is_connected = True
        registry.plugin_connected(resource, plugin)
        registry.update_devices(resource, devices)


def device_plugins(
    items: Sequence[DevicePluginItem], clock: LoopClock, recorder: Recorder, node: str
) -> DevicePlugins | None:
    """The device plugins of a node; None if it has none."""
    if not items:
        return None
    return DevicePlugins(clock, recorder, node, {item.resource: SimulatedDevicePlugin(item) for item in items})


def files_on_host(items: Sequence[DevicePluginItem]) -> Iterator[tuple[str, str]]:
    """The files that plugins created for containers to mount: text by path."""
    for item in items:
        for mount in item.allocate.mounts:
            for name, text in mount.files.items():
                for host, _ in _for_devices([mount.paths], [device.id for device in item.devices]):
                    yield f"{host.strip('/')}/{name}", text
