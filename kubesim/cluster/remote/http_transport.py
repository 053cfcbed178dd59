"""Calls to an API server over HTTP, with credentials that are loaded anew when they expire or are refused.

Mirrors: client-go/transport (bearer tokens, exec credentials renewed after a 401, certificates that rotate);
net/http's dialer (timeouts, keep-alive, proxies from the environment)
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import anyio
from aiohttp import ClientTimeout, hdrs

from kubesim import __version__
from kubesim.clock import Clock
from kubesim.cluster.remote.access import Access, AccessLoader
from kubesim.cluster.remote.resolver import OwnThreadResolver
from kubesim.cluster.remote.transport import Call, Reply
from kubesim.errors import TransportError, UsageError

CONNECT_S = 30.0
READ_BUFFER = 2**18
_KEEP_ALIVE = ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 15), (socket.TCP_KEEPCNT, 3))


class HttpTransport:
    """One session; connections are used again. `close` leaves none, and no thread."""

    def __init__(self, loader: AccessLoader, clock: Clock) -> None:
        self._loader = loader
        self._clock = clock
        self._access: Access | None = None
        self._session: aiohttp.ClientSession | None = None
        self._loading = anyio.Lock()

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncIterator[Reply]:
        response = await self._request(call)
        try:
            yield _HttpReply(response)
        finally:
            response.close()

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _request(self, call: Call) -> aiohttp.ClientResponse:
        """Credentials that are refused, in the handshake or by a 401, are loaded anew once."""
        used = self._access
        fresh = used is None or (used.expires_at is not None and used.expires_at <= self._clock.now())
        if fresh or self._session is None:
            used = await self._renew(used)
        try:
            response = await self._send(call)
            if response.status != 401 or fresh:
                return response
            response.close()
        except _TlsError:
            if fresh:
                raise
        await self._renew(used)
        return await self._send(call)

    async def _renew(self, used: Access | None) -> Access:
        """Load credentials, unless somebody else has done so since these were used."""
        async with self._loading:
            if self._access is None or self._access is used or self._session is None:
                access = await self._load()
                await self.close()
                self._access, self._session = access, _session(access)
            return self._access

    async def _load(self) -> Access:
        """Who cannot even begin is told so; later on it is a failure like any other, and may pass."""
        try:
            return await self._loader.load()
        except UsageError as error:
            if self._access is None:
                raise
            raise TransportError(f"no new credentials: {error}") from error

    async def _send(self, call: Call) -> aiohttp.ClientResponse:
        access, session = self._access, self._session
        assert access is not None
        assert session is not None
        headers = {hdrs.ACCEPT: call.accept}
        if access.authorization:
            headers[hdrs.AUTHORIZATION] = access.authorization
        if call.content_type:
            headers[hdrs.CONTENT_TYPE] = call.content_type
        timeout = ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=call.patience_s)
        try:
            return await session.request(
                call.method,
                access.server.rstrip("/") + call.path,
                params=call.query,
                headers=headers,
                data=call.body or None,
                timeout=timeout,
                allow_redirects=False,  # a token is for the server that it was meant for
                proxy=_proxy(access),
                server_hostname=access.server_name or None,
            )
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            if _is_tls(error) or (access.certificate and isinstance(error, aiohttp.ServerDisconnectedError)):
                raise _TlsError(f"{access.server}: {_words(error)}") from error
            raise TransportError(f"{access.server}: {_words(error)}", refused=_is_refused(error)) from error


class _TlsError(TransportError):
    """The two ends do not accept each other's certificates: a server that does not like ours may just hang up."""


class _HttpReply:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._closed = False

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def retry_after_s(self) -> float | None:
        text = self._response.headers.get(hdrs.RETRY_AFTER, "")
        return float(text) if text.isdigit() else None

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
                if self._closed:
                    return
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if not self._closed:
                raise TransportError(_words(error)) from error

    def close(self) -> None:
        self._closed = True
        self._response.close()


def _session(access: Access) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        ssl=access.tls or True, limit=0, resolver=OwnThreadResolver(), socket_factory=_keeping_alive
    )
    return aiohttp.ClientSession(
        connector=connector,
        read_bufsize=READ_BUFFER,
        headers={hdrs.USER_AGENT: f"kubesim/{__version__}"},
        cookie_jar=aiohttp.DummyCookieJar(),
    )


def _keeping_alive(address: Any) -> socket.socket:
    """A peer that vanished without a word is noticed after a minute, also by who only listens."""
    family, kind, proto, *_ = address
    made = socket.socket(family, kind, proto)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEP_ALIVE:
        made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made


def _proxy(access: Access) -> str | None:
    """The configured one, or the environment's, but as in Go never for this machine itself."""
    if access.proxy:
        return access.proxy
    url = urlsplit(access.server)
    host = url.hostname or ""
    if host == "localhost" or _is_loopback(host) or proxy_bypass(host):
        return None
    return getproxies().get(url.scheme)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_tls(error: BaseException) -> bool:
    return isinstance(error, aiohttp.ClientSSLError | ssl.SSLError) or isinstance(error.__cause__, ssl.SSLError)


def _is_refused(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno == errno.ECONNREFUSED


def _words(error: BaseException) -> str:
    """Some of these errors have no text of their own, others too much."""
    if isinstance(error, TimeoutError):
        return "timed out"
    if isinstance(error, aiohttp.ClientConnectorError) and not _is_tls(error) and (error.os_error.errno or 0) > 0:
        return os.strerror(error.os_error.errno or 0).lower()
    return str(error) or type(error).__name__
