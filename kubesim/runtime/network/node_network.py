"""`NodeNetwork`: the node's network interface for probes and HTTP hooks.

Each runtime implements it for its pod network, simulated or with real sockets. A failed method raises a `NetworkError`
with the message of Go's dialer or HTTP client; the caller adds its own prefix.

Mirrors: the outside of pkg/probe/{tcp,http,grpc} (net.Dialer, http.Client, grpc health client).
"""

from __future__ import annotations

from typing import Protocol

from kubesim.errors import KubesimError
from kubesim.values import value_object


class NetworkError(KubesimError):
    """A failed exchange; the text is Go's."""


class ConnectError(NetworkError):
    """The connection could not be established."""


class ConnectTimeout(ConnectError):
    """The connection timed out."""


class ResponseTimeout(NetworkError):
    """The connection was established, but the response did not start in time."""


class BodyError(NetworkError):
    """The response started, but its body could not be read completely."""


class GrpcStatusError(NetworkError):
    """The server returned a gRPC status other than OK; `code` is Go's name of it (`NotFound`)."""

    def __init__(self, code: str, message: str) -> None:
        self.code, self.message = code, message
        super().__init__(f"rpc error: code = {code} desc = {message}")


def connection_refused(address: str) -> ConnectError:
    return ConnectError(f"dial tcp {address}: connect: connection refused")


def no_route_to_host(address: str) -> ConnectError:
    return ConnectError(f"dial tcp {address}: connect: no route to host")


def no_such_host(host: str) -> ConnectError:
    return ConnectError(f"dial tcp: lookup {host}: no such host")


def dial_timeout(address: str) -> ConnectTimeout:
    return ConnectTimeout(f"dial tcp {address}: i/o timeout")


def body_timeout() -> BodyError:
    return BodyError("context deadline exceeded (Client.Timeout or context cancellation while reading body)")


def join_host_port(host: str, port: int) -> str:
    """`10.0.0.7:80`, `[fd00::7]:80`."""
    return f"[{host}]:{port}" if ":" in host or "%" in host else f"{host}:{port}"


@value_object
class NodeRequest:
    """A GET. `host` and `port` are the address to connect to, `target` the escaped path with query."""

    scheme: str
    host: str
    port: int
    target: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()  # canonical names; repeated names are adjacent
    host_header: str = ""  # empty: the URL's host
    http2: bool = False  # clear text with prior knowledge

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")


@value_object
class HttpResponse:
    status: int
    body: bytes = b""
    location: str = ""  # the Location header of a redirect


class NodeNetwork(Protocol):
    """Timeouts are microseconds, 0: none. One exchange per call: the caller follows redirects."""

    async def tcp_connect(self, host: str, port: int, timeout: int) -> None: ...
    async def http_get(self, request: NodeRequest, timeout: int) -> HttpResponse: ...
    async def grpc_health(self, host: str, port: int, service: str, timeout: int, *, tls: bool = False) -> str:
        """The serving status (`SERVING`, `NOT_SERVING`, ...). Raises `ConnectError` immediately if nothing listens."""
