"""Real CNI plugins with faults: each execution passes through the interceptor. `cni.faults` changes single results."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from kubesim.cni.exec.context import BACKGROUND, Context
from kubesim.cni.exec.invoke import PluginExec, pod_of
from kubesim.scenario.faults.decide import Operation
from kubesim.scenario.faults.interceptor import Interceptor


class InterceptedExec:
    """Implements `PluginExec`."""

    def __init__(self, inner: PluginExec, node: str, interceptor: Interceptor) -> None:
        self._inner, self._node, self._interceptor = inner, node, interceptor

    def find_in_path(self, plugin: str, paths: Sequence[str]) -> str:
        return self._inner.find_in_path(plugin, paths)

    async def exec_plugin(
        self, path: str, stdin: bytes, environ: Mapping[str, str], ctx: Context = BACKGROUND
    ) -> bytes:
        verb, plugin = environ.get("CNI_COMMAND", ""), os.path.basename(path)
        operation = Operation("cni", verb, self._node, pod_of(environ), subject=plugin)
        await self._interceptor.reached("before", operation)
        call = self._inner.exec_plugin(path, stdin, environ, ctx)
        answer = await self._interceptor.intercept(operation, call)
        await self._interceptor.reached("after", operation)
        return answer
