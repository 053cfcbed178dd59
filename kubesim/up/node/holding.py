"""Requests of simulated nodes: sent again when the server asks for it, and answered at the instant of the request when
the clock is advanced.

While the clock jumps to a goal (`kubesim clock advance`), it waits for the requests in progress. After a write about a
pod it waits a little longer, so that the watch delivers the reaction of the cluster.

Mirrors: client-go/rest with_retry.go (429 and 5xx with Retry-After, ten times)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kubesim.clock import Awaited, LoopClock, VirtualLoop
from kubesim.cluster.remote.transport import READS, TIMEOUT_S, Call, Reply, Transport
from kubesim.errors import TransportError

REACTION_S = 0.02
MAX_RETRIES = 10


class HoldingTransport:
    """Implements `Transport`. Limits the real time of each request but a watch."""

    def __init__(self, transport: Transport, clock: LoopClock) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self._loop = loop
        self._transport = transport
        self._clock = clock

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncIterator[Reply]:
        if call.verb == "watch":
            async with self._transport.open(call) as reply:
                yield reply
            return
        for retries in range(MAX_RETRIES + 1):
            try:
                async with self._clock.outside(TIMEOUT_S), self._transport.open(call) as reply:
                    wait = _wait_of(reply) if retries < MAX_RETRIES else None
                    if wait is None:
                        yield reply
            except TimeoutError:
                raise TransportError(f"the answer was not complete within {TIMEOUT_S:g} s") from None
            if wait is None:
                break
            await self._pause(wait)
        if call.verb not in READS and "/pods/" in call.path:
            self._await_reaction()

    async def _pause(self, seconds: float) -> None:
        """Wait in real time, during which the clock does not jump."""
        over: Awaited[None] = Awaited("the time that the API server asked for")
        self._loop.exchanges += 1
        timer = self._loop.call_after_real(seconds, over.set_result, None)
        try:
            await over
        finally:
            timer.cancel()
            self._loop.exchanges -= 1

    def _await_reaction(self) -> None:
        self._loop.exchanges += 1
        self._loop.call_after_real(REACTION_S, self._reacted)

    def _reacted(self) -> None:
        self._loop.exchanges -= 1

    async def close(self) -> None:
        """Nothing: all nodes share the connection, and its owner closes it."""


def _wait_of(reply: Reply) -> float | None:
    """How many seconds the server wants the client to wait before it sends the request again; None: not at all."""
    return reply.retry_after_s if reply.status == 429 or reply.status >= 500 else None
