"""An HTTP connection upgraded to raw bytes: status 101, then data in both directions.

aiohttp supports only WebSocket upgrades. This uses the same hook of its protocol to get the received bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, cast

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter


class UpgradedResponse(web.StreamResponse):
    """A response whose head was already written, and whose body has no end."""

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        return None


class RawConnection:
    """The bytes of an upgraded connection. `received` gets each chunk; an error that it raises closes the
    connection.
    """

    def __init__(self, request: web.BaseRequest, received: Callable[[bytes], None]) -> None:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError
        self._transport: asyncio.Transport = transport
        self._request = request
        self._received = received
        self._closed = asyncio.Event()

    def begin(self, protocol: str, headers: Mapping[str, str]) -> None:
        lines = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", f"Upgrade: {protocol}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.begin_with("\r\n".join((*lines, "", "")).encode())

    def begin_with(self, head: bytes) -> None:
        """Accept the upgrade with this response head."""
        self._transport.write(head)
        self._request.protocol.set_parser(cast(Any, self))

    # -- what aiohttp's protocol calls ------------------------------------------------------------------------------

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        try:
            self._received(bytes(data))
        except Exception:
            self.close()
        return False, b""

    def feed_eof(self) -> None:
        self._over()

    def set_exception(self, error: BaseException, cause: BaseException | None = None) -> None:
        self._over()

    # -- ours -------------------------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        if not self._closed.is_set() and not self._transport.is_closing():
            self._transport.write(data)

    @property
    def waiting(self) -> int:
        """Number of bytes the client has not read; 0 once it has disconnected."""
        return 0 if self._closed.is_set() or self._transport.is_closing() else self._transport.get_write_buffer_size()

    async def drained(self) -> None:
        """Wait until the client reads, if it has stopped."""
        await self._request.protocol._drain_helper()

    async def closed(self) -> None:
        await self._closed.wait()

    def close(self) -> None:
        self._transport.close()
        self._over()

    def _over(self) -> None:
        self._closed.set()
