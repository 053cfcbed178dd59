"""A URL on a real network: implements `ManifestUrl` with aiohttp.

Redirects, their headers, proxies from the environment, limits and error texts are those of Go's HTTP client, which the
kubelet uses. The TLS options are additional: the kubelet always uses the system's CAs.

Mirrors: pkg/kubelet/config/http.go extractFromURL; net/http client.go, utilio.ReadAtMost
"""

from __future__ import annotations

import ipaddress
import os
import ssl
import urllib.request
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.errors import UsageError
from kubesim.golang.text import quoted
from kubesim.sources.manifests.manifest_files import LIMIT_REACHED, MAX_CONFIG_LENGTH
from kubesim.sources.manifests.manifest_url import FetchError, Header, Tls, UrlAnswer, UrlOptions, without_password

if TYPE_CHECKING:
    import aiohttp

MAX_REQUESTS = 10  # per exchange; each redirect is one more
REDIRECTS = (301, 302, 303, 307, 308)
AWAITING_HEADERS = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
READING_BODY = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
_SENSITIVE = ("authorization", "www-authenticate", "cookie", "cookie2", "proxy-authorization", "proxy-authenticate")


class RealUrl:
    is_real = True

    def __init__(self, url: str, clock: LoopClock, options: UrlOptions | None = None) -> None:
        try:
            import aiohttp  # noqa: F401  # imported here, before the first question
        except ImportError:
            raise UsageError(
                "a URL needs the Python package aiohttp: run `make demo` in a clone, or pip install aiohttp"
            ) from None
        self.url = url
        self._clock = clock
        self._options = options or UrlOptions()
        self._tls = tls_context(self._options.tls)

    def watch(self, listener: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

    async def get(self) -> UrlAnswer:
        try:
            return await self._ask()
        finally:
            await self._clock.sleep(0)  # let the event loop clean up a broken connection

    async def _ask(self) -> UrlAnswer:
        import aiohttp

        exchange = _Exchange(self.url, self._options.header)
        try:
            async with self._clock.outside(self._options.timeout / SECOND), self._session() as session:
                return await self._follow(session, exchange)
        except TimeoutError:
            if exchange.reading:
                raise FetchError(READING_BODY) from None
            raise FetchError(f"Get {exchange.shown}: {AWAITING_HEADERS}") from None
        except aiohttp.ClientPayloadError:
            raise FetchError("unexpected EOF") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise FetchError(f"Get {exchange.shown}: {_words(error)}") from None

    def _session(self) -> aiohttp.ClientSession:
        """One session per exchange, so that no connection stays open between two exchanges."""
        import aiohttp

        connector = aiohttp.TCPConnector(happy_eyeballs_delay=None, ssl=self._tls)
        # The clock's timeout limits the whole exchange.
        timeout = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)
        return aiohttp.ClientSession(
            connector=connector,
            timeout=timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "kubesim"},
        )

    async def _follow(self, session: aiohttp.ClientSession, exchange: _Exchange) -> UrlAnswer:
        from multidict import CIMultiDict

        server_name = self._options.tls.server_name or None
        for _ in range(MAX_REQUESTS):
            header = CIMultiDict((name, value) for name, values in exchange.header.items() for value in values)
            async with session.get(
                exchange.url,
                headers=header,
                allow_redirects=False,
                proxy=proxy_for(exchange.url, os.environ),
                server_hostname=server_name,
            ) as response:
                location = response.headers.get("Location", "") if response.status in REDIRECTS else ""
                if location:
                    exchange.redirect(location)
                    continue
                exchange.reading = True
                return UrlAnswer(response.status, await _read_at_most(response), response.reason or "")
        raise FetchError(f"Get {exchange.shown}: stopped after {MAX_REQUESTS} redirects")


class _Exchange:
    """The state of an exchange: its URL after redirects, and the headers that may still be sent."""

    def __init__(self, url: str, header: Header) -> None:
        self.url = url
        self.header = header
        self.reading = False
        self._first_host = _host(url)

    @property
    def shown(self) -> str:
        return quoted(without_password(self.url))

    def redirect(self, location: str) -> None:
        self.url = urljoin(self.url, location)
        scheme = urlsplit(self.url).scheme
        if scheme not in ("http", "https"):
            raise FetchError(f"Get {self.shown}: unsupported protocol scheme {quoted(scheme)}")
        self.header = header_for(self.header, self._first_host, _host(self.url))


def header_for(header: Header, first_host: str, host: str) -> Header:
    """The headers for a redirect's host: credentials only for the first host or a subdomain of it."""
    if host == first_host or host.endswith(f".{first_host}"):
        return header
    return {name: values for name, values in header.items() if name.lower() not in _SENSITIVE}


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """The proxy from HTTP_PROXY, HTTPS_PROXY and NO_PROXY; never for loopback."""
    parts, host = urlsplit(url), _host(url)
    if host == "localhost" or _is_loopback(host):
        return None
    proxies = {
        name.lower().removesuffix("_proxy"): value
        for name, value in environment.items()
        if name.lower().endswith("_proxy")
    }
    if urllib.request.proxy_bypass_environment(parts.netloc.rpartition("@")[2], proxies):  # type: ignore[attr-defined]
        return None
    return proxies.get(parts.scheme) or None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").lower()


def tls_context(tls: Tls) -> ssl.SSLContext:
    """The TLS context. Raises UsageError for unusable files."""
    try:
        context = ssl.create_default_context(cafile=tls.ca_file or None)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"{tls.ca_file}: no certificates of authorities in it: {_reason(error)}") from None
    if tls.cert_file:
        try:
            context.load_cert_chain(tls.cert_file, tls.key_file or None)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(f"{tls.cert_file}: no certificate with its key in it: {_reason(error)}") from None
    if tls.insecure_skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


async def _read_at_most(response: aiohttp.ClientResponse) -> bytes:
    data = bytearray()
    async for part in response.content.iter_chunked(1 << 16):
        data += part
        if len(data) >= MAX_CONFIG_LENGTH:
            raise FetchError(LIMIT_REACHED)
    return bytes(data)


def _words(error: Exception) -> str:
    """Go's error text for the same problem."""
    import aiohttp

    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "EOF"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"tls: failed to verify certificate: {error.certificate_error}"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"dial tcp: lookup {error.host}: no such host"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"dial tcp {error.host}:{error.port}: connect: {_reason(error.os_error)}"
    return _reason(error)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno).lower()
    return str(error) or type(error).__name__
