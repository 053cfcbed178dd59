"""The read-only server: one response per connection, with any client."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from kubesim.clock import run_virtual
from kubesim.concurrency import TaskSet
from kubesim.errors import UsageError
from kubesim.kubelet.server import MAX_REQUEST, Answer, ReadOnlyServer, is_our_name


def echo(method: str, target: str) -> Answer:
    return 200, "text/plain", f"{method} {target}"


@asynccontextmanager
async def serving() -> AsyncIterator[int]:
    server = ReadOnlyServer(echo)
    with anyio.fail_after(5):
        async with TaskSet() as tasks:
            await server.start(tasks, "127.0.0.1", 0)
            yield int(server.address.rpartition(":")[2])


async def asked(port: int, request: bytes, *, end: bool = False) -> bytes:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(request)
        if end:
            await stream.send_eof()
        reply = b""
        async for part in stream:
            reply += part
        return reply


def test_a_request_gets_its_response_and_the_connection_ends() -> None:
    async def main() -> bytes:
        async with serving() as port:
            return await asked(port, b"GET /pods HTTP/1.1\r\nHost: localhost\r\n\r\n")

    head, _, body = anyio.run(main).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert body == b"GET /pods"


@pytest.mark.parametrize(("request_", "end"), [(b"GET", True), (b"x" * (MAX_REQUEST + 5), False)])
def test_an_invalid_request_is_rejected(request_: bytes, end: bool) -> None:
    async def main() -> bytes:
        async with serving() as port:
            return await asked(port, request_, end=end)

    assert anyio.run(main).startswith(b"HTTP/1.1 400 ")


def test_a_silent_client_does_not_block_the_end() -> None:
    async def main() -> None:
        async with serving() as port, await anyio.connect_tcp("127.0.0.1", port) as silent:
            await asked(port, b"GET / HTTP/1.1\r\n\r\n")
            await silent.send(b"GET")

    anyio.run(main)


def test_the_server_starts_and_ends_in_virtual_time() -> None:
    async def main() -> str:
        server = ReadOnlyServer(echo)
        async with TaskSet() as tasks:
            await server.start(tasks, "localhost", 0)
        return server.address

    assert run_virtual(main).startswith("http://")


def test_a_port_in_use_is_a_usage_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        async def main() -> None:
            async with TaskSet() as tasks:
                await ReadOnlyServer(echo).start(tasks, "127.0.0.1", port)

        with pytest.raises(UsageError, match=f"cannot serve on 127.0.0.1:{port}: "):
            anyio.run(main)


def test_another_host_name_gets_no_response() -> None:
    async def main() -> bytes:
        async with serving() as port:
            return await asked(port, f"GET /pods HTTP/1.1\r\nhOst: evil.example:{port}\r\n\r\n".encode())

    reply = anyio.run(main)
    assert reply.startswith(b"HTTP/1.1 421 Misdirected Request\r\n")
    assert b"GET /pods" not in reply
    assert b"Access-Control" not in reply


@pytest.mark.parametrize(
    ("header", "served", "ours"),
    [
        ("", "127.0.0.1", True),
        ("127.0.0.1:10255", "127.0.0.1", True),
        ("localhost:10255", "127.0.0.1", True),
        ("[::1]:10255", "127.0.0.1", True),
        ("evil.example", "127.0.0.1", False),
        ("192.0.2.7:10255", "127.0.0.1", False),
        ("192.0.2.7:10255", "192.0.2.7", True),
        ("192.0.2.7:10255", "0.0.0.0", True),
        ("evil.example:10255", "0.0.0.0", False),
        ("node.example", "node.example", True),
        ("[2001:db8::1]:80", "::", True),
    ],
)
def test_names_of_the_server(header: str, served: str, ours: bool) -> None:
    assert is_our_name(header, served) is ours
