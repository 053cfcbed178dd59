"""Answers requests of `kubesim up` that the store cannot answer: logs, streams into containers, metrics.

Mirrors: pkg/registry/core/pod/rest (log.go, subresources.go)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from ssl import SSLContext
from urllib.parse import parse_qsl, urlsplit

from aiohttp import web

from kubesim.api.node import Node
from kubesim.app import Simulation
from kubesim.clock import LoopClock
from kubesim.cluster.problems import status_of
from kubesim.cluster.served.rest import Request, Response
from kubesim.cluster.wire import encoded
from kubesim.errors import ApiError
from kubesim.up.commands import serve_attach, serve_exec
from kubesim.up.forwarding import serve_port_forward
from kubesim.up.kubelet.proxy import Location, forward, location_of
from kubesim.up.logs import serve_log
from kubesim.up.metrics import with_metrics
from kubesim.up.pods import PodRequest, Pods
from kubesim.up.state import StateLog

Handler = Callable[[PodRequest, web.BaseRequest], Awaitable[web.StreamResponse]]
_HANDLERS: dict[str, Handler] = {
    "log": serve_log,
    "exec": serve_exec,
    "attach": serve_attach,
    "portforward": serve_port_forward,
}


class BesideStore:
    """Implements `Beside` for the nodes of a simulation. `clock` is the clients' clock; `kubelet_client` is for the
    connections to kubelets of other processes."""

    def __init__(
        self, simulation: Simulation, clock: LoopClock, kubelet_client: SSLContext, state: StateLog | None = None
    ) -> None:
        self._simulation = simulation
        self._pods = Pods(simulation, clock)
        self._kubelet_client = kubelet_client
        self._state = state

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse | None:
        url = urlsplit(request.raw_path)
        match url.path.strip("/").split("/"):
            case ["api", "v1", "namespaces", namespace, "pods", name, kind] if kind in _HANDLERS:
                query: dict[str, list[str]] = {}
                for key, value in parse_qsl(url.query, keep_blank_values=True):
                    query.setdefault(key, []).append(value)
                asked = PodRequest(self._pods, namespace, name, query)
                try:
                    if (elsewhere := self._elsewhere(kind, asked)) is not None:
                        return await forward(elsewhere, kind, request, self._kubelet_client)
                    return await _HANDLERS[kind](asked, request)
                except ApiError as error:
                    body = encoded(status_of(error))
                    return web.Response(status=error.code, body=body, content_type="application/json")
        return None

    def _elsewhere(self, kind: str, asked: PodRequest) -> Location | None:
        """The location if the pod runs on a node of another process. Raises ApiError."""
        name = asked.pod().spec.node_name
        node = None if name in self._simulation.nodes else self._simulation.store.find("Node", "", name)
        return location_of(node, kind, asked) if isinstance(node, Node) else None

    def extend(self, request: Request, response: Response) -> Response:
        return with_metrics(self._simulation, request, response)

    async def written(self, request: Request) -> None:
        if self._state is not None:
            await self._state.durable()
