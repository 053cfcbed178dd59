"""go-cni: loads a runtime's networks and attaches a namespace to all of them.

Loading replaces all networks with the first files of the directory in order; the first invalid file stops it. As
upstream there is one lock: setup, teardown and status share it; a reload waits for them and blocks new ones.

Mirrors: containerd/go-cni cni.go, opts.go, namespace.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from kubesim.cni.cache import DEFAULT_CACHE_DIR, RuntimeConf
from kubesim.cni.conf.directory import EXTENSIONS, conf_files, conf_list_from_any_file
from kubesim.cni.conf.network_lists import NetworkConfigList, network_conf_from_bytes
from kubesim.cni.exec.context import BACKGROUND, Context
from kubesim.cni.exec.invoke import PluginExec
from kubesim.cni.gocni_result import CNIResult, create_result
from kubesim.cni.libcni import CNIConfig, GCArgs, GCAttachment
from kubesim.cni.spec.results import Result, current
from kubesim.concurrency.rwlock import RWLock
from kubesim.concurrency.wait_group import run_together
from kubesim.errors import CniError
from kubesim.values import value_object

DEFAULT_CONF_DIR: Final = "/etc/cni/net.d"
DEFAULT_BIN_DIR: Final = "/opt/cni/bin"

_LOOPBACK = b"""{
"cniVersion": "0.3.1",
"name": "cni-loopback",
"plugins": [{
  "type": "loopback"
}]
}"""


@value_object
class NetworkDirectories:
    """Loading options. `min_networks` is the number of networks that make it ready."""

    plugin_dirs: Sequence[str] = (DEFAULT_BIN_DIR,)
    conf_dir: str = DEFAULT_CONF_DIR
    max_conf_num: int = 1
    prefix: str = "eth"
    min_networks: int = 1
    cache_dir: str = DEFAULT_CACHE_DIR


@value_object
class CniNetwork:
    """A loaded network and its interface name in every namespace."""

    config: NetworkConfigList
    ifname: str


@value_object
class Namespace:
    """A network namespace to attach, and the arguments that describe its owner."""

    id: str
    path: str
    args: Mapping[str, str] = field(default_factory=dict)
    capability_args: Mapping[str, Any] = field(default_factory=dict)

    def runtime_conf(self, ifname: str) -> RuntimeConf:
        return RuntimeConf(self.id, self.path, ifname, tuple(self.args.items()), self.capability_args)


LoadOption = Callable[["CNI"], list[CniNetwork]]


class CNI:
    """The loaded networks, and operations on namespaces."""

    def __init__(self, settings: NetworkDirectories, exec: PluginExec) -> None:
        self.settings = settings
        self.libcni = CNIConfig(settings.plugin_dirs, exec, settings.cache_dir)
        self.networks: list[CniNetwork] = []
        self._lock = RWLock()

    async def load(self, *options: LoadOption) -> None:
        """Reload. After an error, networks of the options before the failed one stay: usually just loopback."""
        async with self._lock.write():
            self.load_now(*options)

    def load_now(self, *options: LoadOption) -> None:
        """`load` for a caller that knows that no operation is running."""
        self.networks = []
        for option in options:
            try:
                self.networks += option(self)
            except CniError as error:
                text = f"cni config load failed: {error}: failed to load cni config"
                raise CniError(text, kinds=("ErrLoad",)) from error

    @property
    def is_ready(self) -> bool:
        return len(self.networks) >= self.settings.min_networks

    def _check_ready(self) -> None:
        if not self.is_ready:
            raise not_initialized()

    async def status(self, ctx: Context = BACKGROUND) -> None:
        """Raises the reason why pods cannot be attached. Runs STATUS of plugins from 1.1.0 on."""
        async with self._lock.read():
            self._check_ready()
            for network in self.networks:
                await self.libcni.get_status_network_list(network.config, ctx)

    async def setup(self, namespace: Namespace, ctx: Context = BACKGROUND) -> CNIResult:
        """Attach to all networks concurrently. Waits for all; raises the first error to arrive."""
        async with self._lock.read():
            self._check_ready()
            results: list[Result | None] = [None] * len(self.networks)
            attaching = [
                (f"cni:{network.config.name}", self._attach_numbered(n, network, namespace, ctx))
                for n, network in enumerate(self.networks)
            ]
            first_error: CniError | None = None
            for n, outcome in await run_together(attaching):
                if isinstance(outcome, CniError):
                    first_error = first_error or outcome
                else:
                    results[n] = outcome
            if first_error is not None:
                raise first_error
            return self.create_result([result for result in results if result is not None])

    async def _attach_numbered(
        self, n: int, network: CniNetwork, namespace: Namespace, ctx: Context
    ) -> tuple[int, Result | CniError]:
        try:
            return n, await self._attach(network, namespace, ctx)
        except CniError as error:
            return n, error

    async def setup_serially(self, namespace: Namespace, ctx: Context = BACKGROUND) -> CNIResult:
        """Attach to one network after the other; the first error stops it."""
        async with self._lock.read():
            self._check_ready()
            return self.create_result([await self._attach(network, namespace, ctx) for network in self.networks])

    async def _attach(self, network: CniNetwork, namespace: Namespace, ctx: Context) -> Result:
        result = await self.libcni.add_network_list(network.config, namespace.runtime_conf(network.ifname), ctx)
        return Result() if result is None else current(result)

    def create_result(self, results: Sequence[Result]) -> CNIResult:
        return create_result(results, default_interface=f"{self.settings.prefix}0")

    async def remove(self, namespace: Namespace, ctx: Context = BACKGROUND) -> None:
        """Detach from all networks in loading order. Stops at the first error that is not a missing attachment."""
        async with self._lock.read():
            self._check_ready()
            for network in self.networks:
                try:
                    await self.libcni.del_network_list(network.config, namespace.runtime_conf(network.ifname), ctx)
                except CniError as error:
                    if not _says_already_gone(str(error), namespace.path):
                        raise

    async def check(self, namespace: Namespace, ctx: Context = BACKGROUND) -> None:
        async with self._lock.read():
            self._check_ready()
            for network in self.networks:
                await self.libcni.check_network_list(network.config, namespace.runtime_conf(network.ifname), ctx)

    async def gc(self, valid: Callable[[], Sequence[GCAttachment]], ctx: Context = BACKGROUND) -> None:
        """Send the valid attachments to plugins from 1.1.0 on, which release all others. Skipped while an attachment is
        in progress. (go-cni has no such function yet.)
        """
        if not self._lock.is_free:
            return
        async with self._lock.write():
            for network in self.networks:
                if network.config.supports("1.1.0"):
                    await self.libcni.gc_network_list(network.config, GCArgs(valid()), ctx)

    def get_config(self) -> dict[str, Any]:
        """The cniconfig of `crictl info`."""
        return {
            "PluginDirs": list(self.settings.plugin_dirs),
            "PluginConfDir": self.settings.conf_dir,
            "PluginMaxConfNum": self.settings.max_conf_num,
            "Prefix": self.settings.prefix,
            "Networks": [_shown(network) for network in self.networks] or None,
        }


def not_initialized() -> CniError:
    return CniError("cni plugin not initialized", kinds=("ErrCNINotInitialized",))


def _says_already_gone(error: str, netns: str) -> bool:
    return "not found" in error or (not netns and "no such file or directory" in error)


def _shown(network: CniNetwork) -> dict[str, Any]:
    config = network.config
    plugins = [
        {"Network": plugin.network.to_json(), "Source": plugin.source.decode("utf-8", "go-replace")}
        for plugin in config.plugins
    ]
    shown = {
        "Name": config.name,
        "CNIVersion": config.cni_version,
        "Plugins": plugins or None,
        "Source": config.source.decode("utf-8", "go-replace"),
    }
    return {"Config": shown, "IFName": network.ifname}


def with_lo_network(cni: CNI) -> list[CniNetwork]:
    """Add the network that brings up the loopback interface of every namespace."""
    return [CniNetwork(network_conf_from_bytes(_LOOPBACK), "lo")]


def with_default_conf(cni: CNI) -> list[CniNetwork]:
    """Add the first files of the configuration directory, as many as the settings allow."""
    return load_from_conf_dir(cni.settings.conf_dir, cni.settings.max_conf_num, cni.settings.prefix)


def load_from_conf_dir(directory: str, max_conf_num: int, prefix: str = "eth") -> list[CniNetwork]:
    """The first `max_conf_num` files of a directory; 0 or less: all of them (loadFromConfDir)."""
    try:
        files = conf_files(directory, EXTENSIONS)
    except CniError as error:
        raise CniError(f"failed to read config file: {error}: failed to read config file") from None
    if not files:
        raise CniError(f"no network config found in {directory}: cni plugin not initialized")
    networks: list[CniNetwork] = []
    for path in files:
        kind = "config list file" if path.endswith(".conflist") else "config file"
        try:
            config = conf_list_from_any_file(path)
        except CniError as error:
            raise CniError(f"failed to load CNI {kind} {path}: {error}: invalid cni config") from None
        networks.append(CniNetwork(config, f"{prefix}{len(networks)}"))
        if len(networks) == max_conf_num:
            break
    return networks
