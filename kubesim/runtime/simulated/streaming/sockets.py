"""Copies bytes between a stream of a client and a real socket, until the server ends.

Mirrors: containerd internal/cri/server sandbox_portforward.go
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

from kubesim.clock import Awaited
from kubesim.cluster.streams.spdy import SpdyStream
from kubesim.concurrency import TaskSet

_PIECE = 1 << 16


async def forward_socket(connection: socket.socket, data: SpdyStream, drained: Callable[[], Awaitable[None]]) -> None:
    """Forward until the server ends or one side breaks, then close the socket. `drained` waits for a slow client."""
    inbox = _Inbox()
    data.listen(inbox.put)
    with connection:
        async with TaskSet() as tasks:
            tasks.start("to the server", _send(connection, inbox))
            with suppress(OSError):
                await _receive(connection, data, drained)
            data.end()


class _Inbox:
    """Bytes of the client; empty ones are its end."""

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._has_data: Awaited[None] | None = None

    def put(self, data: bytes) -> None:
        self._pieces.append(data)
        if self._has_data is not None and not self._has_data.done():
            self._has_data.set_result(None)

    async def get(self) -> bytes:
        while not self._pieces:
            self._has_data = Awaited("bytes of a client")
            await self._has_data
        return self._pieces.popleft()


async def _send(connection: socket.socket, inbox: _Inbox) -> None:
    loop = asyncio.get_running_loop()
    with suppress(OSError):  # the server has closed
        while piece := await inbox.get():
            await loop.sock_sendall(connection, piece)
        connection.shutdown(socket.SHUT_WR)


async def _receive(connection: socket.socket, data: SpdyStream, drained: Callable[[], Awaitable[None]]) -> None:
    loop = asyncio.get_running_loop()
    while piece := await loop.sock_recv(connection, _PIECE):
        data.write(piece)
        await drained()
