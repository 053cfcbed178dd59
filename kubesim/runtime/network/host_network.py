"""The network of this machine: probes and hooks of real containers, over real sockets and in real time.

Mirrors: pkg/probe/{tcp,http,grpc}: net.Dialer, http.Client, the client of grpc.health.v1
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.golang.file_errors import errno_text
from kubesim.runtime.network.answers import parsed_answer
from kubesim.runtime.network.node_network import (
    BodyError,
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
from kubesim.values import part

if TYPE_CHECKING:
    from kubesim.runtime.network.grpc_health.client import HealthCall

UNLIMITED_S = 130.0  # the kernel gives up a connection after 127 s
_MOST_BYTES = 65536
_LONGEST_BODY = 1 << 20
_LATE = "context deadline exceeded"


@part
class _Link:
    """A connection of this machine."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class HostNetwork:
    """Implements `NodeNetwork`."""

    def __init__(self, clock: LoopClock) -> None:
        self._clock = clock

    async def tcp_connect(self, host: str, port: int, timeout: int) -> None:
        async with self._link(host, port, timeout):
            pass

    async def http_get(self, request: NodeRequest, timeout: int) -> HttpResponse:
        if request.http2:
            raise NetworkError("runtime cri speaks HTTP/1.1 only: use runtime simulated for protocol HTTP2")
        deadline = self._clock.now() + timeout
        secure = request.scheme.lower() == "https"
        async with self._link(request.host, request.port, timeout, tls=secure) as link:
            return await self._exchange(link, request, timeout and max(deadline - self._clock.now(), 1))

    async def _exchange(self, link: _Link, request: NodeRequest, timeout: int) -> HttpResponse:
        received = bytearray()
        try:
            async with self._clock.outside(_limit_s(timeout)):
                link.writer.write(_request_bytes(request))
                await link.writer.drain()
                while len(received) < _LONGEST_BODY and (data := await link.reader.read(_MOST_BYTES)):
                    received += data
        except TimeoutError:
            if b"\r\n\r\n" in received:
                raise BodyError(f"{_LATE} (Client.Timeout or context cancellation while reading body)") from None
            raise ResponseTimeout("net/http: timeout awaiting response headers") from None
        except OSError as error:
            if b"\r\n\r\n" not in received:
                raise NetworkError(f"read tcp: {_text(error)}") from None
        answer = parsed_answer(bytes(received), "GET")
        if answer is None:
            raise NetworkError(_no_answer(bytes(received)))
        location = next((value for name, value in answer.headers if name.lower() == "location"), "")
        return HttpResponse(answer.status, answer.body.encode(), location)

    async def grpc_health(self, host: str, port: int, service: str, timeout: int, *, tls: bool = False) -> str:
        call = await self._call(host, port, service, timeout, tls)
        if call.is_unprocessed:  # by a server that goes away: gRPC itself tries once more
            call = await self._call(host, port, service, timeout, tls)
        if call.outcome is None:
            raise ResponseTimeout(_LATE) if call.is_connected else ConnectTimeout(_LATE)
        if isinstance(call.outcome, NetworkError):
            raise call.outcome
        return call.outcome

    async def _call(self, host: str, port: int, service: str, timeout: int, tls: bool) -> HealthCall:
        from kubesim.runtime.network.grpc_health.client import HealthCall  # h2 is slow to import

        deadline = self._clock.now() + timeout
        call = HealthCall(join_host_port(host, port), service, timeout)
        async with self._link(host, port, timeout, tls=tls, protocols=["h2"]) as link:
            try:
                async with self._clock.outside(_limit_s(max(deadline - self._clock.now(), 1))):
                    while call.outcome is None:
                        link.writer.write(call.to_send())
                        await link.writer.drain()
                        if data := await link.reader.read(_MOST_BYTES):
                            call.receive(data)
                        else:
                            call.broke("EOF")
            except TimeoutError:
                pass
            except OSError as error:
                call.broke(_text(error))
        return call

    @asynccontextmanager
    async def _link(
        self, host: str, port: int, timeout: int, *, tls: bool = False, protocols: list[str] | None = None
    ) -> AsyncIterator[_Link]:
        link = await self._dial(host, port, timeout, _unverified(protocols) if tls else None)
        try:
            yield link
        finally:
            link.writer.transport.abort()  # what the other side still has to say does not matter

    async def _dial(self, host: str, port: int, timeout: int, secure: ssl.SSLContext | None) -> _Link:
        address = join_host_port(host, port)
        try:
            async with self._clock.outside(_limit_s(timeout)):
                return _Link(*await asyncio.open_connection(host, port, ssl=secure))
        except TimeoutError:
            raise dial_timeout(address) from None
        except socket.gaierror:
            raise no_such_host(host) from None
        except ConnectionRefusedError:
            raise connection_refused(address) from None
        except ssl.SSLError as error:
            if error.reason == "WRONG_VERSION_NUMBER":
                raise NetworkError("http: server gave HTTP response to HTTPS client") from None
            raise NetworkError(f"tls: {(error.reason or 'handshake failure').lower().replace('_', ' ')}") from None
        except OSError as error:
            if secure is not None and error.errno in (None, errno.ECONNRESET):
                raise NetworkError("EOF") from None
            raise ConnectError(f"dial tcp {address}: connect: {_text(error)}") from None


def _limit_s(timeout: int) -> float:
    return timeout / SECOND if timeout else UNLIMITED_S


def _text(error: OSError) -> str:
    return errno_text(error)


def _request_bytes(request: NodeRequest) -> bytes:
    host = request.host_header or request.url.partition("://")[2].partition("/")[0]
    headers = (("Host", host), *request.headers, ("Connection", "close"))
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"GET {request.target} HTTP/1.1\r\n{head}\r\n".encode("latin-1", "replace")


def _no_answer(received: bytes) -> str:
    """What Go's client says about an answer that is no HTTP."""
    if not received:
        return "EOF"
    line = received.split(b"\n", 1)[0].rstrip(b"\r").decode("latin-1")
    return f'malformed HTTP response "{line}"'


def _unverified(protocols: list[str] | None) -> ssl.SSLContext:
    """Probes accept any certificate."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    if protocols:
        made.set_alpn_protocols(protocols)
    return made
