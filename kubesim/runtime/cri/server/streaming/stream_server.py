"""The HTTP server of streams, on loopback.

Mirrors: k8s.io/cri-streaming/pkg/streaming/server.go; containerd internal/cri/server/streaming.go
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from kubesim.errors import ApiError, RuntimeCallError
from kubesim.golang.text import quoted
from kubesim.runtime.cri.server.container_calls import ContainerCalls
from kubesim.runtime.cri.server.failures import failure
from kubesim.runtime.cri.server.node import ServedNode
from kubesim.runtime.cri.server.streaming.requests import StreamRequests, check_streams
from kubesim.runtime.cri.wire import cri_pb2
from kubesim.runtime.simulated.streaming.commands import StreamOptions, stream_attach, stream_exec
from kubesim.runtime.simulated.streaming.forwarding import stream_ports

HOST = "127.0.0.1"


class StreamServer:
    """`address` is where it listens, after `start`."""

    def __init__(self, node: ServedNode, containers: ContainerCalls, requests: StreamRequests) -> None:
        self.address = ""
        self._node = node
        self._containers = containers
        self._requests = requests
        self._runner: web.ServerRunner | None = None

    async def start(self) -> None:
        self._runner = web.ServerRunner(web.Server(self._handle, access_log=None), handle_signals=False)
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, 0)
        await site.start()
        self.address = f"http://{HOST}:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    # -- the calls of RuntimeService ----------------------------------------------------------------------------

    async def exec(self, request: Any) -> Any:
        problem = f"failed to find container {quoted(request.container_id)} in store"
        request.container_id = (await self._containers.running(request.container_id, problem)).id
        check_streams(request)
        return cri_pb2.ExecResponse(url=self._url("exec", request))

    async def attach(self, request: Any) -> Any:
        served = await self._containers.running(request.container_id, "failed to find container in store")
        request.container_id = served.id
        check_streams(request)
        return cri_pb2.AttachResponse(url=self._url("attach", request))

    async def port_forward(self, request: Any) -> Any:
        problem = f"failed to find sandbox {quoted(request.pod_sandbox_id)}"
        served = self._node.sandboxes.get(request.pod_sandbox_id, problem)
        if not (await self._node.simulated.pod_sandbox_status(served.id)).ready:
            raise failure("sandbox container is not running")
        request.pod_sandbox_id = served.id
        return cri_pb2.PortForwardResponse(url=self._url("portforward", request))

    def _url(self, kind: str, request: Any) -> str:
        return f"{self.address}/{kind}/{self._requests.insert(request)}"

    # -- streams ------------------------------------------------------------------------------------------------

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        kind, _, token = request.path.strip("/").partition("/")
        asked = self._requests.consume(token) if request.method in ("GET", "POST") else None
        expected = _KINDS.get(kind)
        if asked is None or expected is None or not isinstance(asked, expected):
            return web.Response(status=404, text="404 page not found\n")
        try:
            if kind == "portforward":
                return await self._forward(request, asked)
            return await self._command(request, asked)
        except RuntimeCallError as error:
            return web.Response(status=500, text=str(error))
        except ApiError as error:
            return web.Response(status=error.code, text=str(error))

    async def _command(self, request: web.BaseRequest, asked: Any) -> web.StreamResponse:
        container = self._node.simulated.find(asked.container_id)
        if not container.runs() or container.process is None:
            raise failure(f"container is in CONTAINER_{container.info.state.upper()} state")
        options = StreamOptions(asked.stdin, asked.stdout, asked.stderr, asked.tty)
        if isinstance(asked, cri_pb2.AttachRequest):
            return await stream_attach(request, container, container.process, options, self._node.clock)
        return await stream_exec(request, container.process, tuple(asked.cmd), options, self._node.clock)

    async def _forward(self, request: web.BaseRequest, asked: Any) -> web.StreamResponse:
        served = self._node.sandboxes.known(asked.pod_sandbox_id)
        uid = "" if served is None else served.config.pod.metadata.uid
        return await stream_ports(request, asked.pod_sandbox_id, self._node.ports_of(uid))


_KINDS: dict[str, type] = {
    "exec": cri_pb2.ExecRequest,
    "attach": cri_pb2.AttachRequest,
    "portforward": cri_pb2.PortForwardRequest,
}
