"""Port forwarding: multiplexes a client's connections to ports of a simulated pod.

With a real network, each is a socket in the pod's network namespace. Otherwise the simulated program that listens on
the port responds; it supports HTTP, or accepts and sends nothing.

Mirrors: kubelet/pkg/cri/streaming/portforward (httpstream.go, websocket.go, tunneling)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import WSMsgType, web

from kubesim.clock import Awaited
from kubesim.cluster.problems import bad_request
from kubesim.cluster.streams.channels import MAX_MESSAGE, MUCH, SPDY, is_spdy, is_websocket
from kubesim.cluster.streams.spdy import SpdyConnection, SpdyError, SpdyStream
from kubesim.cluster.streams.upgrade import RawConnection, UpgradedResponse
from kubesim.concurrency import TaskSet
from kubesim.runtime.simulated.streaming.sockets import forward_socket
from kubesim.shell.kernel.ports import HttpAnswer, HttpRequest, Listener, Ports
from kubesim.shell.kernel.terminal import encode

PROTOCOL = "portforward.k8s.io"
TUNNEL = f"{SPDY}+{PROTOCOL}"  # SPDY inside a WebSocket
_MAX_HEAD = 64 * 1024
_NO_BODY = (204, 304)


async def stream_ports(request: web.BaseRequest, uid: str, ports: Ports | None) -> web.StreamResponse:
    """Forward to a pod; `ports` is None if nothing ever ran in it. Raises ApiError without a request to stream."""
    async with TaskSet() as tasks:
        forwarder = _Forwarder(uid, ports, tasks)
        if is_websocket(request):
            return await _tunnel(forwarder, request)
        if is_spdy(request):
            return await _direct(forwarder, request)
        raise bad_request("Upgrade request required")


async def _direct(forwarder: _Forwarder, request: web.BaseRequest) -> web.StreamResponse:
    connection = RawConnection(request, lambda data: spdy.feed(data))
    forwarder.drained = connection.drained
    spdy = SpdyConnection(connection.write, forwarder.opened)
    connection.begin(SPDY, {"X-Stream-Protocol-Version": PROTOCOL})
    try:
        await connection.closed()
    finally:
        connection.close()
    return UpgradedResponse()


async def _tunnel(forwarder: _Forwarder, request: web.BaseRequest) -> web.StreamResponse:
    socket = web.WebSocketResponse(protocols=(TUNNEL,), max_msg_size=MAX_MESSAGE)
    await socket.prepare(request)
    outgoing = _Outgoing(socket)
    forwarder.drained = outgoing.drained
    spdy = SpdyConnection(outgoing.put, forwarder.opened)
    async with TaskSet() as tasks:
        tasks.start("tunnel out", outgoing.run())
        async for message in socket:
            if message.type is WSMsgType.BINARY:
                try:
                    spdy.feed(message.data)
                except SpdyError:
                    break
        await socket.close()
    return socket


class _Outgoing:
    """Bytes to send over a WebSocket."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._waiting = 0  # bytes that were not sent yet
        self._sent = asyncio.Event()
        self._pieces: list[bytes] = []
        self._has_data: Awaited[None] | None = None

    def put(self, data: bytes) -> None:
        self._pieces.append(data)
        self._waiting += len(data)
        if self._has_data is not None and not self._has_data.done():
            self._has_data.set_result(None)

    async def drained(self) -> None:
        """Wait until the client reads, if it has stopped."""
        while self._waiting > MUCH:
            self._sent.clear()
            await self._sent.wait()

    async def run(self) -> None:
        try:
            while True:
                while self._pieces:
                    pieces, self._pieces = self._pieces, []
                    await self._socket.send_bytes(message := b"".join(pieces))
                    self._waiting -= len(message)
                    self._sent.set()
                self._has_data = Awaited("something to send")
                await self._has_data
        except ConnectionError:
            pass


class _Forwarder:
    """Pairs the data stream and error stream of each connection, and responds on them."""

    def __init__(self, uid: str, ports: Ports | None, tasks: TaskSet) -> None:
        self.drained: Callable[[], Awaitable[None]]  # waits for a client that does not read
        self._uid = uid
        self._ports = ports
        self._tasks = tasks
        self._errors: dict[str, SpdyStream] = {}

    def opened(self, stream: SpdyStream) -> None:
        """Handle a new stream; the client opens the error stream first."""
        kind, request = stream.headers.get("streamtype", ""), stream.headers.get("requestid", "")
        if kind == "error":
            self._errors[request] = stream
        elif kind == "data" and (error := self._errors.pop(request, None)) is not None:
            text = stream.headers.get("port", "")
            port = int(text) if text.isdigit() and len(text) < 6 else 0
            self._tasks.start(f"forward to port {port}", self._connect(port, stream, error))
        else:
            stream.reset()

    async def _connect(self, port: int, data: SpdyStream, error: SpdyStream) -> None:
        listener = None if self._ports is None else self._ports.at(port, loopback=True)
        try:
            connection = None if self._ports is None else await self._ports.dial(port)
        except (OSError, OverflowError):  # a real network decides alone
            listener = connection = None
        if connection is not None:
            error.end()
            await forward_socket(connection, data, self.drained)
            return
        if listener is None:
            uid = self._uid
            problem = f"failed to connect to localhost:{port} inside namespace"
            refused = f"dial tcp4 127.0.0.1:{port}: connect: connection refused"
            error.write(f'error forwarding port {port} to pod {uid}, uid : {problem} "{uid}": {refused}'.encode())
            error.end()
            data.end()
            return
        error.end()

        def end() -> None:
            data.end()

        served = ServedHttp(listener, data.write, end)
        listener.on_close.append(end)
        data.listen(served.feed)


class ServedHttp:
    """Serves HTTP/1 requests from a simulated listener."""

    def __init__(self, listener: Listener, write: Callable[[bytes], None], end: Callable[[], None]) -> None:
        self._listener = listener
        self._write = write
        self._end = end
        self._buffer = b""
        self._connected = False

    def feed(self, data: bytes) -> None:
        if not data:
            self._end()
            return
        self._buffer += data
        if self._listener.answer is None:
            if not self._connected:
                self._connected = True
                self._listener.connect()
            self._buffer = b""
            return
        while b"\r\n\r\n" in self._buffer:
            head, _, rest = self._buffer.partition(b"\r\n\r\n")
            request, length, last = parse_request(head)
            if request is None:
                self._finish(HttpAnswer(400, "400 Bad Request\n"), "GET", last=True)
                return
            if len(rest) < length:
                return
            self._buffer = rest[length:]
            answer = self._listener.request(request)
            if answer is None:
                self._end()
                return
            self._finish(answer, request.method, last=last)
            if last:
                return
        if len(self._buffer) > _MAX_HEAD:
            self._end()

    def _finish(self, answer: HttpAnswer, method: str, *, last: bool) -> None:
        self._write(response_bytes(answer, method, last=last))
        if last:
            self._end()


def parse_request(head: bytes) -> tuple[HttpRequest | None, int, bool]:
    """A request head, the length of its body, and whether the client closes afterwards."""
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None, 0, True
    headers = tuple((name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines))
    by_name = {name.lower(): value for name, value in headers}
    length = by_name.get("content-length", "0")
    last = by_name.get("connection", "").lower() == "close" or words[2] == "HTTP/1.0"
    return HttpRequest(words[1], words[0], headers), int(length) if length.isdigit() else 0, last


def response_bytes(answer: HttpAnswer, method: str, *, last: bool) -> bytes:
    body = b"" if answer.status in _NO_BODY else encode(answer.body)
    lines = [f"HTTP/1.1 {answer.status} {answer.reason}", *(f"{name}: {value}" for name, value in answer.headers)]
    lines += [f"Content-Length: {len(body)}"] + (["Connection: close"] if last else [])
    return "\r\n".join((*lines, "", "")).encode() + (b"" if method == "HEAD" else body)
