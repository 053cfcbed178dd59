"""Plugin invocation: the environment of a plugin, and decoding of its output.

`PluginExec` runs a plugin; tests and replays implement it differently:

    class Canned:
        def find_in_path(self, plugin, paths):
            return f"{paths[0]}/{plugin}"

        async def exec_plugin(self, path, stdin, environ, ctx):
            return b'{"cniVersion": "1.0.0"}'

Mirrors: containernetworking/cni pkg/invoke/exec.go, args.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from kubesim.cni.exec.context import BACKGROUND, Context
from kubesim.cni.spec.results import AnyResult, result_of_plugin
from kubesim.cni.spec.versions import CURRENT, decode_plugin_info
from kubesim.errors import PluginError
from kubesim.values import value_object


class PluginExec(Protocol):
    """Finds and runs plugins. A failed run raises a PluginError (see `plugin_files.plugin_failure`)."""

    def find_in_path(self, plugin: str, paths: Sequence[str]) -> str: ...
    async def exec_plugin(self, path: str, stdin: bytes, environ: Mapping[str, str], ctx: Context) -> bytes: ...


@value_object
class Args:
    """The environment variables of a plugin."""

    command: str
    container_id: str = ""
    netns: str = ""
    plugin_args: Sequence[tuple[str, str]] = ()
    ifname: str = ""
    path: str = ""

    def as_env(self, base: Mapping[str, str]) -> dict[str, str]:
        """The runtime's environment with all six variables set."""
        return {
            **base,
            "CNI_COMMAND": self.command,
            "CNI_CONTAINERID": self.container_id,
            "CNI_NETNS": self.netns,
            "CNI_ARGS": ";".join(f"{key}={value}" for key, value in self.plugin_args),
            "CNI_IFNAME": self.ifname,
            "CNI_PATH": self.path,
        }


def pod_of(environ: Mapping[str, str]) -> str:
    """The pod of a plugin call, from its arguments."""
    args = dict(pair.partition("=")[::2] for pair in environ.get("CNI_ARGS", "").split(";"))
    return f"{args.get('K8S_POD_NAMESPACE', '')}/{args['K8S_POD_NAME']}" if "K8S_POD_NAME" in args else ""


async def exec_with_result(
    exec: PluginExec, path: str, stdin: bytes, version: str, environ: Mapping[str, str], ctx: Context = BACKGROUND
) -> AnyResult:
    """Run a plugin that prints a result. `version` is that of the configuration in `stdin`."""
    return result_of_plugin(version, await exec.exec_plugin(path, stdin, environ, ctx))


async def get_version_info(
    exec: PluginExec, path: str, base: Mapping[str, str], ctx: Context = BACKGROUND
) -> tuple[str, ...]:
    """The versions that a plugin supports. A plugin without the VERSION command supports 0.1.0."""
    environ = Args("VERSION", netns="dummy", ifname="dummy", path="dummy").as_env(base)
    try:
        stdout = await exec.exec_plugin(path, f'{{"cniVersion":"{CURRENT}"}}'.encode(), environ, ctx)
    except PluginError as error:
        if str(error) == "unknown CNI_COMMAND: VERSION":
            return ("0.1.0",)
        raise
    return decode_plugin_info(stdout)
