"""HTTP calls to an API server. Credentials are reloaded when they expire or are rejected.

Every response is limited in size (compressed and decompressed) and, except for a watch, in time.

Mirrors: client-go/transport (bearer tokens, exec credentials renewed after a 401, certificates that rotate); net/http's
dialer (timeouts, keep-alive, proxies from the environment)
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import anyio
from aiohttp import ClientTimeout, hdrs

from kubesim import __version__
from kubesim.clock import Clock
from kubesim.cluster.remote.access import Access, AccessLoader
from kubesim.cluster.remote.bodies import BadBody, BodyBudget, unpacked
from kubesim.cluster.remote.resolver import OwnThreadResolver
from kubesim.cluster.remote.transport import CONNECT_S, TIMEOUT_S, Call, Reply
from kubesim.errors import TransportError, UsageError

REQUEST_TIMEOUT_S = TIMEOUT_S
MAX_HEADER = 16 << 10
READ_BUFFER = 2**18
_KEEP_ALIVE = ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 15), (socket.TCP_KEEPCNT, 3))


class HttpTransport:
    """Keeps one session and reuses its connections. `close` leaves no connection and no thread.

    `request_timeout_s` limits each get and list, including the body; None: no limit.
    """

    def __init__(
        self,
        loader: AccessLoader,
        clock: Clock,
        request_timeout_s: float | None = REQUEST_TIMEOUT_S,
        connect_timeout_s: float | None = CONNECT_S,
    ) -> None:
        self._loader = loader
        self._clock = clock
        self._timeout_s = request_timeout_s
        self._connect_s = connect_timeout_s
        self._access: Access | None = None
        self._session: _Session | None = None
        self._retired: set[_Session] = set()  # of earlier credentials, still used by other calls
        self._loading = anyio.Lock()
        self._budget = BodyBudget()

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncIterator[Reply]:
        async with AsyncExitStack() as stack:
            response = await self._request(call, stack)
            reply = _HttpReply(response, None if call.verb == "watch" else self._budget, self._words)
            stack.callback(reply.finish)
            yield reply

    async def close(self) -> None:
        sessions = [*self._retired, *([self._session] if self._session is not None else [])]
        self._session = None
        self._retired.clear()
        for session in sessions:
            await session.http.close()

    async def _request(self, call: Call, stack: AsyncExitStack) -> aiohttp.ClientResponse:
        """Send a request. Rejected credentials (TLS handshake or 401) are reloaded once."""
        used = self._access
        fresh = used is None or (used.expires_at is not None and used.expires_at <= self._clock.now())
        if fresh or self._session is None:
            used = await self._renew(used)
        try:
            response = await self._send(call, stack)
            if response.status != 401 or fresh:
                return response
            response.close()
        except _TlsError:
            if fresh:
                raise
        await self._renew(used)
        return await self._send(call, stack)

    async def _renew(self, used: Access | None) -> Access:
        """Reload credentials, unless another call already did.

        The old session stays open until its last call ends.
        """
        async with self._loading:
            if self._access is None or self._access is used or self._session is None:
                access = await self._load()
                old, self._access, self._session = self._session, access, _Session(_session(access))
                if old is not None:
                    self._retired.add(old)
                    await self._close_unused()
            return self._access

    async def _close_unused(self) -> None:
        for session in [one for one in self._retired if one.users == 0]:
            self._retired.discard(session)
            await session.http.close()

    async def _load(self) -> Access:
        """Load credentials. An error at the first load is final; later errors may be temporary."""
        try:
            return await self._loader.load()
        except UsageError as error:
            if self._access is None:
                raise
            raise TransportError(f"no new credentials: {error}") from error

    @asynccontextmanager
    async def _in_use(self) -> AsyncIterator[_Session]:
        session = self._session
        assert session is not None
        session.users += 1
        try:
            yield session
        finally:
            session.users -= 1
            await self._close_unused()

    async def _send(self, call: Call, stack: AsyncExitStack) -> aiohttp.ClientResponse:
        access = self._access
        assert access is not None
        session = await stack.enter_async_context(self._in_use())
        headers = {hdrs.ACCEPT: call.accept, hdrs.ACCEPT_ENCODING: "gzip"}
        if access.authorization:
            headers[hdrs.AUTHORIZATION] = access.authorization
        if call.content_type:
            headers[hdrs.CONTENT_TYPE] = call.content_type
        total = None if call.verb == "watch" else self._timeout_s
        silence = None if call.timeout_s == TIMEOUT_S else call.timeout_s
        timeout = ClientTimeout(total=total, sock_connect=self._connect_s, sock_read=silence)
        try:
            return await session.http.request(
                call.method,
                access.server.rstrip("/") + call.path,
                params=call.query,
                headers=headers,
                data=call.body or None,
                timeout=timeout,
                allow_redirects=False,  # a token must not be sent to another server
                proxy=_proxy(access),
                server_hostname=access.server_name or None,
            )
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            if _is_tls(error) or (access.certificate and isinstance(error, aiohttp.ServerDisconnectedError)):
                raise _TlsError(f"{access.server}: {self._words(error)}") from error
            raise TransportError(f"{access.server}: {self._words(error)}", refused=_is_refused(error)) from error

    def _words(self, error: BaseException) -> str:
        if type(error) is TimeoutError and self._timeout_s is not None:
            return f"the answer was not complete within {self._timeout_s:g} s"
        return _words(error)


class _Session:
    """An aiohttp session, and the number of calls that use it."""

    def __init__(self, http: aiohttp.ClientSession) -> None:
        self.http = http
        self.users = 0


class _TlsError(TransportError):
    """Client and server do not accept each other's certificates. A server may just close the connection."""


class _HttpReply:
    """A response. `budget` limits the body; a watch has none, as its reader limits the lines."""

    def __init__(
        self, response: aiohttp.ClientResponse, budget: BodyBudget | None, words: Callable[[BaseException], str]
    ) -> None:
        self._response = response
        self._budget = budget
        self._words = words
        self._read = 0
        self._closed = False

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def retry_after_s(self) -> float | None:
        text = self._response.headers.get(hdrs.RETRY_AFTER, "")
        return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else None

    @property
    def location(self) -> str:
        return self._response.headers.get(hdrs.LOCATION, "")

    async def chunks(self) -> AsyncIterator[bytes]:
        encoding = self._response.headers.get(hdrs.CONTENT_ENCODING, "")
        try:
            async for chunk in unpacked(self._response.content.iter_any(), encoding):
                if self._budget is not None:
                    self._read = self._budget.take(self._read, len(chunk))
                yield chunk
                if self._closed:
                    return
        except BadBody as error:
            self.close()
            raise TransportError(str(error), too_large=error.too_large) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if not self._closed:
                raise TransportError(self._words(error)) from error

    def close(self) -> None:
        self._closed = True
        self._response.close()

    def finish(self) -> None:
        """Release the budget when the reader is done."""
        self._response.close()
        if self._budget is not None:
            self._budget.give_back(self._read)
            self._read = 0


def _session(access: Access) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        ssl=access.tls or True, limit=0, resolver=OwnThreadResolver(), socket_factory=_keeping_alive
    )
    return aiohttp.ClientSession(
        connector=connector,
        read_bufsize=READ_BUFFER,
        auto_decompress=False,  # `bodies.py` decompresses in chunks
        max_line_size=MAX_HEADER,
        max_field_size=MAX_HEADER,
        headers={hdrs.USER_AGENT: f"kubesim/{__version__}"},
        cookie_jar=aiohttp.DummyCookieJar(),
    )


def _keeping_alive(address: Any) -> socket.socket:
    """TCP keep-alive: a peer that vanished is detected after a minute, even without writes."""
    family, kind, proto, *_ = address
    made = socket.socket(family, kind, proto)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEP_ALIVE:
        made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made


def _proxy(access: Access) -> str | None:
    """The proxy from the kubeconfig or the environment; as in Go, never for loopback."""
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
    """A readable message; some errors have no text and others too much."""
    if isinstance(error, TimeoutError):
        return "timed out"
    if isinstance(error, aiohttp.ClientResponseError):
        return f"no HTTP answer: {error.message.splitlines()[0].rstrip(':') if error.message else error.status}"
    if isinstance(error, aiohttp.ClientConnectorError) and not _is_tls(error) and (error.os_error.errno or 0) > 0:
        return os.strerror(error.os_error.errno or 0).lower()
    return str(error) or type(error).__name__
