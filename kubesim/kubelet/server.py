"""Read-only HTTP server of the kubelet: /healthz, /pods, /metrics, /statusz.

It is off by default and listens on loopback by default. It serves one GET per connection, limits the request size,
changes nothing and records nothing in the trace. Additional nodes are under /nodes/NAME. The Host header must name the
server's own address, which blocks DNS rebinding from a web page.

Mirrors: pkg/kubelet/server/server.go (the read-only port)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Protocol

from kubesim.clock import external
from kubesim.concurrency import TaskSet
from kubesim.errors import UsageError
from kubesim.kubelet.agent import Kubelet
from kubesim.kubelet.metrics.exposition import render_metrics
from kubesim.kubelet.observability import (
    health_checks,
    metrics_of,
    pods_of,
    render_healthz,
    render_pods,
    render_state,
    statistics,
)
from kubesim.values import value_object

if TYPE_CHECKING:
    from anyio.abc import SocketStream
    from anyio.streams.stapled import MultiListener

    from kubesim.kubelet.metrics.sink import MetricsSink

LOOPBACK = "127.0.0.1"
MAX_REQUEST = 8 * 1024
PATHS = ("/healthz", "/pods", "/metrics", "/statusz")
TEXT, JSON = "text/plain; charset=utf-8", "application/json"

Answer = tuple[int, str, str]  # HTTP status, content type, body
_READ_ONLY: Answer = (405, TEXT, "405 method not allowed: this is read-only\n")
_MISDIRECTED: Answer = (421, TEXT, "421 misdirected request: name this server by the address that it serves on\n")


def parse_address(text: str) -> tuple[str, int]:
    """`10255`, `127.0.0.1:10255`, `[::1]:10255`; port 0 lets the system choose one."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise UsageError(f"{text!r} is not an address to serve on; give PORT or ADDRESS:PORT, such as 10255")
    return host.strip("[]") or LOOPBACK, int(port)


def answer(
    method: str, target: str, kubelets: Mapping[str, Kubelet | None], now: int, traced: MetricsSink | None = None
) -> Answer:
    """The response to a request. `kubelets` maps each node to its kubelet, or to None while it is stopped."""
    path = target.partition("?")[0]
    name = next(iter(kubelets), "")
    if path.startswith("/nodes/"):
        name, _, rest = path.removeprefix("/nodes/").partition("/")
        path = f"/{rest}"
    if name not in kubelets or path not in PATHS:
        return 404, TEXT, f"404 page not found; there are {', '.join(PATHS)}\n"
    if method != "GET":
        return _READ_ONLY
    kubelet = kubelets[name]
    if kubelet is None:
        return 503, TEXT, f"the kubelet of {name} is not running\n"
    if path == "/healthz":
        status, text = render_healthz(health_checks(kubelet, now))
        return status, TEXT, text
    if path == "/pods":
        return 200, JSON, render_pods(pods_of(kubelet))
    if path == "/metrics":
        return 200, TEXT, render_metrics(metrics_of(kubelet, traced))
    return 200, JSON, render_state(statistics(kubelet))


class ReadOnlyServer:
    """HTTP server that calls `respond` with a method and a target. `address` is set by `start`."""

    def __init__(self, respond: Callable[[str, str], Answer]) -> None:
        self._respond = respond
        self._host = LOOPBACK
        self.address = ""

    async def start(self, tasks: TaskSet, host: str, port: int) -> None:
        """Serve until the tasks are cancelled, including requests in progress."""
        import anyio  # imported here so that only runs with a server pay for it
        from anyio.abc import SocketAttribute

        try:
            with external():  # a host name may need a DNS lookup
                listeners = await anyio.create_tcp_listener(local_host=host, local_port=port)
        except OSError as error:
            raise UsageError(f"cannot serve on {host}:{port}: {error.strerror or error}") from error
        self._host = host
        bound = listeners.extra(SocketAttribute.local_address)
        self.address = f"http://[{bound[0]}]:{bound[1]}" if ":" in bound[0] else f"http://{bound[0]}:{bound[1]}"
        tasks.start(f"server on {self.address}", self._accept(listeners))
        await anyio.lowlevel.checkpoint()  # a task that never started would not close its sockets

    async def _accept(self, listeners: MultiListener[SocketStream]) -> None:
        async with listeners:
            await listeners.serve(self._serve)

    async def _serve(self, stream: SocketStream) -> None:
        from anyio import BrokenResourceError, DelimiterNotFound, IncompleteRead
        from anyio.streams.buffered import BufferedByteReceiveStream

        async with stream:
            try:
                head = await BufferedByteReceiveStream(stream).receive_until(b"\r\n\r\n", MAX_REQUEST)
                request, *headers = head.decode("latin-1").split("\r\n")
                method, _, rest = request.partition(" ")
                reply = _MISDIRECTED
                if is_our_name(_header(headers, "host"), self._host):
                    reply = self._respond(method, rest.partition(" ")[0])
            except (IncompleteRead, DelimiterNotFound):
                reply = 400, TEXT, "400 bad request\n"
            except BrokenResourceError:
                return
            with suppress(BrokenResourceError):  # the client disconnected
                await stream.send(_response(*reply))


def is_our_name(host_header: str, served: str) -> bool:
    """Whether the Host header is loopback, the served address or empty. A server on all addresses accepts any."""
    name = host_header.rpartition(":")[0] if re.search(r":\d+$", host_header) else host_header
    name = name.strip("[]").lower()
    if name in ("", "localhost", served.lower()):
        return True
    address, own = _address(name), _address(served)
    return address is not None and (address.is_loopback or (own is not None and own.is_unspecified))


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _header(lines: Sequence[str], name: str) -> str:
    """The value of the first header with this name; empty if absent."""
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip().lower() == name:
            return value.strip()
    return ""


def _response(status: int, kind: str, body: str) -> bytes:
    content = body.encode()
    lines = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(content)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode() + content


class Pages(Protocol):
    """Additional pages of a server; their paths begin with `path`."""

    path: str

    def page(self, target: str) -> Answer: ...

    async def ended(self) -> None:
        """Called when a run ends without interruption; the server stops when this returns."""


class AgentServer(ReadOnlyServer):
    """Responses about the kubelets of a run, and additional pages."""

    def __init__(
        self,
        kubelets: Callable[[], Mapping[str, Kubelet | None]],
        now: Callable[[], int],
        traced: MetricsSink | None = None,
        pages: Pages | None = None,
    ) -> None:
        def respond(method: str, target: str) -> Answer:
            if pages is None or target.partition("?")[0].split("/")[1:2] != [pages.path.strip("/")]:
                return answer(method, target, kubelets(), now(), traced)
            return pages.page(target) if method == "GET" else _READ_ONLY

        super().__init__(respond)


@value_object
class Serving:
    """The pages that a run serves, and the listen address."""

    host: str
    port: int
    on_start: Callable[[str], None]  # called with the address
    pages: Pages | None = None

    async def start(
        self,
        tasks: TaskSet,
        kubelets: Callable[[], Mapping[str, Kubelet | None]],
        now: Callable[[], int],
        traced: MetricsSink | None,
    ) -> None:
        server = AgentServer(kubelets, now, traced, self.pages)
        await server.start(tasks, self.host, self.port)
        self.on_start(server.address)

    async def end(self) -> None:
        if self.pages is not None:
            await self.pages.ended()
