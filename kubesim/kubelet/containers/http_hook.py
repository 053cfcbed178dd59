"""HTTP lifecycle hooks: a GET to the pod's current address.

Any response is a success, whatever its status code. The only time limit is the caller's.

Mirrors: pkg/kubelet/lifecycle/handlers.go runHTTPHandler
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from kubesim.api.pod import Container, HTTPGetAction, Pod
from kubesim.clock import LoopClock
from kubesim.errors import RuntimeCallError
from kubesim.features.rules import DEFAULT_RULES, Rules
from kubesim.kubelet.probes.handlers import http_get
from kubesim.runtime.helper import EventRecorder
from kubesim.runtime.network.http_request import BadRequest, new_request_for_http_get_action
from kubesim.runtime.network.node_network import NetworkError, NodeNetwork, NodeRequest
from kubesim.runtime.types import RuntimePod, RuntimePodStatus

HTTP_ANSWER = "server gave HTTP response to HTTPS client"


class PodReader(Protocol):
    """The part of the runtime manager that the hook uses. Each call may raise RuntimeCallError."""

    async def get_pod(self, uid: str) -> RuntimePod | None: ...
    async def get_pod_status(self, pod: RuntimePod) -> RuntimePodStatus: ...


class HttpHook:
    """Runs HTTP hooks. `pods` returns the runtime manager, which is created after its hooks."""

    def __init__(
        self,
        clock: LoopClock,
        network: NodeNetwork,
        events: EventRecorder,
        pods: Callable[[], PodReader],
        rules: Rules = DEFAULT_RULES,
    ) -> None:
        self._clock = clock
        self._network = network
        self._events = events
        self._pods = pods
        self._rules = rules

    async def run(self, pod: Pod, container: Container, action: HTTPGetAction) -> None:
        """Send the request. Raises RuntimeCallError."""
        try:
            ip = action.host or await self._pod_ip(pod)
            request = new_request_for_http_get_action(action, container, ip, "lifecycle", self._rules)
            try:
                await http_get(self._network, self._clock, request, 0)
            except NetworkError as error:
                if HTTP_ANSWER not in str(error):
                    raise
                await self._fall_back(pod, request, error)
        except (NetworkError, BadRequest) as error:
            raise RuntimeCallError(str(error)) from error

    async def _pod_ip(self, pod: Pod) -> str:
        what = "pod"
        try:
            found = await self._pods().get_pod(pod.metadata.uid)
            if found is None:
                raise RuntimeCallError("pod sandboxes not found")
            what = "pod status"
            status = await self._pods().get_pod_status(found)
        except RuntimeCallError as error:
            raise RuntimeCallError(f"unable to get {what}, event handlers may be invalid: {error}") from error
        if not status.ips:
            raise RuntimeCallError(f"failed to find networking container: {pod.metadata.name}")
        return status.ips[0]

    async def _fall_back(self, pod: Pod, request: NodeRequest, first: NetworkError) -> None:
        """If an HTTPS request reaches an HTTP server, retry once with HTTP and without credentials."""
        address = request.url.partition("://")[2].partition("/")[0]
        headers = tuple(header for header in request.headers if header[0] != "Authorization")
        plain = replace(request, scheme="http", url=f"http{request.url.removeprefix('https')}", headers=headers)
        try:
            await http_get(self._network, self._clock, plain, 0)
        except NetworkError:
            raise first from None
        text = f"request to HTTPS lifecycle hook {address} got HTTP response, retry with HTTP succeeded"
        self._events.event(pod, "Warning", "LifecycleHTTPFallback", text)
