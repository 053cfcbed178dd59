"""The transport to an API server: it sends a call and returns a status and a stream of bytes.

A call names what it does by its verb, as the server's own access rules do; the HTTP method follows from that. The
client that
may only read is given a `ReadOnlyTransport`, which lets nothing else through, whatever is behind it.
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
PATIENCE_S, CONNECT_S = 60.0, 30.0
# A GET of these opens a way into a container or a node: to the server that is reading, to the container it is not.
CONNECTS = frozenset({"attach", "exec", "portforward", "proxy"})
# Only the metadata of these is read. A server that cannot return metadata alone is an error: there is no fallback.
CONFIDENTIAL = frozenset({"secrets", "configmaps"})
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@value_object
class Call:
    """`patience_s` is how long the server may be silent before the connection counts as broken; None: forever. A
    transport with a limit for the whole answer may use that instead of the usual timeout."""

    verb: Verb
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    accept: str = "application/json"
    body: bytes = b""
    content_type: str = ""
    patience_s: float | None = PATIENCE_S

    @property
    def method(self) -> str:
        return METHODS[self.verb]


class Reply(Protocol):
    """What came back. Reading raises `TransportError` if the connection breaks before the end."""

    @property
    def status(self) -> int: ...

    @property
    def retry_after_s(self) -> float | None:
        """The server's Retry-After."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body, in pieces of any size."""
        ...

    def close(self) -> None:
        """Hang up; a reader gets the end of the stream."""
        ...


class Transport(Protocol):
    def open(self, call: Call) -> AbstractAsyncContextManager[Reply]:
        """Make a call; raises `TransportError` if the server cannot be reached. Leaving the block hangs up."""
        ...

    async def close(self) -> None:
        """Leave no connection behind."""
        ...


async def read_all(reply: Reply) -> bytes:
    return b"".join([chunk async for chunk in reply.chunks()])


class ReadOnlyTransport:
    """Passes on what gets, lists and watches; anything else is refused before it leaves."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def open(self, call: Call) -> AbstractAsyncContextManager[Reply]:
        check_reads_only(call)
        return self._transport.open(call)

    async def close(self) -> None:
        await self._transport.close()


def check_reads_only(call: Call) -> None:
    """Raise `ReadOnlyError` unless the call can change nothing."""
    if call.verb not in READS or call.method != "GET" or call.body:
        raise ReadOnlyError(f"refused to {call.verb} {call.path}: this connection only gets, lists and watches")
    resource, subresource = _resource(call.path)
    if subresource in CONNECTS and not (call.verb == "get" and _CONFIGZ.fullmatch(call.path)):
        raise ReadOnlyError(f"refused to get {call.path}: it would open a way into a pod or a node")
    if resource in CONFIDENTIAL and call.accept not in (METADATA_ONLY, METADATA_LIST_ONLY):
        raise ReadOnlyError(f"refused to {call.verb} {call.path}: of {resource} this connection reads only metadata")


# The one path behind a proxy that is open: what the kubelet of a node runs with. The name of a node is a DNS name.
_CONFIGZ = re.compile(r"/api/v1/nodes/[a-z0-9]([-.a-z0-9]*[a-z0-9])?/proxy/configz")


def configz_path(node: str) -> str:
    """Where the API server passes on a GET to the kubelet's /configz."""
    return f"/api/v1/nodes/{node}/proxy/configz"


def _resource(path: str) -> tuple[str, str]:
    """What `/api/v1/namespaces/NS/pods/NAME/SUB/...` names: the resource, and the subresource if there is one."""
    parts = [part for part in path.split("/") if part]
    parts = parts[2:] if parts[:1] == ["api"] else parts[3:]
    if parts[:1] == ["watch"]:
        parts = parts[1:]  # the old spelling
    if parts[:1] == ["namespaces"] and len(parts) > 2:
        parts = parts[2:]
    return parts[0] if parts else "", parts[2] if len(parts) > 2 else ""
