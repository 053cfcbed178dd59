"""The network of a private node: probes, hooks and simulated containers use real sockets.

Virtual time does not advance during a real exchange; the simulated duration is added. Without a response, the exchange
waits only briefly in real time, and virtual time advances to the caller's timeout.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import TYPE_CHECKING

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.golang.file_errors import errno_text
from kubesim.linux.private_node.holder_client import PrivateNode
from kubesim.runtime.network.answers import parsed_answer
from kubesim.runtime.network.node_network import (
    ConnectError,
    ConnectTimeout,
    HttpResponse,
    NetworkError,
    NodeRequest,
    ResponseTimeout,
    connection_refused,
    dial_timeout,
    join_host_port,
    no_such_host,
)
from kubesim.runtime.network.real_ports import RealPorts, Silences, plain_address
from kubesim.runtime.simulated.network import ROUND_TRIP, UNREACHABLE_AFTER, PodView, SimulatedNetwork, response_of
from kubesim.shell import HttpAnswer, Ports
from kubesim.shell import HttpRequest as ShellRequest
from kubesim.shell.kernel.ports import Failure, is_address

if TYPE_CHECKING:
    from kubesim.runtime.network.grpc_health.client import HealthCall

WALL_LIMIT_S = 3.5  # the kernel needs three seconds to detect an unreachable neighbour
_UNREACHABLE = (errno.EHOSTUNREACH, errno.ENETUNREACH)
_MOST_BYTES = 65536
_LATE = "context deadline exceeded"


class RealNetwork(SimulatedNetwork):
    """Network for the kubelet of one node and for its pods' containers; implements `Network`."""

    def __init__(self, clock: LoopClock, node: PrivateNode, silences: Silences) -> None:
        super().__init__(clock)
        self.node = node
        self.silences = silences

    def new_ports(self) -> Ports:
        return RealPorts(self.node, self.silences)

    def view(self, ports: Ports, hostname: str) -> PodView:
        return _RealView(self, ports, hostname)

    def connection(self, netns: str, address: str, port: int) -> Connection:
        return Connection(self._clock, self.node, self.silences, netns, address, port)

    async def tcp_connect(self, host: str, port: int, timeout: int) -> None:
        await (await self._dial(host, port, timeout)).connect()

    async def http_get(self, request: NodeRequest, timeout: int) -> HttpResponse:
        deadline = self._clock.now() + timeout
        if request.http2:
            raise NetworkError("runtime cni speaks HTTP/1.1 only: use runtime simulated for protocol HTTP2")
        connection = await self._dial(request.host, request.port, timeout)
        host = request.host_header or request.url.partition("://")[2].partition("/")[0]
        headers = (("Host", host), *request.headers)
        answer = await connection.request(ShellRequest(request.target, headers=headers), waits_for_close=not timeout)
        if answer is not None:
            return response_of(request, answer)
        if not timeout:
            raise NetworkError("EOF")
        await self._clock.sleep_until(deadline)
        raise ResponseTimeout("net/http: timeout awaiting response headers")

    async def grpc_health(self, host: str, port: int, service: str, timeout: int, *, tls: bool = False) -> str:
        deadline = self._clock.now() + timeout
        if tls:
            raise NetworkError("runtime cni speaks no TLS: use runtime simulated for a probe with mode TLS")
        call = await self._call(host, port, service, timeout)
        if call.is_unprocessed:  # the server is shutting down: gRPC retries once
            call = await self._call(host, port, service, timeout)
        if call.outcome is None:
            await self._clock.sleep_until(deadline)
            raise ResponseTimeout(_LATE) if call.is_connected else ConnectTimeout(_LATE)
        if isinstance(call.outcome, NetworkError):
            raise call.outcome
        return call.outcome

    async def _call(self, host: str, port: int, service: str, timeout: int) -> HealthCall:
        from kubesim.runtime.network.grpc_health.client import (
            HealthCall,  # slow import of h2, needed by few runs
        )

        connection = await self._dial(host, port, timeout)
        call = HealthCall(join_host_port(host, port), service, timeout)
        await connection.exchange(call)
        return call

    async def _dial(self, host: str, port: int, timeout: int) -> Connection:
        """Connect from the node itself."""
        if not is_address(host):
            raise no_such_host(host)
        began, address = self._clock.now(), join_host_port(host, port)
        connection = self.connection("", host, port)
        await self._clock.sleep(ROUND_TRIP)
        failure = await connection.open(timeout)
        if failure == "refused":
            raise connection_refused(address)
        if connection.has_no_route:
            raise ConnectError(f"dial tcp {address}: connect: {connection.problem}")
        if failure == "timeout" and connection.problem and not 0 < timeout < UNREACHABLE_AFTER:
            await self._clock.sleep_until(began + UNREACHABLE_AFTER)
            raise ConnectError(f"dial tcp {address}: connect: {connection.problem}")
        if failure:
            await self._clock.sleep_until(began + (timeout or UNREACHABLE_AFTER))
            raise dial_timeout(address)
        return connection


class _RealView(PodView):
    """The network of one pod's containers: real, in the pod's namespace."""

    __slots__ = ("_real",)

    def __init__(self, network: RealNetwork, ports: Ports, hostname: str) -> None:
        super().__init__(network, ports, hostname)
        self._real = network

    def remote(self, address: str, port: int) -> Connection:
        return self._real.connection(self.ports.netns, address, port)


class Connection:
    """One TCP connection from a namespace; implements the shell's `Remote`."""

    def __init__(
        self, clock: LoopClock, node: PrivateNode, silences: Silences, netns: str, address: str, port: int
    ) -> None:
        self._clock = clock
        self._node = node
        self._silences = silences
        self._netns = netns
        self._to = (address, port)
        self._socket: socket.socket | None = None
        self.problem = ""  # the kernel's error if the destination is unreachable
        self.has_no_route = False  # the kernel reports it immediately

    async def open(self, timeout: int) -> Failure:
        """Connect. The timeout is microseconds, 0: none."""
        limit_s = min(timeout / SECOND, WALL_LIMIT_S) if timeout else WALL_LIMIT_S
        try:
            made = self._node.socket(self._netns, ipv6=":" in self._to[0])
        except OSError as error:  # the namespace is gone
            self.problem = errno_text(error)
            return "timeout"
        try:
            async with self._silences.turn, self._clock.outside(limit_s, hold=True):
                await asyncio.get_running_loop().sock_connect(made, self._to)
        except TimeoutError:
            made.close()
            return "timeout"
        except OSError as error:
            made.close()
            if error.errno in _UNREACHABLE:
                self.problem, self.has_no_route = errno_text(error), error.errno == errno.ENETUNREACH
                return "timeout"
            return "refused"
        self._socket = made
        return ""

    async def connect(self) -> None:
        """Connect without a request, and wait until the other side has noticed."""
        made = self._opened()
        with made:
            try:
                made.shutdown(socket.SHUT_WR)
                async with self._silences.turn, self._clock.outside(WALL_LIMIT_S, hold=True):
                    await asyncio.get_running_loop().sock_recv(made, 1)
            except OSError:  # the other side closed early, or ignores the end
                pass

    async def request(self, request: ShellRequest, *, waits_for_close: bool = False) -> HttpAnswer | None:
        """Send an HTTP request; None if the response is not HTTP. Without a timeout wait for the server to close."""
        made, loop = self._opened(), asyncio.get_running_loop()
        head = "".join(f"{name}: {value}\r\n" for name, value in _with_host(request, self._to))
        own = plain_address(made.getsockname())
        silence = self._silences.expect(own)
        reading: asyncio.Task[bytes] | None = None
        with made:
            try:
                async with self._silences.turn, self._clock.outside(WALL_LIMIT_S, hold=True):
                    text = f"{request.method} {request.path} HTTP/1.1\r\n{head}Connection: close\r\n\r\n"
                    await loop.sock_sendall(made, text.encode("latin-1", "replace"))
                    reading = loop.create_task(_all_of(made))
                    await asyncio.wait((reading, silence), return_when=asyncio.FIRST_COMPLETED)
                if waits_for_close:
                    await reading
                return parsed_answer(reading.result(), request.method) if reading.done() else None
            except OSError:
                return None
            finally:
                self._silences.forget(own)
                silence.cancel()
                if reading is not None:
                    reading.cancel()

    async def exchange(self, call: HealthCall) -> None:
        """Copy data in both directions until the connection ends; it stays open while the other side is silent."""
        made, loop = self._opened(), asyncio.get_running_loop()
        with made:
            try:
                async with self._silences.turn, self._clock.outside(WALL_LIMIT_S, hold=True):
                    while call.outcome is None:
                        await loop.sock_sendall(made, call.to_send())
                        data = await loop.sock_recv(made, _MOST_BYTES)
                        if data:
                            call.receive(data)
                        else:
                            call.broke("EOF")
            except TimeoutError:
                pass
            except OSError as error:
                here, there = (join_host_port(*plain_address(name)) for name in (made.getsockname(), self._to))
                call.broke(f"read tcp {here}->{there}: read: {errno_text(error)}")

    def _opened(self) -> socket.socket:
        assert self._socket is not None
        made, self._socket = self._socket, None
        return made


def _with_host(request: ShellRequest, to: tuple[str, int]) -> tuple[tuple[str, str], ...]:
    if any(name.lower() == "host" for name, _ in request.headers):
        return request.headers
    return (("Host", join_host_port(*to)), *request.headers)


async def _all_of(made: socket.socket) -> bytes:
    parts = []
    while part := await asyncio.get_running_loop().sock_recv(made, _MOST_BYTES):
        parts.append(part)
    return b"".join(parts)
