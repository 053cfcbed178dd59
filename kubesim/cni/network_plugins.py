"""The network plugin `cni` of kubelets that called CNI themselves.

Differences from current containerd: the loopback network is added with the interface name eth0 and never deleted;
arguments have a fixed order; capability keys are lower case; bandwidth has a unit of 1000 and no burst; there is no
cache, and a failed ADD is not undone.

Mirrors: kubelet v1.12 pkg/kubelet/dockershim/network/plugins.go, cni/cni.go; v1.6 pkg/kubelet/network/cni/cni.go
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from kubesim.cni.cache import RuntimeConf
from kubesim.cni.conf.dockershim import VENDOR_DIR, Pick, pick_for
from kubesim.cni.conf.network_lists import (
    NetworkConfigList,
    PluginConfig,
    build_one_config,
    network_conf_from_bytes,
    plugin_conf_from_bytes,
)
from kubesim.cni.exec.context import BACKGROUND, Context
from kubesim.cni.exec.invoke import Args, PluginExec, exec_with_result
from kubesim.cni.plugin_manager import Host, InitArguments
from kubesim.cni.pod_network import bandwidth_rates, protocol_name
from kubesim.cni.spec.results import AnyResult
from kubesim.errors import CniError
from kubesim.golang.json import InOrder
from kubesim.golang.text import quoted

Profile = Literal["v1.12", "v1.6"]
DEFAULT_INTERFACE: Final = "eth0"
_LOOPBACK_VERSION = {"v1.12": "0.2.0", "v1.6": "0.1.0"}
_RESULT_VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.3.1")  # supported by v1.12's libcni


class CniNetworkPlugin:
    """The plugin `cni`. It reads its configuration again with every status, so a new file takes effect within 5 s."""

    name = "cni"

    def __init__(
        self, profile: Profile, conf_dir: str, bin_dirs: Sequence[str], exec: PluginExec, host: Host, pod_cidr: str = ""
    ) -> None:
        self.profile = profile
        self.conf_dir = conf_dir
        self.bin_dirs = [directory for directory in bin_dirs if directory]
        self.pod_cidr = pod_cidr
        self.default_network: NetworkConfigList | None = None
        self.last_pick = Pick()
        self._exec = exec
        self._host = host
        self._loopback = _loopback_network(profile)
        self.sync_network_config()

    def init(self, given: InitArguments) -> None:
        """Does nothing: hairpin mode, pod range and MTU come from the network's files."""
        self._host.look_path("nsenter")
        self.sync_network_config()

    def log(self) -> list[str]:
        """File names without their directory."""
        pick = self.last_pick
        lines = [why.replace(path, os.path.basename(path)) for path, why in pick.skipped]
        if pick.network is None:
            return [*lines, f"Unable to update cni config: {pick.error}"]
        return [*lines, f"Using CNI configuration file {os.path.basename(pick.path)}"]

    def sync_network_config(self) -> None:
        """Reload; the previous network stays if nothing loads."""
        self.last_pick = pick_for(self.profile, self.conf_dir)
        if self.last_pick.network is not None:
            self.default_network = self.last_pick.network

    async def status(self) -> None:
        self.sync_network_config()
        self._network()

    def _network(self) -> NetworkConfigList:
        """checkInitialized."""
        network = self.default_network
        if network is None:
            raise CniError("cni config uninitialized")
        wants_ranges = any((plugin.network.capabilities or {}).get("ipRanges") for plugin in network.plugins)
        if wants_ranges and self.profile == "v1.12" and not self.pod_cidr:
            raise CniError("no PodCIDR set")
        return network

    async def set_up_pod(self, namespace: str, name: str, sandbox_id: str, annotations: Mapping[str, str]) -> None:
        network = self._network()
        netns = self._netns(sandbox_id)
        runtime = self._runtime_conf(namespace, name, sandbox_id, netns, annotations)
        await self.add_to_network(self._loopback, runtime)
        await self.add_to_network(network, runtime)

    async def tear_down_pod(self, namespace: str, name: str, sandbox_id: str) -> None:
        """DEL of the default network only."""
        network = self._network()
        try:
            netns = self._netns(sandbox_id)
        except CniError:
            if self.profile == "v1.6":
                raise
            netns = ""
        runtime = self._runtime_conf(namespace, name, sandbox_id, netns, {})
        try:
            await self.delete_from_network(network, runtime)
        except CniError as error:
            if self.profile == "v1.6" or "no such file or directory" not in str(error):
                raise

    async def get_pod_network_status(self, namespace: str, name: str, sandbox_id: str) -> str:
        """The pod's address, read in its network namespace."""
        netns = self._netns(sandbox_id)
        if not netns:
            problem = (
                f"Cannot find the network namespace, skipping pod network status for container {quoted(sandbox_id)}"
            )
            raise CniError(problem)
        return self._host.pod_ip(netns, DEFAULT_INTERFACE)

    def _netns(self, sandbox_id: str) -> str:
        try:
            return self._host.get_netns(sandbox_id)
        except CniError as error:
            raise CniError(f"CNI failed to retrieve network namespace path: {error}") from None

    def _runtime_conf(
        self, namespace: str, name: str, sandbox_id: str, netns: str, annotations: Mapping[str, str]
    ) -> RuntimeConf:
        """The interface is eth0, even for loopback."""
        args = (
            ("IgnoreUnknown", "1"),
            ("K8S_POD_NAMESPACE", namespace),
            ("K8S_POD_NAME", name),
            ("K8S_POD_INFRA_CONTAINER_ID", sandbox_id),
        )
        capabilities = self._capability_args(sandbox_id, annotations) if self.profile == "v1.12" else None
        return RuntimeConf(sandbox_id, netns, DEFAULT_INTERFACE, args, capabilities)

    def _capability_args(self, sandbox_id: str, annotations: Mapping[str, str]) -> dict[str, Any]:
        try:
            mappings = self._host.get_pod_port_mappings(sandbox_id)
        except CniError as error:
            raise CniError(f"could not retrieve port mappings: {error}") from None
        capabilities: dict[str, Any] = {
            "portMappings": [
                InOrder(
                    hostPort=mapping.host_port,
                    containerPort=mapping.container_port,
                    protocol=protocol_name(mapping.protocol),
                    hostIP=mapping.host_ip,
                )
                for mapping in mappings
                if mapping.host_port > 0
            ]
        }
        try:
            ingress, egress = bandwidth_rates(annotations)
        except ValueError as error:
            raise CniError(f"Error reading pod bandwidth annotations: {error}") from None
        if ingress is not None or egress is not None:
            rates = {"ingressRate": (ingress or 0) // 1000, "egressRate": (egress or 0) // 1000}
            capabilities["bandwidth"] = InOrder({key: rate for key, rate in rates.items() if rate})
        capabilities["ipRanges"] = [[{"subnet": self.pod_cidr}]]
        return capabilities

    async def add_to_network(self, network: NetworkConfigList, runtime: RuntimeConf, ctx: Context = BACKGROUND) -> None:
        result: AnyResult | None = None
        for plugin in network.plugins:
            path = self._search_path(plugin.network.type, network)
            binary = self._exec.find_in_path(plugin.network.type, path)
            stdin = self._stdin(network, plugin, result, runtime)
            environ = _environ("ADD", runtime, path)
            result = await exec_with_result(self._exec, binary, stdin, network.cni_version, environ, ctx)
            if self.profile == "v1.12" and (network.cni_version or "0.1.0") not in _RESULT_VERSIONS:
                raise CniError(f"unsupported CNI result version {quoted(network.cni_version)}")

    async def delete_from_network(
        self, network: NetworkConfigList, runtime: RuntimeConf, ctx: Context = BACKGROUND
    ) -> None:
        for plugin in reversed(network.plugins):
            path = self._search_path(plugin.network.type, network)
            binary = self._exec.find_in_path(plugin.network.type, path)
            stdin = self._stdin(network, plugin, None, runtime)
            await self._exec.exec_plugin(binary, stdin, _environ("DEL", runtime, path), ctx)

    def _stdin(
        self, network: NetworkConfigList, plugin: PluginConfig, result: AnyResult | None, runtime: RuntimeConf
    ) -> bytes:
        """v1.6 passed the file unchanged."""
        if self.profile == "v1.6":
            return plugin.source
        prev = None if result is None else result.to_json()
        return build_one_config(network.name, network.cni_version, plugin, prev, runtime.capability_args)

    def _search_path(self, plugin: str, network: NetworkConfigList) -> list[str]:
        """v1.6 also searched the vendor's directory: after the common one, but before it for loopback."""
        if self.profile != "v1.6":
            return self.bin_dirs
        vendor = VENDOR_DIR.format(type=plugin)
        return [vendor, *self.bin_dirs] if network is self._loopback else [*self.bin_dirs, vendor]


def _loopback_network(profile: Profile) -> NetworkConfigList:
    version = _LOOPBACK_VERSION[profile]
    if profile == "v1.6":
        plugin = f'{{\n  "cniVersion": "{version}",\n  "name": "cni-loopback",\n  "type": "loopback"\n}}'
        return _single(plugin.encode())
    return network_conf_from_bytes(
        f'{{"cniVersion": "{version}", "name": "cni-loopback", "plugins": [{{"type": "loopback"}}]}}'.encode()
    )


def _single(data: bytes) -> NetworkConfigList:
    conf = plugin_conf_from_bytes(data)
    return NetworkConfigList(conf.network.name, conf.network.cni_version, (conf,), data)


def _environ(command: str, runtime: RuntimeConf, path: Sequence[str]) -> dict[str, str]:
    args = Args(command, runtime.container_id, runtime.netns, runtime.args, runtime.ifname, ":".join(path))
    return args.as_env(os.environ)
