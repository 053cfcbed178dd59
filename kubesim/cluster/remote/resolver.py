"""DNS resolution without a thread pool: each lookup runs in its own daemon thread.

asyncio's thread pool would block the end of the run until the name server answers. So would anyio's worker threads.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult


class OwnThreadResolver(AbstractResolver):
    """`getaddrinfo`, in a daemon thread."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Any]] = loop.create_future()

        def ask() -> None:
            try:
                found: Any = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, family=family)
            except OSError as error:
                found = error
            try:
                loop.call_soon_threadsafe(tell, found)
            except RuntimeError:
                pass  # the event loop has ended

        def tell(found: Any) -> None:
            if answer.done():
                return
            if isinstance(found, OSError):
                answer.set_exception(found)
            else:
                answer.set_result(found)

        threading.Thread(target=ask, name=f"resolve {host}", daemon=True).start()
        return [
            ResolveResult(
                hostname=host, host=address[0], port=address[1], family=family, proto=proto, flags=socket.AI_NUMERICHOST
            )
            for family, _, proto, _, address in await answer
        ]

    async def close(self) -> None:
        """Nothing to release."""
