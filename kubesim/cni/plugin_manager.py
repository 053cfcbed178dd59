"""Network plugins of older kubelets: their interface, the choice of one, and per-pod locking of operations.

Mirrors: kubelet v1.12 pkg/kubelet/dockershim/network/plugins.go; v1.6 pkg/kubelet/network/plugins.go
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, NoReturn, Protocol

from kubesim.api.validation.formats import label_key
from kubesim.clock import Awaited
from kubesim.cni.pod_config import PortMapping
from kubesim.errors import CniError
from kubesim.golang.text import quoted
from kubesim.values import value_object

NOOP_NAME: Final = "kubernetes.io/no-op"


@value_object
class InitArguments:
    """The kubelet flags that initialize a plugin. An MTU of 0 is the plugin's default."""

    hairpin_mode: str = "promiscuous-bridge"
    non_masquerade_cidr: str = "10.0.0.0/8"
    mtu: int = 0


class Host(Protocol):
    """A plugin's access to sandboxes and the machine. Failures raise CniError."""

    def get_netns(self, sandbox_id: str) -> str: ...
    def get_pod_port_mappings(self, sandbox_id: str) -> Sequence[PortMapping]: ...
    def look_path(self, program: str) -> str: ...
    def pod_ip(self, netns: str, interface: str) -> str: ...


class NetworkPlugin(Protocol):
    name: str

    def init(self, given: InitArguments) -> None: ...
    def log(self) -> Sequence[str]:
        """Its log messages from the last read of its configuration."""
        ...

    async def status(self) -> None: ...
    async def set_up_pod(self, namespace: str, name: str, sandbox_id: str, annotations: Mapping[str, str]) -> None: ...
    async def tear_down_pod(self, namespace: str, name: str, sandbox_id: str) -> None: ...
    async def get_pod_network_status(self, namespace: str, name: str, sandbox_id: str) -> str:
        """The address of the pod; empty if unknown to the plugin."""
        ...


class NoopNetworkPlugin:
    """The default without a named plugin: the container runtime's bridge connects pods."""

    name = NOOP_NAME

    def init(self, given: InitArguments) -> None: ...
    def log(self) -> Sequence[str]:
        return ()

    async def status(self) -> None: ...
    async def set_up_pod(self, namespace: str, name: str, sandbox_id: str, annotations: Mapping[str, str]) -> None: ...
    async def tear_down_pod(self, namespace: str, name: str, sandbox_id: str) -> None: ...
    async def get_pod_network_status(self, namespace: str, name: str, sandbox_id: str) -> str:
        return ""


def init_network_plugin(plugins: Sequence[NetworkPlugin], wanted: str, given: InitArguments) -> NetworkPlugin:
    """The plugin with that name, initialized. Raises all errors together."""
    if not wanted:
        noop = NoopNetworkPlugin()
        noop.init(given)
        return noop
    known: dict[str, NetworkPlugin] = {}
    errors: list[str] = []
    for plugin in plugins:
        problems = label_key(plugin.name)
        if problems:
            errors.append(f"network plugin has invalid name: {quoted(plugin.name)}: {';'.join(problems)}")
        elif plugin.name in known:
            errors.append(f"network plugin {quoted(plugin.name)} was registered more than once")
        else:
            known[plugin.name] = plugin
    chosen = known.get(wanted)
    if chosen is None:
        errors.append(f"Network plugin {quoted(wanted)} not found.")
    else:
        try:
            chosen.init(given)
        except CniError as error:
            errors.append(f"Network plugin {quoted(wanted)} failed init: {error}")
    if errors or chosen is None:
        raise CniError(aggregate(errors))
    return chosen


def not_in_path(program: str) -> CniError:
    """Go's LookPath error for a missing program."""
    return CniError(f"exec: {quoted(program)}: executable file not found in $PATH")


def aggregate(errors: Sequence[str]) -> str:
    """Errors in the format of Go's aggregate: each text once, in brackets if there are several."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


class PluginHangs(CniError):
    """A plugin that never returns."""


class PluginManager:
    """Serializes operations per pod; pods do not block each other. An operation that hangs keeps its pod's lock until
    the kubelet ends, even if its caller has given up.
    """

    def __init__(self, plugin: NetworkPlugin) -> None:
        self.plugin = plugin
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}
        self._hung: set[str] = set()

    def kubelet_starts(self, plugin: NetworkPlugin) -> None:
        self.plugin = plugin
        self._hung.clear()

    async def status(self) -> None:
        await self.plugin.status()

    async def set_up_pod(self, namespace: str, name: str, sandbox_id: str, annotations: Mapping[str, str]) -> None:
        full_name = f"{name}_{namespace}"
        async with self._lock(full_name):
            try:
                await self.plugin.set_up_pod(namespace, name, sandbox_id, annotations)
            except PluginHangs:
                await self._hang(full_name)
            except CniError as error:
                raise self._failure(f"failed to set up pod {quoted(full_name)} network", error) from error

    async def tear_down_pod(self, namespace: str, name: str, sandbox_id: str) -> None:
        full_name = f"{name}_{namespace}"
        async with self._lock(full_name):
            try:
                await self.plugin.tear_down_pod(namespace, name, sandbox_id)
            except PluginHangs:
                await self._hang(full_name)
            except CniError as error:
                raise self._failure(f"failed to teardown pod {quoted(full_name)} network", error) from error

    async def get_pod_network_status(self, namespace: str, name: str, sandbox_id: str) -> str:
        full_name = f"{name}_{namespace}"
        async with self._lock(full_name):
            try:
                return await self.plugin.get_pod_network_status(namespace, name, sandbox_id)
            except CniError as error:
                what = f"failed on the status hook for pod {quoted(full_name)}"
                raise self._failure(what, error) from error

    @asynccontextmanager
    async def _lock(self, full_name: str) -> AsyncIterator[None]:
        if full_name in self._hung:
            await self._hang(full_name)
        async with _PodLock(self._locks, full_name):
            yield

    async def _hang(self, full_name: str) -> NoReturn:
        self._hung.add(full_name)
        await Awaited(f"the network plugin of pod {full_name}, which hangs")
        raise AssertionError

    def _failure(self, what: str, error: CniError) -> CniError:
        return CniError(f"NetworkPlugin {self.plugin.name} {what}: {error}", error)


class _PodLock:
    """The lock of a pod; it exists while a task holds or awaits it."""

    def __init__(self, locks: dict[str, tuple[asyncio.Lock, int]], key: str) -> None:
        self._locks, self._key = locks, key

    async def __aenter__(self) -> None:
        lock, users = self._locks.get(self._key, (asyncio.Lock(), 0))
        self._locks[self._key] = (lock, users + 1)
        await lock.acquire()

    async def __aexit__(self, *_: object) -> None:
        lock, users = self._locks[self._key]
        lock.release()
        if users > 1:
            self._locks[self._key] = (lock, users - 1)
        else:
            del self._locks[self._key]
