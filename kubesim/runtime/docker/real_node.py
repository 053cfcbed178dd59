"""The network plugin `cni` of a docker kubelet on a real node, with real plugins and network namespaces."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kubesim.clock.randomness import Stream
from kubesim.cni.exec.context import Context, with_timeout
from kubesim.cni.exec.invoke import PluginExec
from kubesim.cni.network_plugins import Profile
from kubesim.cni.plugin_manager import PluginHangs, not_in_path
from kubesim.cni.pod_config import PortMapping
from kubesim.errors import CniError, RuntimeCallError
from kubesim.golang.text import quoted
from kubesim.linux.netns import netns_name
from kubesim.linux.private_node.holder_client import PrivateNode
from kubesim.linux.private_node.private import NETNS_DIR
from kubesim.runtime.docker.orders.parts import SandboxContainer

WALL_LIMIT_S = 10.0
PROFILES: Final[dict[str, Profile]] = {"dockershim": "v1.12", "dockertools": "v1.6"}


class NodeHost:
    """The `Host` of the plugin: information about sandboxes and their namespaces."""

    def __init__(
        self,
        order: str,
        inspect: Callable[[str], SandboxContainer],
        mappings: Callable[[str], Sequence[PortMapping]],
        network: Callable[[str], Any],
    ) -> None:
        self._order, self._inspect, self._mappings, self._network = order, inspect, mappings, network

    def get_netns(self, sandbox_id: str) -> str:
        """The namespace path. For a dead container it is gone: an error in dockershim, empty in dockertools."""
        try:
            found = self._inspect(sandbox_id)
        except RuntimeCallError as error:
            raise CniError(str(error)) from error
        if not found.netns and self._order == "dockershim":
            raise CniError(f"cannot find network namespace for the terminated container {quoted(sandbox_id)}")
        return found.netns

    def get_pod_port_mappings(self, sandbox_id: str) -> Sequence[PortMapping]:
        return self._mappings(sandbox_id)

    def look_path(self, program: str) -> str:
        found = shutil.which(program)
        if found is None:
            raise not_in_path(program)
        return found

    def pod_ip(self, netns: str, interface: str) -> str:
        return address_of(self._network(netns), interface)


def address_of(seen: Mapping[str, Any], interface: str) -> str:
    """The first address of `ip -o addr show dev INTERFACE scope global`: IPv4, else IPv6 (GetPodIP)."""
    index = next((link["index"] for link in seen["links"] if link["name"] == interface), None)
    if index is None:
        output = f"Device {quoted(interface)} does not exist.\n"
        raise CniError(f"Unexpected command output {output} with error: exit status 1")
    there = [each for each in seen["addresses"] if each["index"] == index and not each["link_local"]]
    found = [each["address"].partition("/")[0] for each in there]
    for address in sorted(found, key=lambda each: ":" in each):
        return str(address)
    raise CniError("Unexpected address output  ")


class DockerNamespaces:
    """`SandboxNamespaces` bound to a file, instead of a pause process."""

    def __init__(self, node: PrivateNode, names: Stream, directory: str = NETNS_DIR) -> None:
        self._node, self._names, self._directory = node, names, directory

    def new(self) -> str:
        path = os.path.join(self._directory, netns_name(self._names.randbytes(16)))
        try:
            self._node.new_netns(path)
        except OSError as error:
            raise RuntimeCallError(f"failed to setup netns: {error}") from error
        return path

    def remove(self, path: str) -> None:
        try:
            self._node.remove_netns(path)
        except OSError as error:
            raise RuntimeCallError(f"failed to umount netns: {error}") from error


class NodeExec:
    """Runs plugins through another Exec, with the node's environment. These kubelets had no plugin timeout: a plugin
    that runs ten seconds of real time is killed and simulated as hanging. Raises PluginHangs.
    """

    def __init__(self, exec: PluginExec, environ: Mapping[str, str]) -> None:
        self._exec, self._environ = exec, environ

    def find_in_path(self, plugin: str, paths: Sequence[str]) -> str:
        return self._exec.find_in_path(plugin, paths)

    async def exec_plugin(self, path: str, stdin: bytes, environ: Mapping[str, str], ctx: Context) -> bytes:
        with with_timeout(WALL_LIMIT_S) as limited:
            try:
                return await self._exec.exec_plugin(path, stdin, {**environ, **self._environ}, limited)
            except CniError as error:
                if limited.problem:
                    raise PluginHangs(str(error)) from error
                raise
