"""The API server's side of a kubelet's port: forwards logs and streams to the node of another process.

Mirrors: pkg/registry/core/pod/rest (log.go, subresources.go); pkg/registry/core/pod/strategy.go LogLocation,
streamParams; apimachinery/pkg/util/proxy/upgradeaware.go
"""

from __future__ import annotations

import asyncio
import errno
import os
import ssl
from urllib.parse import urlencode

import aiohttp
from aiohttp import hdrs, web

from kubesim.api.node import Node
from kubesim.cluster.problems import bad_request, internal_error
from kubesim.cluster.streams.upgrade import RawConnection, UpgradedResponse
from kubesim.concurrency import TaskSet
from kubesim.errors import ApiError
from kubesim.up.pods import PodRequest
from kubesim.values import value_object

_KINDS = {"log": "containerLogs", "exec": "exec", "attach": "attach", "portforward": "portForward"}
_STREAM_NAMES = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
_LOG_OPTIONS = (
    "follow", "previous", "timestamps", "sinceSeconds", "sinceTime", "tailLines", "limitBytes", "stream",
)  # fmt: skip
# Headers of the client that the upgrade needs; its credentials stay here.
_FORWARDED = ("Upgrade", "Connection", "X-Stream-Protocol-Version", "Sec-Websocket-")
_PREFERRED = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
_MAX_HEAD, _MAX_ANSWER, _PIECE = 64 * 1024, 1 << 20, 1 << 16


@value_object
class Location:
    """Where the kubelet of a pod answers: `target` is the path with its query."""

    host: str
    port: int
    target: str

    @property
    def netloc(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"https://{self.netloc}{self.target}"


def location_of(node: Node, kind: str, asked: PodRequest) -> Location | None:
    """The location of a request about a pod of this node; None if its kubelet has no port. Raises ApiError."""
    port = (node.status.daemon_endpoints.get("kubeletEndpoint") or {}).get("Port") or 0
    addresses = {each.type: each.address for each in reversed(node.status.addresses)}
    host = next((addresses[type] for type in _PREFERRED if type in addresses), "")
    if not (host and port):
        return None
    pod = asked.pod()
    path = f"/{_KINDS[kind]}/{asked.namespace}/{asked.name}"
    query: list[tuple[str, str]] = []
    if kind == "portforward":
        ports = ",".join(asked.query.get("ports", ()))
        query += [("port", ports)] if ports else []
    else:
        path += f"/{asked.container_name(pod)}"
    if kind == "log":
        query += [(name, asked.text(name)) for name in _LOG_OPTIONS if name in asked.query]
    elif kind != "portforward":
        query += [(name, "1") for key, name in _STREAM_NAMES.items() if asked.flag(key)]
        query += [("command", word) for word in asked.query.get("command", ())]
    return Location(host, port, f"{path}?{urlencode(query)}" if query else path)


async def forward(location: Location, kind: str, request: web.BaseRequest, tls: ssl.SSLContext) -> web.StreamResponse:
    """Answer a request with the kubelet's answer. Raises ApiError."""
    try:
        if kind == "log":
            return await _forward_log(location, request, tls)
        return await _forward_upgrade(location, request, tls)
    except (aiohttp.ClientError, OSError) as error:
        number = error.os_error.errno if isinstance(error, aiohttp.ClientConnectorError) else getattr(error, "errno", 0)
        why = os.strerror(number or errno.ECONNRESET).lower()
        raise internal_error(f'Get "{location.url}": dial tcp {location.netloc}: connect: {why}') from None


async def _forward_log(location: Location, request: web.BaseRequest, tls: ssl.SSLContext) -> web.StreamResponse:
    timeout = aiohttp.ClientTimeout(total=None)
    connector = aiohttp.TCPConnector(ssl=tls, force_close=True)
    async with (
        aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
        session.get(location.url, allow_redirects=False) as found,
    ):
        if found.status != 200:
            raise _refused(found.status, (await found.content.read(_MAX_ANSWER)).decode(errors="replace"), location)
        response = web.StreamResponse(headers={hdrs.CONTENT_TYPE: "text/plain"})
        await response.prepare(request)
        async for piece in found.content.iter_any():
            await response.write(piece)
        await response.write_eof()
        return response


def _refused(status: int, said: str, location: Location) -> ApiError:
    """Mirrors: apimachinery/pkg/api/errors NewGenericServerResponse"""
    name = location.target.partition("?")[0].split("/")[3]
    if status == 400:
        return bad_request(said)
    if status == 404:
        return ApiError(404, "NotFound", f"the server could not find the requested resource ( pods/log {name})")
    if status in (401, 403):
        reason = "Unauthorized" if status == 401 else "Forbidden"
        words = "the server has asked for the client to provide credentials" if status == 401 else said.rstrip("\n")
        return ApiError(status, reason, f"{words} ( pods/log {name})")
    return internal_error(said)


async def _forward_upgrade(location: Location, request: web.BaseRequest, tls: ssl.SSLContext) -> web.StreamResponse:
    """Send the client's upgrade to the kubelet, and from then on the bytes in both directions."""
    if not request.headers.get(hdrs.UPGRADE):
        raise bad_request("Upgrade request required")
    reader, writer = await asyncio.open_connection(location.host, location.port, ssl=tls, limit=_MAX_HEAD)
    try:
        writer.write(_head(location, request))
        await writer.drain()
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            raise ConnectionResetError from None
        status = int(head.split(b" ", 2)[1])
        if status != 101:
            said = (await reader.read(_MAX_ANSWER)).decode(errors="replace")
            return web.Response(status=status, text=said)
        client = RawConnection(request, writer.write)
        client.begin_with(head)
        try:
            await _pipe(reader, client)
        finally:
            client.close()
        return UpgradedResponse()
    finally:
        writer.close()


def _head(location: Location, request: web.BaseRequest) -> bytes:
    names = [name for name in request.headers if name.title().startswith(_FORWARDED)]
    headers = [(name, value) for name in dict.fromkeys(names) for value in request.headers.getall(name)]
    lines = [f"{request.method} {location.target} HTTP/1.1", f"Host: {location.netloc}"]
    lines += [f"{name}: {_without_credentials(name, value)}" for name, value in headers]
    return "\r\n".join((*lines, "", "")).encode("latin-1")


def _without_credentials(name: str, value: str) -> str:
    """Browsers send a token as a subprotocol; it is for the API server."""
    if name.lower() != "sec-websocket-protocol":
        return value
    return ", ".join(part for part in value.replace(" ", "").split(",") if not part.startswith("base64url.bearer."))


async def _pipe(reader: asyncio.StreamReader, client: RawConnection) -> None:
    """Until one side closes."""

    async def answers() -> None:
        while piece := await reader.read(_PIECE):
            client.write(piece)
            await client.drained()
        client.close()

    async with TaskSet() as tasks:
        tasks.start("answers of a kubelet", answers())
        await client.closed()
