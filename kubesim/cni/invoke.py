"""How a plugin is called and how its failure is told: environment, error objects, where binaries are found.

`Exec` is what runs a plugin; tests and replays bring their own:

    class Canned:
        def find_in_path(self, plugin, paths):
            return f"{paths[0]}/{plugin}"

        async def exec_plugin(self, path, stdin, environ, ctx):
            return b'{"cniVersion": "1.0.0"}'

Mirrors: containernetworking/cni pkg/invoke/exec.go, args.go, find.go, raw_exec.go
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kubesim.api.gostruct import STRING, UINT, Struct, unmarshal
from kubesim.api.gotext import listed, quoted, quoted_bytes
from kubesim.cni.context import BACKGROUND, Context
from kubesim.cni.results import AnyResult, result_of_plugin
from kubesim.cni.versions import CURRENT, decode_plugin_info
from kubesim.errors import CniError, PluginError

_ERROR = Struct("types.Error", {"code": UINT, "msg": STRING, "details": STRING})


class Exec(Protocol):
    """Finds and runs plugins. A run that fails raises a PluginError (see `plugin_failure`)."""

    def find_in_path(self, plugin: str, paths: Sequence[str]) -> str: ...
    async def exec_plugin(self, path: str, stdin: bytes, environ: Mapping[str, str], ctx: Context) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Args:
    """What a plugin is told through its environment."""

    command: str
    container_id: str = ""
    netns: str = ""
    plugin_args: Sequence[tuple[str, str]] = ()
    ifname: str = ""
    path: str = ""

    def as_env(self) -> dict[str, str]:
        """The environment of this process, and always all six variables."""
        return {
            **os.environ,
            "CNI_COMMAND": self.command,
            "CNI_CONTAINERID": self.container_id,
            "CNI_NETNS": self.netns,
            "CNI_ARGS": ";".join(f"{key}={value}" for key, value in self.plugin_args),
            "CNI_IFNAME": self.ifname,
            "CNI_PATH": self.path,
        }


def find_in_path(plugin: str, paths: Sequence[str]) -> str:
    """The first regular file of that name; nobody looks whether it can be executed."""
    if not plugin:
        raise CniError("no plugin name provided")
    if "/" in plugin:
        raise CniError(f"invalid plugin name: {plugin}")
    if not paths:
        raise CniError("no paths provided")
    for path in paths:
        whole = os.path.join(path, plugin)
        try:
            if stat.S_ISREG(os.stat(whole).st_mode):
                return os.path.normpath(whole)
        except (OSError, ValueError):
            continue
    raise CniError(f"failed to find plugin {quoted(plugin)} in path {listed(paths)}")


def plugin_failure(how: str, stdout: bytes, stderr: bytes) -> PluginError:
    """The error of a plugin that did not end well; `how` it ended, as Go says it: `exit status 1`."""
    if not stdout:
        if not stderr:
            return PluginError(0, f"netplugin failed with no error message: {how}")
        return PluginError(0, f"netplugin failed: {quoted_bytes(stderr)}")
    try:
        said = unmarshal(_ERROR, stdout)
    except ValueError as error:
        problem = f"error parsing its diagnostic message {quoted_bytes(stdout)}: {error}"
        return PluginError(0, f"netplugin failed but {problem}")
    return PluginError(said.get("code", 0), said.get("msg", ""), said.get("details", ""))


async def exec_with_result(
    exec: Exec, path: str, stdin: bytes, version: str, args: Args, ctx: Context = BACKGROUND
) -> AnyResult:
    """Run a plugin that answers with a result. `version` is that of the configuration in `stdin`."""
    return result_of_plugin(version, await exec.exec_plugin(path, stdin, args.as_env(), ctx))


async def exec_without_result(exec: Exec, path: str, stdin: bytes, args: Args, ctx: Context = BACKGROUND) -> None:
    await exec.exec_plugin(path, stdin, args.as_env(), ctx)


async def get_version_info(exec: Exec, path: str, ctx: Context = BACKGROUND) -> tuple[str, ...]:
    """The versions that a plugin supports. One that does not know the question is of the first version."""
    args = Args("VERSION", netns="dummy", ifname="dummy", path="dummy")
    try:
        stdout = await exec.exec_plugin(path, f'{{"cniVersion":"{CURRENT}"}}'.encode(), args.as_env(), ctx)
    except PluginError as error:
        if str(error) == "unknown CNI_COMMAND: VERSION":
            return ("0.1.0",)
        raise
    return decode_plugin_info(stdout)
