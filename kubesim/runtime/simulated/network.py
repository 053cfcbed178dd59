"""The simulated network: addresses, listeners, and requests of probes, hooks and containers.

One per cluster. Pods are added and removed with their address; a host-network pod listens at its node's address.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from kubesim.api.pod import Container
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import Awaited, LoopClock, wake
from kubesim.runtime.network.node_network import (
    ConnectError,
    GrpcStatusError,
    HttpResponse,
    NetworkError,
    NodeRequest,
    ResponseTimeout,
    connection_refused,
    dial_timeout,
    join_host_port,
    no_route_to_host,
    no_such_host,
)
from kubesim.runtime.simulated.disturbances.dependencies import NO_CALLS, CallOutcome
from kubesim.shell import HttpAnswer, Listener, Ports
from kubesim.shell import HttpRequest as ShellRequest
from kubesim.shell.kernel.ports import AddressInUse, LoopbackNetwork, is_address
from kubesim.values import part

ROUND_TRIP = MILLISECOND
# Go's client error for a server with another HTTP version. It quotes the first bytes of the HTTP/2 frame.
_HTTP2_TO_HTTP1 = (
    "http2: failed reading the frame payload: http2: frame too large, "
    "note that the frame header looked like an HTTP/1.1 header"
)
_HTTP1_TO_HTTP2 = "net/http: HTTP/1.x transport connection broken: malformed HTTP response"
UNREACHABLE_AFTER = 3 * SECOND  # how long Linux tries to resolve an unreachable neighbour


class SimulatedNetwork:
    """Implements the nodes' `Network` (kubesim/runtime/network/node_network.py)."""

    def __init__(self, clock: LoopClock) -> None:
        self._clock = clock
        self._by_address: dict[str, Ports] = {}

    def attach(self, address: str, ports: Ports) -> None:
        self._by_address[address] = ports

    def detach(self, address: str) -> None:
        self._by_address.pop(address, None)

    def reach(self, address: str) -> Ports | None:
        return self._by_address.get(address)

    def new_ports(self) -> Ports:
        """Create the ports of a pod or a node."""
        return Ports()

    def view(self, ports: Ports, hostname: str) -> PodView:
        return PodView(self, ports, hostname)

    async def tcp_connect(self, host: str, port: int, timeout: int) -> None:
        (await self._connect(host, port, timeout)).connect()

    async def http_get(self, request: NodeRequest, timeout: int) -> HttpResponse:
        listener = await self._connect(request.host, request.port, timeout)
        if request.http2 != listener.http2 and (listener.answer is not None or listener.http2):
            listener.connect()
            raise NetworkError(_HTTP2_TO_HTTP1 if request.http2 else _HTTP1_TO_HTTP2)
        if isinstance(listener, DependentListener):
            await self._depend(listener, request.target.partition("?")[0], timeout)
        answer = listener.request(ShellRequest(request.target, headers=request.headers))
        if answer is None:
            await self._no_answer(listener, timeout)
        return response_of(request, answer)

    async def _depend(self, listener: DependentListener, path: str, timeout: int) -> None:
        """A listener that calls its dependencies before it responds."""
        latency = listener.depend(path).latency
        if timeout and latency >= timeout - ROUND_TRIP:
            await self._no_answer(listener, timeout)
        if latency:
            await self._clock.sleep(latency)

    async def _no_answer(self, listener: Listener, timeout: int) -> NoReturn:
        """Without a response. A caller without a timeout gets the server's end as an error."""
        if timeout:
            await self._clock.sleep(max(timeout - ROUND_TRIP, 0))
            raise ResponseTimeout("net/http: timeout awaiting response headers")
        closed: Awaited[None] = Awaited(f"an answer of port {listener.port}")
        listener.on_close.append(lambda: wake(closed, None))
        await closed
        raise NetworkError("EOF")

    async def grpc_health(self, host: str, port: int, service: str, timeout: int, *, tls: bool = False) -> str:
        """A server without gRPC closes the connection, so gRPC is not connected. The same goes for TLS."""
        listener = await self._connect(host, port, timeout)
        if listener.tls != tls:
            raise ConnectError("error reading server preface: EOF")
        if isinstance(listener, DependentListener):
            await self._depend(listener, service, timeout)
        status = listener.check(service)
        if listener.health is None:
            raise ConnectError("error reading server preface: EOF")
        if status is None:
            raise GrpcStatusError("NotFound", "unknown service")
        return status

    async def _connect(self, host: str, port: int, timeout: int) -> Listener:
        if not is_address(host):
            raise no_such_host(host)
        address = join_host_port(host, port)
        ports = self._by_address.get(host)
        if ports is None:
            await self._clock.sleep(min(timeout, UNREACHABLE_AFTER) if timeout else UNREACHABLE_AFTER)
            raise dial_timeout(address) if timeout and timeout < UNREACHABLE_AFTER else no_route_to_host(address)
        await self._clock.sleep(ROUND_TRIP)
        listener = ports.at(port)
        if listener is None:
            raise connection_refused(address)
        return listener


def response_of(request: NodeRequest, answer: HttpAnswer) -> HttpResponse:
    """The client's interpretation of a response. TLS is not supported here."""
    if request.scheme.lower() == "https":
        raise NetworkError("http: server gave HTTP response to HTTPS client")
    location = next((value for name, value in answer.headers if name.lower() == "location"), "")
    return HttpResponse(answer.status, answer.body.encode(), location)


class PodView(LoopbackNetwork):
    """The network of one pod's containers: their own pod, and everything reachable on the cluster network."""

    __slots__ = ("_network",)

    def __init__(self, network: SimulatedNetwork, ports: Ports, hostname: str, address: str = "") -> None:
        super().__init__(ports, address, hostname)
        self._network = network

    def reach(self, address: str) -> Ports | None:
        return super().reach(address) or self._network.reach(address)


@part
class DependentListener(Listener):
    """A listener with dependencies; `asked` is their outcome for the current request."""

    ask: Callable[[str], CallOutcome] = lambda path: NO_CALLS
    asked: CallOutcome = NO_CALLS

    def depend(self, path: str) -> CallOutcome:
        self.asked = self.ask(path)
        return self.asked


def listen_on(ports: Ports, container: Container, ask: Callable[[str], CallOutcome] | None = None) -> list[Listener]:
    """An unknown program serves the container's declared ports: HTTP with 200, gRPC health with SERVING. With `ask` it
    calls its dependencies first, and responds with 503 and NOT_SERVING if one is down.
    """
    listeners = []
    for port in container.ports:
        if port.protocol in ("", "TCP"):
            with suppress(AddressInUse):  # another container of the pod has the port
                made = Listener(port.container_port, answer=_ok, health=_well)
                listeners.append(ports.listen(made if ask is None else _dependent(port.container_port, ask)))
    return listeners


def _dependent(port: int, ask: Callable[[str], CallOutcome]) -> Listener:
    listener = DependentListener(port, ask=ask)

    def answer(request: ShellRequest) -> HttpAnswer:
        down = listener.asked.down
        return HttpAnswer(503, f"{down} is down\n") if down else _ok(request)

    listener.answer = answer
    listener.health = lambda service: "NOT_SERVING" if listener.asked.down else _well(service)
    return listener


def _ok(request: ShellRequest) -> HttpAnswer:
    return HttpAnswer(200, "ok\n")


def _well(service: str) -> str:
    return "SERVING"
