"""The kubelet's API client with faults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from kubesim.api.event import Event
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.scenario.faults.decide import Operation
from kubesim.scenario.faults.interceptor import Interceptor

CALLS = {
    "get_pod": "GetPod", "create_pod": "CreatePod", "patch_pod_status": "PatchPodStatus", "delete_pod": "DeletePod",
    "get_node": "GetNode", "create_node": "CreateNode", "patch_node_status": "PatchNodeStatus",
    "create_event": "CreateEvent", "patch_event": "PatchEvent",
}  # fmt: skip


class InterceptedClient:
    """Implements `ApiClient`; calls without a matching fault are passed on unchanged."""

    def __init__(self, inner: Any, node: str, interceptor: Interceptor) -> None:
        self._inner, self._node, self._interceptor = inner, node, interceptor
        for method, name in CALLS.items():
            if interceptor.concerns("api", name):
                setattr(self, method, self._intercepted(name, getattr(inner, method)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _intercepted(self, name: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def intercepted(*args: Any, **options: Any) -> Any:
            pod, subject = about(name, args)
            operation = Operation("api", name, self._node, pod, subject=subject)
            await self._interceptor.reached("before", operation)
            result = await self._interceptor.intercept(operation, call(*args, **options))
            await self._interceptor.reached("after", operation)
            return result

        return intercepted


def about(name: str, args: tuple[Any, ...]) -> tuple[str, str]:
    """The pod of a call, if any, and its object, such as `Event/Failed` for an Event with this reason."""
    first = args[0]
    if isinstance(first, Pod):
        pod = f"{first.metadata.namespace}/{first.metadata.name}"
        return pod, f"Pod/{pod}"
    if isinstance(first, Event):
        involved = first.involved_object
        return f"{involved.namespace}/{involved.name}" if involved.kind == "Pod" else "", f"Event/{first.reason}"
    if name.endswith("Node") or name == "PatchNodeStatus":
        return "", f"Node/{first.metadata.name if isinstance(first, Node) else first}"
    return f"{first}/{args[1]}", f"Pod/{first}/{args[1]}"
