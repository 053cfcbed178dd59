"""Lifecycle hooks: run right after a container's start and right before its stop.

Mirrors: pkg/kubelet/lifecycle/handlers.go handlerRunner.Run
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kubesim.api.pod import Container, HTTPGetAction, LifecycleHandler, Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.errors import RuntimeCallError
from kubesim.golang.text import listed, quoted
from kubesim.runtime.kuberuntime.naming import format_pod
from kubesim.runtime.protocol import Runtime

HttpGet = Callable[[Pod, Container, HTTPGetAction], Awaitable[None]]


class HookFailed(Exception):
    """A failed hook; the text is the container's waiting message, `cause` the bare error."""

    def __init__(self, text: str, cause: str) -> None:
        super().__init__(text)
        self.cause = cause


class HookRunner:
    """Runs a hook's handler. An exec hook has no timeout of its own: the caller stops waiting."""

    def __init__(self, runtime: Runtime, clock: LoopClock, http_get: HttpGet) -> None:
        self._runtime = runtime
        self._clock = clock
        self._http_get = http_get

    async def run(self, container_id: str, pod: Pod, container: Container, handler: LifecycleHandler) -> None:
        where = f"for Container {quoted(container.name)} in Pod {quoted(format_pod(pod))} failed - error:"
        if handler.exec is not None:
            command = listed(handler.exec.command)
            try:
                result = await self._runtime.exec_sync(container_id, handler.exec.command, 0)
            except RuntimeCallError as error:
                text = f'Exec lifecycle hook ({command}) {where} {error}, message: ""'
                raise HookFailed(text, str(error)) from error
            if result.exit_code:
                shown = f"command '{' '.join(handler.exec.command)}' exited with {result.exit_code}: {result.stderr}"
                output = quoted(result.stdout + result.stderr)
                raise HookFailed(f"Exec lifecycle hook ({command}) {where} {shown}, message: {output}", shown)
        elif handler.http_get is not None:
            try:
                await self._http_get(pod, container, handler.http_get)
            except RuntimeCallError as error:
                raise HookFailed(
                    f"HTTP lifecycle hook ({handler.http_get.path}) {where} {error}", str(error)
                ) from error
        elif handler.sleep is not None:
            await self._clock.sleep(handler.sleep.seconds * SECOND)
        else:
            problem = f"invalid handler: {handler}"
            raise HookFailed(f"Cannot run handler: {problem}", problem)
