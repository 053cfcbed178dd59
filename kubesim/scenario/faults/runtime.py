"""The container runtime with faults: the traced runtime, whose calls pass through the interceptor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from hashlib import sha256
from typing import Any, TypeVar

from kubesim.errors import PluginError, RuntimeCallError
from kubesim.golang.text import quoted
from kubesim.runtime.protocol import UNKNOWN_ERROR, Runtime, SandboxConfig
from kubesim.runtime.traced import TracedRuntime
from kubesim.scenario.faults.decide import Operation
from kubesim.scenario.faults.interceptor import Interceptor
from kubesim.trace import Recorder

T = TypeVar("T")
IMAGE = ("PullImage", "RemoveImage", "ImageStatus", "ListImages")
READS = {
    "status": "Status", "pod_sandbox_status": "PodSandboxStatus", "list_pod_sandboxes": "ListPodSandbox",
    "container_status": "ContainerStatus", "list_containers": "ListContainers", "image_status": "ImageStatus",
    "list_images": "ListImages",
}  # fmt: skip


class InterceptedRuntime(TracedRuntime):
    """Implements `Runtime`."""

    def __init__(self, inner: Runtime, recorder: Recorder, node: str, interceptor: Interceptor, *, real: bool) -> None:
        if not real and any(interceptor.concerns("cni", verb) for verb in ("ADD", "DEL")):
            inner = _SimulatedNetworkFaults(inner, node, interceptor)
        super().__init__(inner, recorder, node)
        self._interceptor = interceptor
        for method, name in READS.items():
            if interceptor.concerns(_group(name), name):
                setattr(self, method, self._reading(name, getattr(inner, method)))

    async def _call(
        self, call: str, args: Mapping[str, Any], awaitable: Awaitable[T], *, pod: str = "", container: str = ""
    ) -> T:
        operation = Operation(_group(call), call, self._node, pod, container, _subject(args))
        await self._interceptor.reached("before", operation)
        faulty = self._interceptor.intercept(operation, awaitable)
        result = await super()._call(call, args, faulty, pod=pod, container=container)
        await self._interceptor.reached("after", operation)
        return result

    def _reading(self, name: str, read: Callable[..., Awaitable[T]]) -> Callable[..., Coroutine[Any, Any, T]]:
        """Run a call that changes nothing and is not recorded."""
        interceptor = self._interceptor

        async def intercepted(*args: Any) -> T:
            pod, container = self._pods.get(args[0], ("", "")) if args else ("", "")
            subject = str(args[0]) if args and _group(name) == "image" else ""
            operation = Operation(_group(name), name, self._node, pod, container, subject)
            if interceptor.active:
                interceptor.clock.something_happened()  # a skipped relist could not meet a fault
            await interceptor.reached("before", operation)
            result: T = await interceptor.intercept(operation, read(*args))
            await interceptor.reached("after", operation)
            return result

        return intercepted


def _group(name: str) -> str:
    return "image" if name in IMAGE else "runtime"


def _subject(args: Mapping[str, Any]) -> str:
    command = args.get("cmd")
    return " ".join(command) if command else str(args.get("image") or args.get("id", ""))


class _SimulatedNetworkFaults:
    """A runtime whose simulated network can fail: RunPodSandbox calls ADD, and StopPodSandbox DEL.

    For a pod with hostNetwork no plugin is called.
    """

    def __init__(self, inner: Runtime, node: str, interceptor: Interceptor) -> None:
        self._inner, self._node, self._interceptor = inner, node, interceptor
        self._pods: dict[str, str] = {}
        self._without_network: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def run_pod_sandbox(self, config: SandboxConfig) -> str:
        metadata = config.pod.metadata
        if config.pod.spec.host_network:
            identifier = await self._inner.run_pod_sandbox(config)
            self._without_network.add(identifier)
            return identifier
        pod = f"{metadata.namespace}/{metadata.name}"
        given_up = sha256(f"{metadata.uid}/{config.attempt}/{self._interceptor.clock.now()}".encode()).hexdigest()
        doing = f"failed to setup network for sandbox {quoted(given_up)}"
        identifier = await self._network("ADD", pod, doing, self._inner.run_pod_sandbox(config))
        self._pods[identifier] = pod
        return identifier

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        if sandbox_id in self._without_network:
            await self._inner.stop_pod_sandbox(sandbox_id)
            return
        doing = f"failed to destroy network for sandbox {quoted(sandbox_id)}"
        pod = self._pods.get(sandbox_id, "")
        await self._network("DEL", pod, doing, self._inner.stop_pod_sandbox(sandbox_id))

    async def _network(self, verb: str, pod: str, doing: str, call: Awaitable[T]) -> T:
        try:
            return await self._interceptor.intercept(Operation("cni", verb, self._node, pod, subject="bridge"), call)
        except PluginError as error:
            action = "add" if verb == "ADD" else "delete"
            problem = f'{doing}: plugin type="bridge" failed ({action}): {error}'
            raise RuntimeCallError(UNKNOWN_ERROR + problem) from None
