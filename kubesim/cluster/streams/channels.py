"""The channels of an exec or attach: stdin, stdout, stderr, and the final status.

Over WebSocket, a byte before each message is the channel number. Over SPDY/3.1, each channel is a stream.

Mirrors: kubelet/pkg/cri/streaming/remotecommand (websocket.go, httpstream.go); apimachinery/pkg/util/remotecommand
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any, Protocol

from aiohttp import WSMsgType, hdrs, web

from kubesim.clock import Awaited, LoopClock
from kubesim.cluster.problems import bad_request
from kubesim.cluster.streams.spdy import SpdyConnection, SpdyError, SpdyStream
from kubesim.cluster.streams.upgrade import RawConnection, UpgradedResponse
from kubesim.concurrency import TaskSet

NUMBERS = {"stdin": 0, "stdout": 1, "stderr": 2, "error": 3, "resize": 4}
_NAMES = {number: name for name, number in NUMBERS.items()}
_CLOSE = 255  # precedes the number of a closed channel, in v5
WEBSOCKET_PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
SPDY_PROTOCOL = "v4.channel.k8s.io"
SPDY = "SPDY/3.1"
MAX_MESSAGE = 4 << 20
MUCH = 1 << 20  # bytes buffered for a slow client; beyond, its program blocks
_OPENING_S = 30  # timeout for all streams of a SPDY client
_POLL = 10_000


class Channels(Protocol):
    response: web.StreamResponse

    def listen(self, on_input: Callable[[bytes], None]) -> None:
        """Pass received and later input to a callback; empty bytes mean the end."""
        ...

    def send(self, channel: str, data: bytes) -> None: ...

    @property
    def waiting(self) -> int:
        """Number of bytes that the client has not read."""
        ...

    async def closed(self) -> None:
        """Wait until the client has disconnected."""
        ...

    async def finish(self, status: dict[str, Any]) -> None:
        """Send the status after all output, and close."""
        ...


def is_websocket(request: web.BaseRequest) -> bool:
    return request.headers.get(hdrs.UPGRADE, "").lower() == "websocket"


def is_spdy(request: web.BaseRequest) -> bool:
    return request.headers.get(hdrs.UPGRADE, "").upper() == SPDY


@asynccontextmanager
async def open_channels(request: web.BaseRequest, wanted: Collection[str], clock: LoopClock) -> AsyncIterator[Channels]:
    """Open the channels over the protocol that the client requests. Raises ApiError."""
    if is_websocket(request):
        async with _WebSocketChannels.open(request, wanted) as channels:
            yield channels
    elif is_spdy(request):
        spdy = _SpdyChannels(request, wanted, clock)
        await spdy.begin()
        try:
            yield spdy
        finally:
            spdy.connection.close()
    else:
        raise bad_request("Upgrade request required")


class _Input:
    """Input of a client, buffered until a reader is attached."""

    def __init__(self) -> None:
        self._early: list[bytes] = []
        self._on_input: Callable[[bytes], None] = self._early.append

    def listen(self, on_input: Callable[[bytes], None]) -> None:
        early, self._early, self._on_input = self._early, [], on_input
        for data in early:
            on_input(data)

    def received(self, data: bytes) -> None:
        self._on_input(data)


class _WebSocketChannels:
    """Implements `Channels`."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self.response: web.StreamResponse = socket
        self._input = _Input()
        self.listen = self._input.listen
        self.waiting = 0
        self._socket = socket
        self._closed = asyncio.Event()
        self._queue: deque[bytes] = deque()
        self._stirred: Awaited[None] | None = None
        self._empty: Awaited[None] | None = None

    @staticmethod
    @asynccontextmanager
    async def open(request: web.BaseRequest, wanted: Collection[str]) -> AsyncIterator[_WebSocketChannels]:
        socket = web.WebSocketResponse(protocols=WEBSOCKET_PROTOCOLS, max_msg_size=MAX_MESSAGE, timeout=1.0)
        await socket.prepare(request)
        channels = _WebSocketChannels(socket)
        first = next((name for name in ("stdout", "stderr") if name in wanted), "error")
        async with TaskSet() as tasks:
            tasks.start("websocket in", channels._read())
            tasks.start("websocket out", channels._write())
            channels.send(first, b"")  # the client waits for a first message
            yield channels
            await socket.close()

    async def _read(self) -> None:
        try:
            async for message in self._socket:
                if message.type is WSMsgType.BINARY:
                    self._received(message.data)
                elif message.type is WSMsgType.TEXT:
                    self._received(message.data.encode())
        finally:
            self._over()

    def _received(self, data: bytes) -> None:
        if not data:
            return
        if data[0] == _CLOSE and len(data) > 1 and data[1] == NUMBERS["stdin"]:
            self._input.received(b"")
        elif _NAMES.get(data[0]) == "stdin" and len(data) > 1:
            self._input.received(data[1:])

    async def _write(self) -> None:
        try:
            while True:
                while self._queue:
                    message = self._queue.popleft()
                    await self._socket.send_bytes(message)
                    self.waiting -= len(message)
                if self._empty is not None and not self._empty.done():
                    self._empty.set_result(None)
                self._stirred = Awaited("something to send")
                await self._stirred
        except ConnectionError:
            self._over()

    def send(self, channel: str, data: bytes) -> None:
        message = bytes((NUMBERS[channel],)) + data
        self._queue.append(message)
        self.waiting += len(message)
        if self._stirred is not None and not self._stirred.done():
            self._stirred.set_result(None)

    async def closed(self) -> None:
        await self._closed.wait()

    async def finish(self, status: dict[str, Any]) -> None:
        self._empty = Awaited("the last messages of a WebSocket")
        self.send("error", json.dumps(status).encode())
        if not self._closed.is_set():
            await self._empty

    def _over(self) -> None:
        self._closed.set()
        if self._empty is not None and not self._empty.done():
            self._empty.set_result(None)


class _SpdyChannels:
    """Implements `Channels`."""

    def __init__(self, request: web.BaseRequest, wanted: Collection[str], clock: LoopClock) -> None:
        self.response: web.StreamResponse = UpgradedResponse()
        self._input = _Input()
        self.listen = self._input.listen
        self.connection = RawConnection(request, self._received)
        self._clock = clock
        self._wanted = {*wanted, "error"}
        self._streams: dict[str, SpdyStream] = {}
        self._spdy = SpdyConnection(self.connection.write, self._opened)
        offered = request.headers.getall("X-Stream-Protocol-Version", [])
        names = [name.strip() for header in offered for name in header.split(",")]
        if SPDY_PROTOCOL not in names:
            raise bad_request(f"unable to negotiate protocol: client supports {names}, server supports {SPDY_PROTOCOL}")

    async def begin(self) -> None:
        """Accept the upgrade, and wait until the client has opened all streams. Raises ConnectionError."""
        self.connection.begin(SPDY, {"X-Stream-Protocol-Version": SPDY_PROTOCOL})
        deadline = self._clock.now() + _OPENING_S * 1_000_000
        while not self._wanted <= self._streams.keys():
            if self._clock.now() > deadline:
                self.connection.close()
                raise ConnectionResetError
            await self._clock.sleep(_POLL)
        if (stdin := self._streams.get("stdin")) is not None:
            stdin.listen(self._input.received)

    def _received(self, data: bytes) -> None:
        try:
            self._spdy.feed(data)
        except SpdyError:
            self.connection.close()

    def _opened(self, stream: SpdyStream) -> None:
        self._streams.setdefault(stream.headers.get("streamtype", ""), stream)

    def send(self, channel: str, data: bytes) -> None:
        if (stream := self._streams.get(channel)) is not None:
            stream.write(data)

    @property
    def waiting(self) -> int:
        return self.connection.waiting

    async def closed(self) -> None:
        await self.connection.closed()

    async def finish(self, status: dict[str, Any]) -> None:
        self.send("error", json.dumps(status).encode())
        for name in ("error", "stdout", "stderr", "stdin"):
            if (stream := self._streams.get(name)) is not None:
                stream.end()
        deadline = self._clock.now() + 1_000_000
        while self.waiting and self._clock.now() < deadline:
            await self._clock.sleep(_POLL)
