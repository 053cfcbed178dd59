"""A loopback web server for tests, in a thread with its own event loop."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def answering(response: Callable[[web.Request], web.StreamResponse]) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        return response(request)

    return handler


async def hang(_: web.Request) -> web.StreamResponse:
    """A handler that never answers."""
    await asyncio.get_running_loop().create_future()
    return web.Response()


@contextmanager
def serving(handler: Handler, context: ssl.SSLContext | None = None) -> Iterator[str]:
    """The address of a server that answers every request with the handler."""
    started: Future[tuple[str, Callable[[], object]]] = Future()

    async def serve() -> None:
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        handle: Any = handler  # declared for requests in general; those of web.Server have a narrower type
        runner = web.ServerRunner(web.Server(handle), handle_signals=False, shutdown_timeout=0.01)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        [address] = runner.addresses
        scheme = "https" if context else "http"
        started.set_result((f"{scheme}://127.0.0.1:{address[1]}", lambda: loop.call_soon_threadsafe(over.set)))
        await over.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="web server")
    thread.start()
    address, stop = started.result(30)
    try:
        yield address
    finally:
        stop()
        thread.join(30)
        assert not thread.is_alive()
