"""A runtime wrapper that records each call in the trace: one record at its start, one at its end.

Reads (list, status) are not recorded: they change nothing and are frequent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.errors import RuntimeCallError
from kubesim.runtime.allocation.cgroups import ResourceConfig
from kubesim.runtime.images.pull_credentials import AuthConfig
from kubesim.runtime.protocol import (
    CallContext,
    ContainerConfig,
    ExecResult,
    Runtime,
    SandboxConfig,
)
from kubesim.runtime.types import RuntimeResources
from kubesim.trace import Recorder
from kubesim.trace.records import CriCall, CriReturn, Note

T = TypeVar("T")


class TracedRuntime:
    """Records calls of another runtime; implements `Runtime`."""

    def __init__(self, inner: Runtime, recorder: Recorder, node: str = "") -> None:
        self.name = inner.name
        self._inner = inner
        self._recorder = recorder
        self._node = node
        self._pods: dict[str, tuple[str, str]] = {}  # sandbox or container id -> pod, container

        # Reads are passed through.
        self.status = inner.status
        self.pod_sandbox_status = inner.pod_sandbox_status
        self.list_pod_sandboxes = inner.list_pod_sandboxes
        self.container_status = inner.container_status
        self.list_containers = inner.list_containers
        self.image_status = inner.image_status
        self.list_images = inner.list_images
        self.get_container_events = inner.get_container_events

    def on_change(self, listener: Callable[[str], None]) -> None:
        self._inner.on_change(listener)

    def exited(self, container_id: str, code: int, reason: str) -> None:
        """A container exited or was killed: not a call of the kubelet, but recorded for the reader."""
        pod, container = self._pods.get(container_id, ("", ""))
        text = f"container {container} ended with exit code {code} ({reason})"
        self._recorder.record(Note(node=self._node, pod=pod, container=container, text=text))

    # -- recorded calls -----------------------------------------------------------------------------------------

    async def _call(
        self, call: str, args: Mapping[str, Any], awaitable: Awaitable[T], *, pod: str = "", container: str = ""
    ) -> T:
        record = self._recorder.record
        begun = record(CriCall(node=self._node, pod=pod, container=container, call=call, args=args))
        try:
            result = await awaitable
        except (RuntimeCallError, asyncio.CancelledError) as error:
            if not str(error):
                raise  # the caller was cancelled and gets no response
            record(
                CriReturn(
                    node=self._node, pod=pod, container=container, call=call, error=str(error), cause=begun or None
                )
            )
            raise
        shown = result if isinstance(result, str) else None
        record(CriReturn(node=self._node, pod=pod, container=container, call=call, result=shown, cause=begun or None))
        return result

    async def run_pod_sandbox(self, config: SandboxConfig) -> str:
        metadata = config.pod.metadata
        pod = f"{metadata.namespace}/{metadata.name}"
        args = {"attempt": config.attempt, "uid": metadata.uid}
        identifier = await self._call("RunPodSandbox", args, self._inner.run_pod_sandbox(config), pod=pod)
        self._pods[identifier] = (pod, "")
        return identifier

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        await self._on("StopPodSandbox", sandbox_id, self._inner.stop_pod_sandbox(sandbox_id))

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        await self._on("RemovePodSandbox", sandbox_id, self._inner.remove_pod_sandbox(sandbox_id))
        self._pods.pop(sandbox_id, None)

    def _on(self, call: str, identifier: str, awaitable: Awaitable[T], **args: Any) -> Coroutine[Any, Any, T]:
        pod, container = self._pods.get(identifier, ("", ""))
        return self._call(call, {"id": identifier, **args}, awaitable, pod=pod, container=container)

    async def update_pod_sandbox_resources(self, sandbox_id: str, resources: ResourceConfig) -> None:
        updating = self._inner.update_pod_sandbox_resources(sandbox_id, resources)
        await self._on("UpdatePodSandboxResources", sandbox_id, updating, **_shown(resources))

    async def create_container(self, sandbox_id: str, config: ContainerConfig, sandbox: SandboxConfig) -> str:
        metadata = sandbox.pod.metadata  # the response with the sandbox id may be lost
        pod = f"{metadata.namespace}/{metadata.name}"
        name = config.container.name
        args: dict[str, Any] = {"attempt": config.attempt, "name": name, "sandbox": sandbox_id}
        if config.cdi_devices:
            args["cdiDevices"] = list(config.cdi_devices)
        if config.resources is not None and (config.resources.cpuset_cpus or config.resources.cpuset_mems):
            args |= _shown(config.resources)
        making = self._inner.create_container(sandbox_id, config, sandbox)
        identifier = await self._call("CreateContainer", args, making, pod=pod, container=name)
        self._pods[identifier] = (pod, name)
        return identifier

    async def start_container(self, container_id: str) -> None:
        await self._on("StartContainer", container_id, self._inner.start_container(container_id))

    async def stop_container(self, container_id: str, timeout: int) -> None:
        stopping = self._inner.stop_container(container_id, timeout)
        await self._on("StopContainer", container_id, stopping, timeout=timeout // SECOND)

    async def remove_container(self, container_id: str) -> None:
        await self._on("RemoveContainer", container_id, self._inner.remove_container(container_id))
        self._pods.pop(container_id, None)

    async def update_container_resources(self, container_id: str, resources: RuntimeResources) -> None:
        updating = self._inner.update_container_resources(container_id, resources)
        await self._on("UpdateContainerResources", container_id, updating, **_shown(resources))

    def exec_sync(
        self, container_id: str, command: tuple[str, ...], timeout: int, context: CallContext | None = None
    ) -> Coroutine[Any, Any, ExecResult]:
        running = self._inner.exec_sync(container_id, command, timeout, context)
        return self._on("ExecSync", container_id, running, cmd=list(command))

    async def pull_image(
        self, image: str, pod: Pod, auth: AuthConfig | None = None, sandbox: SandboxConfig | None = None
    ) -> str:
        name = f"{pod.metadata.namespace}/{pod.metadata.name}"
        args = {"image": image} if auth is None else {"image": image, "secret": auth.source.name}
        return await self._call("PullImage", args, self._inner.pull_image(image, pod, auth, sandbox), pod=name)

    async def remove_image(self, image_id: str) -> None:
        await self._call("RemoveImage", {"id": image_id}, self._inner.remove_image(image_id))


def _shown(resources: RuntimeResources | ResourceConfig) -> dict[str, Any]:
    """Only the output."""
    amounts = {item.name: getattr(resources, item.name) for item in fields(resources)}
    return {name: amount for name, amount in amounts.items() if amount}
