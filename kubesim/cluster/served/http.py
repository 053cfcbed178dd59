"""The cluster over HTTP: serves `rest.handle` on real connections, so that real clients can use it.

Requests are answered immediately. The exception is a read at a resource version in the future, which waits up to three
seconds. A watch streams lines until it times out, the client disconnects, or the client reads too slowly.

Mirrors: apiserver/pkg/endpoints/handlers/watch.go WatchServer.HandleHTTP; pkg/server/filters (body limit,
authentication); pkg/storage/cacher/watch_cache.go waitUntilFreshAndBlock
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Collection
from contextlib import aclosing
from hmac import compare_digest
from typing import Protocol

from aiohttp import hdrs, web

from kubesim.api.pods.signed_token import TokenError
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import LoopClock, Randomness
from kubesim.cluster.problems import bad_request, status_of, unexpected
from kubesim.cluster.served.access import ApiUser, RoleAccess
from kubesim.cluster.served.answers.tokens import user_of_token
from kubesim.cluster.served.rest import Request, Response, WatchStream, handle
from kubesim.cluster.served.streaming import watch_bytes
from kubesim.cluster.store.store import Store
from kubesim.cluster.wire import encoded
from kubesim.errors import ApiError, UsageError

LOOPBACK = "127.0.0.1"
MAX_BODY = 3 * 1024 * 1024
MAX_HEAD = 64 * 1024  # large, because selectors and continue tokens are long
MAX_WATCHES = 10_000  # at once; each holds a bounded queue
FRESH_TIMEOUT = 3 * SECOND  # how long a read waits for a resource version in the future
KEEPALIVE_S = 3630.0  # idle timeout of a connection, aiohttp's default
HANDSHAKE_S, GOODBYE_S = 60.0, 5.0  # of TLS
_log = logging.getLogger(__name__)
_FRESH_POLL = 50 * MILLISECOND
_TEXT, _JSON = "text/plain; charset=utf-8", "application/json"
_TOO_MANY = Response(429, text="Too many requests, please try again later.\n", headers={hdrs.RETRY_AFTER: "1"})


class Beside(Protocol):
    """Endpoints beyond the API server's store: streams into containers, logs, metrics."""

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse | None:
        """Serve the request. None if it is one for the store."""
        ...

    def extend(self, request: Request, response: Response) -> Response:
        """The store's response, extended by resources that are not in the store."""
        ...

    async def written(self, request: Request) -> None:
        """Wait until the changes of a request are durable."""
        ...


class ClusterServer:
    """An HTTP server for a store. `address` is its address once it has started.

    With `tokens` or a TLS context that requests client certificates, clients need one of them. On a paced loop, `speed`
    is the ratio of virtual time to the clients' time.
    """

    def __init__(
        self,
        store: Store,
        clock: LoopClock,
        *,
        access: RoleAccess | None = None,
        seed: int = 0,
        tokens: Collection[str] = (),
        tls: ssl.SSLContext | None = None,
        beside: Beside | None = None,
        speed: float = 1.0,
    ) -> None:
        self.address = ""
        self.requests = 0
        self._store = store
        self._access = access
        self._clock = clock
        self._chance = Randomness(seed).stream("watch timeouts")
        self.tokens = frozenset(tokens)
        self._tls = tls
        self._beside = beside
        self._speed = speed
        self._sockets: asyncio.Server | None = None
        self._streams: dict[WatchStream, None] = {}
        server = web.Server(
            self._serve,
            handler_cancellation=True,
            access_log=None,
            keepalive_timeout=KEEPALIVE_S * speed,
            max_line_size=MAX_HEAD,
            max_field_size=MAX_HEAD,
        )
        self._server = server
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)

    async def start(self, host: str = LOOPBACK, port: int = 0) -> None:
        await self._runner.setup()
        tls = self._tls is not None
        loop = asyncio.get_running_loop()
        try:
            self._sockets = await loop.create_server(
                self._server,
                host,
                port,
                ssl=self._tls,
                ssl_handshake_timeout=HANDSHAKE_S * self._speed if tls else None,
                ssl_shutdown_timeout=GOODBYE_S * self._speed if tls else None,
            )
        except OSError as error:
            await self._runner.cleanup()
            raise UsageError(f"cannot serve on {host}:{port}: {os.strerror(error.errno or 0)}") from error
        bound = self._sockets.sockets[0].getsockname()
        shown = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
        self.address = f"{'https' if self._tls else 'http'}://{shown}:{bound[1]}"

    async def close(self) -> None:
        """End every watch, then every connection."""
        for stream in list(self._streams):
            stream.close()
        if self._sockets is not None:
            self._sockets.close()
        await self._runner.cleanup()

    @property
    def connections(self) -> int:
        return len(self._server.connections)

    def cut(self) -> None:
        """Break every open connection, as a crash would."""
        for connection in list(self._server.connections):
            if connection.transport is not None:
                connection.transport.abort()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request. A bug in kubesim becomes a 500 with a logged traceback; the server keeps running."""
        self.requests += 1
        try:
            return await self._respond(request)
        except (web.HTTPException, ConnectionError):
            raise
        except web.RequestPayloadError as error:
            return _finished(_refusal(bad_request(str(error))))
        except Exception as error:
            if request.writer.output_size > 0:  # part of a response was already sent
                raise
            _log.exception("%s %s", request.method, request.raw_path)
            return _finished(_refusal(unexpected(error)))

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        user = self._user(request)
        if user is None:
            return _finished(_refusal(ApiError(401, "Unauthorized", "Unauthorized")))
        if self._beside is not None and (served := await self._beside.serve(request)) is not None:
            return served
        body = await _read(request)
        if body is None:
            problem = f"Request entity too large: limit is {MAX_BODY}"
            return _finished(_refusal(ApiError(413, "RequestEntityTooLarge", problem)))
        headers = {name.lower(): value for name, value in request.headers.items()}
        asked = Request(request.method, request.raw_path, headers, body.decode(errors="replace"), body, user)
        response = await self._answer(asked)
        if self._beside is not None:
            response = self._beside.extend(asked, response)
            if asked.method != "GET":
                await self._beside.written(asked)
        if response.stream is None:
            return _finished(response)
        if len(self._streams) >= MAX_WATCHES:
            response.stream.close()
            return _finished(_TOO_MANY)
        return await self._stream(request, response.stream)

    def _user(self, request: web.BaseRequest) -> ApiUser | None:
        """The user by token or client certificate; None if the client has no valid one."""
        wants_certificate = self._tls is not None and self._tls.verify_mode != ssl.CERT_NONE
        if not self.tokens and not wants_certificate:
            return ApiUser()
        if request.get_extra_info("peercert"):
            return ApiUser()
        scheme, _, token = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = token.strip()
        if any(compare_digest(token.encode(errors="replace"), each.encode()) for each in self.tokens):
            return ApiUser()
        try:
            return user_of_token(self._store, token).user
        except TokenError:
            return None

    async def _answer(self, request: Request) -> Response:
        """Answer from the store. A resource version in the future gets three seconds, as another client's write may
        reach it.
        """
        response = handle(self._store, request, self._access)
        deadline = self._clock.now() + FRESH_TIMEOUT
        while _is_too_early(response) and self._clock.now() < deadline:
            await self._clock.sleep(min(_FRESH_POLL, deadline - self._clock.now()))
            response = handle(self._store, request, self._access)
        return response

    # -- watching -----------------------------------------------------------------------------------------------

    async def _stream(self, request: web.BaseRequest, stream: WatchStream) -> web.StreamResponse:
        response = web.StreamResponse(headers=_headers(stream.content_type))
        response.enable_chunked_encoding()
        self._streams[stream] = None
        try:
            await response.prepare(request)
            async with aclosing(watch_bytes(self._clock, stream, self._chance)) as lines:
                async for some in lines:
                    await response.write(some)
            await response.write_eof()
        except ConnectionError:
            pass  # the client has disconnected
        finally:
            self._streams.pop(stream, None)
        return response


def _is_too_early(response: Response) -> bool:
    body = response.body if response.stream is None else response.stream.refusal
    causes = ((body or {}).get("details") or {}).get("causes") or ()
    return any(cause.get("reason") == "ResourceVersionTooLarge" for cause in causes)


async def _read(request: web.BaseRequest) -> bytes | None:
    """The request body. None if it is too long."""
    parts, size = [], 0
    async for part in request.content.iter_any():
        size += len(part)
        if size > MAX_BODY:
            return None
        parts.append(part)
    return b"".join(parts)


def _refusal(error: ApiError) -> Response:
    return Response(error.code, status_of(error))


def _headers(content_type: str) -> dict[str, str]:
    return {hdrs.CONTENT_TYPE: content_type, hdrs.CACHE_CONTROL: "no-cache, private"}


def _finished(response: Response) -> web.Response:
    text = response.body is None
    headers = {**_headers(_TEXT if text else _JSON), **response.headers}
    if not headers[hdrs.CONTENT_TYPE]:  # a response without a body
        del headers[hdrs.CONTENT_TYPE]
    body = (response.raw or response.text.encode()) if response.body is None else encoded(response.body)
    answer = web.Response(status=response.status, body=body, headers=headers)
    for warning in response.warnings:
        answer.headers.add("Warning", warning)
    retry_after = ((response.body or {}).get("details") or {}).get("retryAfterSeconds")
    if retry_after:
        answer.headers[hdrs.RETRY_AFTER] = str(retry_after)
    return answer
