"""libcni: the commands over a chain of plugins.

    cni = CNIConfig(["/usr/lib/cni"], RealExec(clock))
    network = load_network_conf("/etc/cni/net.d", "mynet")
    result = await cni.add_network_list(network, RuntimeConf("id", "/run/netns/x", "eth0"))

ADD runs the plugins in order and passes each the previous result. DEL runs them in reverse with the cached final
result. The first error stops either, and nothing is undone. Calls for different containers may run concurrently.

Mirrors: containernetworking/cni libcni/api.go CNIConfig
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from kubesim.cni.cache import DEFAULT_CACHE_DIR, Cache, NetworkAttachment, RuntimeConf
from kubesim.cni.conf.network_lists import NetworkConfigList, PluginConfig, build_one_config, inject_conf
from kubesim.cni.exec.context import BACKGROUND, Context
from kubesim.cni.exec.invoke import Args, PluginExec, exec_with_result, get_version_info
from kubesim.cni.spec.results import AnyResult
from kubesim.cni.spec.validation import validate_container_id, validate_interface_name, validate_network_name
from kubesim.cni.spec.versions import at_least
from kubesim.errors import CniError
from kubesim.golang.text import listed, quoted
from kubesim.values import value_object


@value_object
class GCAttachment:
    """A valid attachment, for GC."""

    container_id: str
    ifname: str

    def to_json(self) -> dict[str, str]:
        return {"containerID": self.container_id, "ifname": self.ifname}


@value_object
class GCArgs:
    """The arguments of GC. A missing list is passed to plugins as null."""

    valid_attachments: Sequence[GCAttachment] | None = None

    def to_json(self) -> dict[str, Any]:
        valid = self.valid_attachments
        entries = None if valid is None else [attachment.to_json() for attachment in valid]
        # The second key comes from a mistake in an earlier specification.
        return {"cni.dev/valid-attachments": entries, "cni.dev/attachments": entries}


class CNIConfig:
    """The search path of plugins, their Exec, and the cache directory. Plugins get the environment that this process
    had when the object was created.
    """

    def __init__(self, path: Sequence[str], exec: PluginExec, cache_dir: str = DEFAULT_CACHE_DIR) -> None:
        self.path = tuple(path)
        self.environ = dict(os.environ)
        self.exec = exec
        self.cache = Cache(cache_dir)

    async def add_network_list(
        self, network: NetworkConfigList, runtime: RuntimeConf, ctx: Context = BACKGROUND
    ) -> AnyResult | None:
        """ADD. Returns None only for a network without plugins, which no configuration file can contain."""
        result: AnyResult | None = None
        for plugin in network.plugins:
            try:
                result = await self._add(network, plugin, result, runtime, ctx)
            except CniError as error:
                raise CniError(f"plugin {plugin.describe()} failed (add): {error}", error) from error
        try:
            self.cache.add(result, network.source, network.name, runtime)
        except CniError as error:
            problem = f"failed to set network {quoted(network.name)} cached result: {error}"
            raise CniError(problem, error) from error
        return result

    async def _add(
        self,
        network: NetworkConfigList,
        plugin: PluginConfig,
        prev_result: AnyResult | None,
        runtime: RuntimeConf,
        ctx: Context,
    ) -> AnyResult:
        path = self.exec.find_in_path(plugin.network.type, self.path)
        validate_container_id(runtime.container_id)
        validate_network_name(network.name)
        validate_interface_name(runtime.ifname)
        stdin = _stdin(network, plugin, prev_result, runtime)
        environ = self._environ("ADD", runtime)
        return await exec_with_result(self.exec, path, stdin, network.cni_version, environ, ctx)

    async def check_network_list(
        self, network: NetworkConfigList, runtime: RuntimeConf, ctx: Context = BACKGROUND
    ) -> None:
        """CHECK: verify the attachment against the ADD."""
        if not at_least(network.cni_version, "0.4.0"):
            version = quoted(network.cni_version)
            raise CniError(f"configuration version {version} does not support the CHECK command")
        if network.disable_check:
            return
        try:
            cached = self.cache.result(network.name, network.cni_version, runtime)
        except CniError as error:
            problem = f"failed to get network {quoted(network.name)} cached result: {error}"
            raise CniError(problem, error) from error
        for plugin in network.plugins:
            await self._run("CHECK", network, plugin, cached, runtime, ctx)

    async def del_network_list(
        self, network: NetworkConfigList, runtime: RuntimeConf, ctx: Context = BACKGROUND
    ) -> None:
        """DEL. A cached result that cannot be read is deleted, and DEL continues without it."""
        cached = self._result_for_del(network, runtime)
        for plugin in reversed(network.plugins):
            try:
                await self._run("DEL", network, plugin, cached, runtime, ctx)
            except CniError as error:
                raise CniError(f"plugin {plugin.describe()} failed (delete): {error}", error) from error
        self.cache.remove(network.name, runtime)

    async def release_network_list(
        self, network: NetworkConfigList, runtime: RuntimeConf, ctx: Context = BACKGROUND
    ) -> list[CniError]:
        """DEL that continues after a failed plugin. libcni has no such function; it cleans up attachments that a
        runtime no longer tracks.
        """
        cached = self._result_for_del(network, runtime)
        errors = []
        for plugin in reversed(network.plugins):
            try:
                await self._run("DEL", network, plugin, cached, runtime, ctx)
            except CniError as error:
                errors.append(CniError(f"plugin {plugin.describe()} failed (delete): {error}", error))
        if not errors:
            self.cache.remove(network.name, runtime)
        return errors

    def _result_for_del(self, network: NetworkConfigList, runtime: RuntimeConf) -> AnyResult | None:
        if at_least(network.cni_version, "0.4.0"):
            try:
                return self.cache.result(network.name, network.cni_version, runtime)
            except CniError:
                self.cache.remove(network.name, runtime)
        return None

    async def _run(
        self,
        command: str,
        network: NetworkConfigList,
        plugin: PluginConfig,
        prev_result: AnyResult | None,
        runtime: RuntimeConf,
        ctx: Context,
    ) -> None:
        path = self.exec.find_in_path(plugin.network.type, self.path)
        stdin = _stdin(network, plugin, prev_result, runtime)
        await self.exec.exec_plugin(path, stdin, self._environ(command, runtime), ctx)

    async def gc_network_list(self, network: NetworkConfigList, args: GCArgs | None, ctx: Context = BACKGROUND) -> None:
        """GC: DEL for every cached attachment of this network that is no longer valid; then, from 1.1.0 on, the plugins
        get the valid attachments. Without arguments no attachment is valid, and the plugins get no list.
        """
        if network.disable_gc:
            return
        try:
            attachments = self.cache.attachments()
        except CniError:
            return
        valid = set(args.valid_attachments or ()) if args is not None else set()
        errors = await self._del_stale(network, attachments, valid, ctx)
        if network.supports("1.1.0"):
            values: dict[str, Any] = {"name": network.name, "cniVersion": network.cni_version}
            if args is not None:
                values |= args.to_json()
            for plugin in network.plugins:
                try:
                    await self._run_for_network("GC", plugin, values, ctx)
                except CniError as error:
                    errors.append(CniError(f"failed to GC plugin {plugin.network.type}: {error}", error))
        if errors:
            raise CniError("\n".join(map(str, errors)), *errors)

    async def _del_stale(
        self,
        network: NetworkConfigList,
        attachments: Sequence[NetworkAttachment],
        valid: set[GCAttachment],
        ctx: Context,
    ) -> list[CniError]:
        errors = []
        for attachment in attachments:
            if attachment.network != network.name:
                continue
            if GCAttachment(attachment.container_id, attachment.ifname) in valid:
                continue
            try:
                await self.del_network_list(network, attachment.runtime_conf(), ctx)
            except CniError as error:
                which = f"{attachment.container_id} {attachment.ifname}"
                errors.append(CniError(f"failed to delete stale attachment {which}: {error}", error))
        return errors

    async def get_status_network_list(self, network: NetworkConfigList, ctx: Context = BACKGROUND) -> None:
        """STATUS: check whether the plugins would accept an ADD. Does nothing before 1.1.0."""
        if not network.supports("1.1.0"):
            return
        values = {"name": network.name, "cniVersion": network.cni_version}
        for plugin in network.plugins:
            await self._run_for_network("STATUS", plugin, values, ctx)

    async def _run_for_network(
        self, command: str, plugin: PluginConfig, values: Mapping[str, Any], ctx: Context
    ) -> None:
        path = self.exec.find_in_path(plugin.network.type, self.path)
        environ = self._environ(command, RuntimeConf())
        await self.exec.exec_plugin(path, inject_conf(plugin, values), environ, ctx)

    async def validate_network_list(self, network: NetworkConfigList, ctx: Context = BACKGROUND) -> list[str]:
        """Check that all plugins exist and support the version. Returns the capabilities that the list declares."""
        capabilities: dict[str, None] = {}
        errors = []
        for plugin in network.plugins:
            try:
                await self._validate_plugin(plugin.network.type, network.cni_version or "0.1.0", ctx)
            except CniError as error:
                errors.append(error)
            declared = plugin.network.capabilities or {}
            capabilities.update(dict.fromkeys(name for name, enabled in declared.items() if enabled))
        if errors:
            raise CniError(listed(errors))
        return list(capabilities)

    async def _validate_plugin(self, plugin: str, version: str, ctx: Context) -> None:
        if version not in await self.get_version_info(plugin, ctx):
            raise CniError(f"plugin {plugin} does not support config version {quoted(version)}")

    async def get_version_info(self, plugin: str, ctx: Context = BACKGROUND) -> tuple[str, ...]:
        """VERSION."""
        return await get_version_info(self.exec, self.exec.find_in_path(plugin, self.path), self.environ, ctx)

    def get_network_list_cached_result(self, network: NetworkConfigList, runtime: RuntimeConf) -> AnyResult | None:
        return self.cache.result(network.name, network.cni_version, runtime)

    def get_network_list_cached_config(
        self, network: NetworkConfigList, runtime: RuntimeConf
    ) -> tuple[bytes, RuntimeConf] | None:
        return self.cache.config(network.name, runtime)

    def get_cached_attachments(self, container_id: str = "") -> list[NetworkAttachment]:
        return self.cache.attachments(container_id)

    def _environ(self, command: str, runtime: RuntimeConf) -> dict[str, str]:
        path = ":".join(self.path)
        args = Args(command, runtime.container_id, runtime.netns, runtime.args, runtime.ifname, path)
        return args.as_env(self.environ)


def _stdin(
    network: NetworkConfigList, plugin: PluginConfig, prev_result: AnyResult | None, runtime: RuntimeConf
) -> bytes:
    prev = None if prev_result is None else prev_result.to_json()
    return build_one_config(network.name, network.cni_version, plugin, prev, runtime.capability_args)
