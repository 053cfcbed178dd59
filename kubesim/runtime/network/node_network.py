"""`NodeNetwork`: the node's interface to the network, for probes and HTTP hooks.

The runtime that sets up the pods' network also implements this, whether simulated or over real sockets. A method that
fails raises a `NetworkError` whose text is the one Go's dialer or HTTP client gives; the caller wraps it in its own
words.

Mirrors: the outside of pkg/probe/{tcp,http,grpc} (net.Dialer, http.Client, grpc health client).
"""

from __future__ import annotations

from typing import Protocol

from kubesim.errors import KubesimError
from kubesim.values import value_object


class NetworkError(KubesimError):
    """Something between here and the answer failed; the text is Go's."""


class ConnectError(NetworkError):
    """No connection came about."""


class ConnectTimeout(ConnectError):
    """... because there was no answer in time."""


class ResponseTimeout(NetworkError):
    """Connected, but the answer did not begin in time."""


class BodyError(NetworkError):
    """The answer began, but its body could not be read to the end."""


class GrpcStatusError(NetworkError):
    """The server answered a gRPC call with a status other than OK; `code` is Go's name of it (`NotFound`)."""

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
    """A GET. `host` and `port` are where to connect, `target` is the path with its query, escaped."""

    scheme: str
    host: str
    port: int
    target: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()  # canonical names; several values of a name follow each other
    host_header: str = ""  # empty: the URL's host
    http2: bool = False  # in clear text, with prior knowledge

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")


@value_object
class HttpResponse:
    status: int
    body: bytes = b""
    location: str = ""  # the Location header of a redirect


class NodeNetwork(Protocol):
    """All timeouts are microseconds, 0 = none. One exchange per call: redirects are the caller's."""

    async def tcp_connect(self, host: str, port: int, timeout: int) -> None: ...
    async def http_get(self, request: NodeRequest, timeout: int) -> HttpResponse: ...
    async def grpc_health(self, host: str, port: int, service: str, timeout: int, *, tls: bool = False) -> str:
        """The serving status (`SERVING`, `NOT_SERVING`, ...); `ConnectError` immediately without a listener."""
