"""Probes and hooks of real containers: real sockets on this machine, and the kubelet's words for failures."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import grpc
import grpc.aio
import pytest

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.runtime.network.host_network import HostNetwork
from kubesim.runtime.network.node_network import (
    ConnectError,
    HttpResponse,
    NetworkError,
    NodeRequest,
    ResponseTimeout,
)

HERE = "127.0.0.1"


def serving(
    answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    use: Callable[[HostNetwork, int], Awaitable[Any]],
) -> Any:
    ended = asyncio.Queue[None]()

    async def answer_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        except ConnectionError:
            pass  # the client does not wait
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        ended.put_nowait(None)

    async def main() -> Any:
        clock = LoopClock()
        clock.begin(1.0)
        server = await asyncio.start_server(answer_and_close, HERE, 0)
        try:
            return await use(HostNetwork(clock), server.sockets[0].getsockname()[1])
        finally:
            with clock.external():
                await ended.get()
            server.close()

    return run_virtual(main)


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind((HERE, 0))
        port: int = bound.getsockname()[1]
        return port


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


def http(text: bytes) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(text)

    return answer


async def get(network: HostNetwork, port: int) -> HttpResponse:
    return await network.http_get(
        NodeRequest("http", HERE, port, "/healthz", f"http://{HERE}:{port}/healthz"), SECOND // 2
    )


def test_a_connection_succeeds_or_is_refused() -> None:
    async def connect(network: HostNetwork, port: int) -> None:
        await network.tcp_connect(HERE, port, SECOND)
        closed = free_port()
        with pytest.raises(ConnectError, match=f"^dial tcp {HERE}:{closed}: connect: connection refused$"):
            await network.tcp_connect(HERE, closed, SECOND)

    serving(silent, connect)


def test_an_http_answer() -> None:
    text = b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 5\r\n\r\nhello"
    answer = serving(http(text), get)
    assert (answer.status, answer.body, answer.location) == (302, b"hello", "/there")


@pytest.mark.parametrize(
    ("text", "problem"),
    [(b"", "EOF"), (b"220 mail ready\r\n", 'malformed HTTP response "220 mail ready"')],
)
def test_an_answer_that_is_not_http(text: bytes, problem: str) -> None:
    with pytest.raises(NetworkError) as raised:
        serving(http(text), get)
    assert str(raised.value) == problem


def test_an_answer_that_does_not_come() -> None:
    with pytest.raises(ResponseTimeout):
        serving(silent, get)


@pytest.mark.parametrize(("answer", "status"), [(b"\x08\x01", "SERVING"), (b"\x08\x02", "NOT_SERVING")])
def test_a_health_check_of_a_real_grpc_server(answer: bytes, status: str) -> None:
    async def check(request: bytes, context: object) -> bytes:
        return answer

    async def main() -> str:
        clock = LoopClock()
        clock.begin(1.0)
        server = grpc.aio.server()
        method = {"Check": grpc.unary_unary_rpc_method_handler(check)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc.health.v1.Health", method),))
        port = server.add_insecure_port(f"{HERE}:0")
        with clock.external():
            await server.start()
        try:
            return await HostNetwork(clock).grpc_health(HERE, port, "", 5 * SECOND)
        finally:
            with clock.external():
                await server.stop(None)

    assert run_virtual(main) == status
