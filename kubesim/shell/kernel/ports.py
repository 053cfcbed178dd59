"""Ports: listeners in a pod's network, their responses, and how clients reach them.

The containers of a pod share one `Ports`. Probes and port forwards use it from outside. The caller resolves host names
of other pods with a `ShellNetwork`.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import field
from http import HTTPStatus
from typing import Literal, Protocol

from kubesim.values import part, value_object


@value_object
class HttpRequest:
    path: str = "/"
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()


@value_object
class HttpAnswer:
    status: int
    body: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def reason(self) -> str:
        try:
            return HTTPStatus(self.status).phrase
        except ValueError:
            return "Unknown"


Answer = Callable[[HttpRequest], HttpAnswer | None]
Health = Callable[[str], str | None]  # status of a gRPC health check; None if the service is unknown


@part
class Listener:
    """An open port. With `answer` (or its result) None, the server accepts but speaks no HTTP. Without `health` it
    speaks no gRPC, and closes gRPC connections.
    """

    port: int
    host: str = "0.0.0.0"
    answer: Answer | None = None
    health: Health | None = None
    http2: bool = False  # unencrypted, without HTTP/1
    tls: bool = False
    on_connect: Callable[[], None] | None = None  # called after a connection was accepted (and answered)
    on_close: list[Callable[[], None]] = field(default_factory=list)

    def connect(self) -> None:
        """Connect without a request, like a TCP probe."""
        if self.on_connect is not None:
            self.on_connect()

    def request(self, request: HttpRequest) -> HttpAnswer | None:
        """Send an HTTP request; None if the response is not HTTP."""
        answer = self.answer(request) if self.answer is not None else None
        self.connect()
        return answer

    def check(self, service: str) -> str | None:
        """A gRPC health check; None if the service is unknown."""
        status = self.health(service) if self.health is not None else None
        self.connect()
        return status


class AddressInUse(Exception):
    """Another process listens on that port."""


class Ports:
    """The TCP listeners of one network namespace, by port."""

    __slots__ = ("_listeners", "netns")

    def __init__(self) -> None:
        self.netns = ""  # the path of a real namespace, if any
        self._listeners: dict[int, Listener] = {}

    def listen(self, listener: Listener) -> Listener:
        if listener.port in self._listeners:
            raise AddressInUse(listener.port)
        self._listeners[listener.port] = listener
        return listener

    async def dial(self, port: int) -> socket.socket | None:
        """A connection to a port on loopback; None: only the listeners here can be reached. Raises OSError."""
        return None

    def close(self, listener: Listener) -> None:
        if self._listeners.get(listener.port) is listener:
            del self._listeners[listener.port]
            for reported in listener.on_close:
                reported()
            listener.on_close.clear()

    def at(self, port: int, *, loopback: bool = False) -> Listener | None:
        """The listener that accepts a connection to a port; `loopback` if it comes from inside the pod to its loopback
        address.
        """
        listener = self._listeners.get(port)
        if listener is not None and not loopback and (listener.host.startswith("127.") or listener.host == "localhost"):
            return None
        return listener

    def numbers(self) -> tuple[int, ...]:
        return tuple(sorted(self._listeners))


Failure = Literal["", "unknown", "refused", "timeout"]  # none; no such host; connection refused; timeout


class Remote(Protocol):
    """A server reached by a real connection, opened on use and used once."""

    async def open(self, timeout: int) -> Failure: ...
    async def connect(self) -> None: ...
    async def request(self, request: HttpRequest) -> HttpAnswer | None: ...


class ShellNetwork(Protocol):
    """A pod's own ports and host name, and the servers that its processes can reach."""

    ports: Ports
    hostname: str

    def resolve(self, host: str) -> str | None:
        """The address of a host name or address; None if unknown."""

    def reach(self, address: str) -> Ports | None:
        """The ports at an address; None if it does not respond."""

    def remote(self, address: str, port: int) -> Remote | None:
        """A real connection; None if the network is simulated."""


@part
class LoopbackNetwork:
    """A network with only the pod itself."""

    ports: Ports = field(default_factory=Ports)
    address: str = ""
    hostname: str = "localhost"

    def resolve(self, host: str) -> str | None:
        if host == "localhost":
            return "127.0.0.1"
        if host == self.hostname and self.address:
            return self.address
        return host if is_address(host) else None

    def reach(self, address: str) -> Ports | None:
        return self.ports if is_loopback(address) or address == self.address else None

    def remote(self, address: str, port: int) -> Remote | None:
        return None


def is_loopback(address: str) -> bool:
    return address.startswith("127.") or address == "::1"


def is_address(host: str) -> bool:
    """Whether this is an IP address."""
    numbers = host.split(".")
    return ":" in host or (len(numbers) == 4 and all(number.isdigit() and int(number) < 256 for number in numbers))


def parse_http(text: str) -> HttpAnswer | None:
    """The HTTP response in the output of a plain listener; None if it is not HTTP."""
    head, _, body = text.replace("\r\n", "\n").partition("\n\n")
    words = head.partition("\n")[0].split()
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdigit():
        return None
    return HttpAnswer(int(words[1]), body)
