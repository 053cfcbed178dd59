"""The HTTPS server of one simulated kubelet: logs, streams into containers, its pods, health, metrics and usage.

`kubectl logs` and `exec` go from the API server to `status.daemonEndpoints.kubeletEndpoint.Port` of the node.

Mirrors: pkg/kubelet/server/server.go
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable

from aiohttp import hdrs, web

from kubesim.app import Simulation
from kubesim.clock.real_clock import RealClock
from kubesim.cluster.served.http import GOODBYE_S, HANDSHAKE_S, KEEPALIVE_S, MAX_HEAD
from kubesim.errors import ApiError
from kubesim.kubelet.server import answer
from kubesim.scenario.play.node.simulated_node import SimulatedNode
from kubesim.up.commands import serve_attach, serve_exec
from kubesim.up.forwarding import serve_port_forward
from kubesim.up.kubelet.access import KubeletAccess, client_verifying
from kubesim.up.kubelet.endpoints import KubeletEndpoint
from kubesim.up.kubelet.requests import KubeletRequest, attributes_of, parse_path, query_of
from kubesim.up.kubelet.summary import summary
from kubesim.up.logs import serve_log
from kubesim.up.pods import PodRequest, Pods

_STREAMS: dict[str, Callable[[PodRequest, web.BaseRequest], Awaitable[web.StreamResponse]]] = {
    "containerLogs": serve_log,
    "exec": serve_exec,
    "attach": serve_attach,
    "portForward": serve_port_forward,
}
_PAGES = ("healthz", "pods", "metrics", "statusz")


class KubeletServer:
    """Serves for one node until closed. `clock` is the clock of the clients."""

    def __init__(self, simulation: Simulation, name: str, clock: RealClock, access: KubeletAccess) -> None:
        self._simulation = simulation
        self._name = name
        self._pods = Pods(simulation, clock)
        self._access = access
        self._sockets: asyncio.Server | None = None
        self._runner: web.ServerRunner | None = None

    async def start(self, endpoint: KubeletEndpoint, tls: Callable[[], ssl.SSLContext], speed: float) -> None:
        server = web.Server(
            self._serve,
            handler_cancellation=True,
            access_log=None,
            keepalive_timeout=KEEPALIVE_S * speed,
            max_line_size=MAX_HEAD,
            max_field_size=MAX_HEAD,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        self._sockets = await asyncio.get_running_loop().create_server(
            server,
            sock=endpoint.listening,
            ssl=client_verifying(tls, self._access.settings.client_ca),
            ssl_handshake_timeout=HANDSHAKE_S * speed,
            ssl_shutdown_timeout=GOODBYE_S * speed,
        )

    async def close(self) -> None:
        if self._sockets is not None:
            self._sockets.close()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        node = self._simulation.nodes[self._name]
        if not node.kubelet_runs:  # nothing listens then
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionResetError
        asked = parse_path(request.raw_path)
        try:
            await self._authorize(request, asked)
            return await self._answer(request, asked, node)
        except ApiError as error:
            return web.Response(status=error.code or 500, text=error.message)

    async def _authorize(self, request: web.BaseRequest, asked: KubeletRequest) -> None:
        """Raises ApiError."""
        certificate = request.get_extra_info("peercert")
        user = await self._access.user(certificate, request.headers.get(hdrs.AUTHORIZATION, ""))
        if user is None:
            raise ApiError(401, "Unauthorized", "Unauthorized")
        needed = attributes_of(request.method, asked.kind, self._name)
        verb = needed[0].verb
        for each in needed:
            try:
                if await self._access.allows(user, each):
                    return
            except ApiError:
                about = f"user={user.name}, verb={verb}, resource=nodes, subresource={each.subresource}"
                raise ApiError(500, "", f"Authorization error ({about})") from None
        subresources = " ".join(each.subresource for each in needed)
        about = f"user={user.name}, verb={verb}, resource=nodes, subresource(s)=[{subresources}]"
        raise ApiError(403, "Forbidden", f"Forbidden ({about})\n")

    async def _answer(self, request: web.BaseRequest, asked: KubeletRequest, node: SimulatedNode) -> web.StreamResponse:
        if asked.pod and asked.kind in _STREAMS:
            if request.method not in (("GET",) if asked.kind == "containerLogs" else ("GET", "POST")):
                raise ApiError(405, "", "405: Method Not Allowed")
            self._check_pod(asked)
            found = PodRequest(self._pods, asked.namespace, asked.pod, query_of(request.raw_path, asked.container))
            return await _STREAMS[asked.kind](found, request)
        now = self._simulation.clock.now()
        if asked.kind == "stats" and asked.rest == ("summary",) and request.method in ("GET", "POST"):
            return web.json_response(summary(node, now))
        if asked.kind == "healthz" and asked.rest in (("ping",), ("log",), ("syncloop",)):
            asked = KubeletRequest("healthz")
        if asked.kind not in _PAGES or asked.rest:
            raise ApiError(404, "NotFound", "404 page not found")
        status, kind, text = answer(request.method, f"/{asked.kind}", {self._name: node.kubelet}, now)
        return web.Response(status=status, body=text.encode(), headers={hdrs.CONTENT_TYPE: kind})

    def _check_pod(self, asked: KubeletRequest) -> None:
        """Raises ApiError for a pod or container that is not on this node."""
        pod = self._simulation.store.find("Pod", asked.namespace, asked.pod)
        is_log = asked.kind == "containerLogs"
        if pod is None or self._pods.get(asked.namespace, asked.pod).spec.node_name != self._name:
            raise ApiError(404, "NotFound", f'pod "{asked.pod}" does not exist' if is_log else "pod does not exist")
        if asked.uid and asked.uid != pod.metadata.uid:
            raise ApiError(404, "NotFound", "pod not found")
        spec = self._pods.get(asked.namespace, asked.pod).spec
        names = {each.name for each in (*spec.init_containers, *spec.containers, *spec.ephemeral_containers)}
        if is_log and asked.container not in names:
            raise ApiError(404, "NotFound", f'container "{asked.container}" not found in pod "{asked.pod}"')
