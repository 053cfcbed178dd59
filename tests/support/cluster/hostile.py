"""Hostile API servers on loopback, each in its own thread."""

from __future__ import annotations

import asyncio
import functools
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

PATIENCE = 30
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
ESCAPE = "\\u001b[31m"
_UNAUTHORIZED = b'{"kind":"Status","code":401,"reason":"Unauthorized","message":"the token %s has expired"}'
_DEEP = b'{"kind":"Pod","metadata":' + b'{"a":' * 500_000 + b"1" + b"}" * 500_000 + b"}"
# Too deep for recursive code, but not for the JSON decoder.
_RATHER_DEEP = b'{"kind":"Pod","metadata":' + b'{"a":' * 400 + b"1" + b"}" * 400 + b"}"


def _whole(body: bytes, head: bytes = HEAD) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


@functools.cache
def _bomb() -> bytes:
    """A compression bomb: 256 MiB in 256 KiB."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    packed = packer.compress(b'{"kind":"') + b"".join(packer.compress(b"0" * (1 << 20)) for _ in range(256))
    return _whole(packed + packer.flush(), HEAD + b"Content-Encoding: gzip\r\n")


ANSWERS: dict[str, Callable[[], bytes]] = {
    "garbage": lambda: _whole(bytes(range(256)) * 100),
    "not-http": lambda: bytes(range(256)) * 100,
    "html": lambda: _whole(b"<html><body>please log in</body></html>"),
    "html-502": lambda: _whole(b"<html>\x1b[31mbad gateway</html>", b"HTTP/1.1 502 Bad Gateway\r\n"),
    "redirect": lambda: b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/\r\nContent-Length: 0\r\n\r\n",
    "deep": lambda: _whole(_DEEP),
    "rather-deep": lambda: _whole(_RATHER_DEEP),
    "empty-object": lambda: _whole(b"{}"),
    "null": lambda: _whole(b"null"),
    "list": lambda: _whole(b"[]"),
    "wrong-kind": lambda: _whole(b'{"kind":"Secret","metadata":{"name":"a","resourceVersion":"1"}}'),
    "many-values": lambda: _whole(b'{"kind":"PodList","items":[' + b"{}," * 4_000_000 + b"{}]}"),
    "bomb": _bomb,
    "unauthorized": lambda: _whole(_UNAUTHORIZED % ESCAPE.encode(), b"HTTP/1.1 401 Unauthorized\r\n"),
}


async def _endless(kind: str, writer: asyncio.StreamWriter) -> None:
    """Send data until the client disconnects."""
    if kind == "silent":
        await asyncio.sleep(PATIENCE)
        return
    writer.write(HEAD + b"\r\n")
    number = 0
    while True:
        number += 1
        if kind == "endless-body":
            writer.write(b"x" * 65536)
        elif kind == "endless-pods":
            metadata = b'{"name":"p%d","namespace":"a","uid":"u%d","resourceVersion":"%d"}' % (number, number, number)
            writer.write(b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":%s}}\n' % metadata)
        else:
            writer.write(b" ")
            await asyncio.sleep(0.1)
        await writer.drain()


async def _serve(kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with suppress(OSError, asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n"):
                if kind in ANSWERS:
                    writer.write(ANSWERS[kind]())
                    await writer.drain()
                else:
                    await _endless(kind, writer)
    finally:
        writer.transport.abort()


@contextmanager
def hostile_server(kind: str) -> Iterator[str]:
    """Start the server; returns its address."""
    ready, address = threading.Event(), []
    stop: list[Callable[[], object]] = []

    async def run() -> None:
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(functools.partial(_serve, kind), "127.0.0.1", 0)
        address.append(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        stop.append(lambda: loop.call_soon_threadsafe(over.set))
        ready.set()
        await over.wait()
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(run()), name="hostile", daemon=True)
    thread.start()
    assert ready.wait(PATIENCE)
    try:
        yield address[0]
    finally:
        stop[0]()
        thread.join(PATIENCE)
        assert not thread.is_alive()
