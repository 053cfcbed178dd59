"""Ports: the listeners in a pod's network, what a listener answers, and how a client finds one.

The containers of a pod share one `Ports`; probes and port forwards ask it from outside. How a host name leads to
another pod's `Ports` is the embedding's knowledge, given as a `ShellNetwork`.
"""

from __future__ import annotations

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
Health = Callable[[str], str | None]  # what gRPC's health check says of a service; None if it is not known


@part
class Listener:
    """An open port. `answer` None (or its result None) is a server that accepts and speaks no HTTP; without `health` it
    speaks no gRPC, and closes gRPC connections."""

    port: int
    host: str = "0.0.0.0"
    answer: Answer | None = None
    health: Health | None = None
    http2: bool = False  # in clear text, without HTTP/1
    tls: bool = False
    on_connect: Callable[[], None] | None = None  # called after a connection was accepted (and answered)
    on_close: list[Callable[[], None]] = field(default_factory=list)

    def connect(self) -> None:
        """A connection that requests nothing, as a TCP probe makes one."""
        if self.on_connect is not None:
            self.on_connect()

    def request(self, request: HttpRequest) -> HttpAnswer | None:
        """A connection that asks by HTTP; None if what came back was none."""
        answer = self.answer(request) if self.answer is not None else None
        self.connect()
        return answer

    def check(self, service: str) -> str | None:
        """A health check by gRPC; None if there is no such service."""
        status = self.health(service) if self.health is not None else None
        self.connect()
        return status


class AddressInUse(Exception):
    """Somebody listens on that port already."""


class Ports:
    """The TCP listeners of one network namespace, by port."""

    __slots__ = ("_listeners", "netns")

    def __init__(self) -> None:
        self.netns = ""  # the path of a real namespace, where there is one
        self._listeners: dict[int, Listener] = {}

    def listen(self, listener: Listener) -> Listener:
        if listener.port in self._listeners:
            raise AddressInUse(listener.port)
        self._listeners[listener.port] = listener
        return listener

    def close(self, listener: Listener) -> None:
        if self._listeners.get(listener.port) is listener:
            del self._listeners[listener.port]
            for reported in listener.on_close:
                reported()
            listener.on_close.clear()

    def at(self, port: int, *, loopback: bool = False) -> Listener | None:
        """The listener that would accept a connection; `loopback` if it comes from inside the pod to its own loopback
        address."""
        listener = self._listeners.get(port)
        if listener is not None and not loopback and (listener.host.startswith("127.") or listener.host == "localhost"):
            return None
        return listener

    def numbers(self) -> tuple[int, ...]:
        return tuple(sorted(self._listeners))


Failure = Literal["", "unknown", "refused", "timeout"]  # none; no such host; connection refused; no answer


class Remote(Protocol):
    """A server that is reached by a real connection, to be opened first and used once."""

    async def open(self, timeout: int) -> Failure: ...
    async def connect(self) -> None: ...
    async def request(self, request: HttpRequest) -> HttpAnswer | None: ...


class ShellNetwork(Protocol):
    """A pod's own ports and host name, and what a client inside it can reach."""

    ports: Ports
    hostname: str

    def resolve(self, host: str) -> str | None:
        """The address of a host name (or of an address itself); None if there is no such name."""

    def reach(self, address: str) -> Ports | None:
        """The ports at an address; None if no packet comes back from there."""

    def remote(self, address: str, port: int) -> Remote | None:
        """A real connection to there; None where the network is simulated."""


@part
class LoopbackNetwork:
    """A network in which a pod can reach only itself."""

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
    """Is this an IP address, not a name?"""
    numbers = host.split(".")
    return ":" in host or (len(numbers) == 4 and all(number.isdigit() and int(number) < 256 for number in numbers))


def parse_http(text: str) -> HttpAnswer | None:
    """The HTTP answer in what a plain listener sends, None if it is not one."""
    head, _, body = text.replace("\r\n", "\n").partition("\n\n")
    words = head.partition("\n")[0].split()
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdigit():
        return None
    return HttpAnswer(int(words[1]), body)
