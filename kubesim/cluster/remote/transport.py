"""The transport to an API server: sends a call and returns a status and a stream of bytes.

A call names its verb, as RBAC rules do; the HTTP method follows from it. A read-only client gets a `ReadOnlyTransport`,
which rejects all other verbs.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import Literal, Protocol

from kubesim.errors import ReadOnlyError
from kubesim.values import value_object

Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
METHODS: Mapping[Verb, str] = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
READS: frozenset[Verb] = frozenset({"get", "list", "watch"})
TIMEOUT_S, CONNECT_S = 60.0, 30.0
# A GET of these gives access to a container or a node. The API server counts it as reading, but the container can
# change.
CONNECTS = frozenset({"attach", "exec", "portforward", "proxy"})
# Only the metadata of these is read. If the server cannot return metadata alone, the call fails: there is no fallback.
CONFIDENTIAL = frozenset({"secrets", "configmaps"})
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@value_object
class Call:
    """A call. `timeout_s` is how long the server may be silent before the connection counts as broken; None: forever.
    A transport with a limit for the whole response may use that instead.
    """

    verb: Verb
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    accept: str = "application/json"
    body: bytes = b""
    content_type: str = ""
    timeout_s: float | None = TIMEOUT_S

    @property
    def method(self) -> str:
        return METHODS[self.verb]


class Reply(Protocol):
    """The response. Reading raises `TransportError` if the connection breaks before the end."""

    @property
    def status(self) -> int: ...

    @property
    def retry_after_s(self) -> float | None:
        """The server's Retry-After."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body, in chunks of any size."""
        ...

    def close(self) -> None:
        """Close the connection; a reader gets the end of the stream."""
        ...


class Transport(Protocol):
    def open(self, call: Call) -> AbstractAsyncContextManager[Reply]:
        """Send a call; raises `TransportError` if the server is unreachable. Leaving the block closes the
        connection.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


async def read_all(reply: Reply) -> bytes:
    return b"".join([chunk async for chunk in reply.chunks()])


class ReadOnlyTransport:
    """Forwards get, list and watch; rejects everything else without sending it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def open(self, call: Call) -> AbstractAsyncContextManager[Reply]:
        check_reads_only(call)
        return self._transport.open(call)

    async def close(self) -> None:
        await self._transport.close()


def check_reads_only(call: Call) -> None:
    """Raise `ReadOnlyError` unless the call is read-only."""
    if call.verb not in READS or call.method != "GET" or call.body:
        raise ReadOnlyError(f"refused to {call.verb} {call.path}: this connection only gets, lists and watches")
    resource, subresource = _resource(call.path)
    if subresource in CONNECTS and not (call.verb == "get" and _CONFIGZ.fullmatch(call.path)):
        raise ReadOnlyError(f"refused to get {call.path}: it would open a way into a pod or a node")
    if resource in CONFIDENTIAL and call.accept not in (METADATA_ONLY, METADATA_LIST_ONLY):
        raise ReadOnlyError(f"refused to {call.verb} {call.path}: of {resource} this connection reads only metadata")


# The only allowed proxy path: the configuration of a node's kubelet. The name of a node is a DNS name.
_CONFIGZ = re.compile(r"/api/v1/nodes/[a-z0-9]([-.a-z0-9]*[a-z0-9])?/proxy/configz")


def configz_path(node: str) -> str:
    """The API server's proxy path to the kubelet's /configz."""
    return f"/api/v1/nodes/{node}/proxy/configz"


def _resource(path: str) -> tuple[str, str]:
    """Resource and subresource of `/api/v1/namespaces/NS/pods/NAME/SUB/...`."""
    parts = [part for part in path.split("/") if part]
    parts = parts[2:] if parts[:1] == ["api"] else parts[3:]
    if parts[:1] == ["watch"]:
        parts = parts[1:]  # the old spelling
    if parts[:1] == ["namespaces"] and len(parts) > 2:
        parts = parts[2:]
    return parts[0] if parts else "", parts[2] if len(parts) > 2 else ""
