"""Requests of simulated nodes, whose responses belong to the instant of the request when the clock is advanced.

While the clock jumps to a goal (`kubesim clock advance`), it waits for the requests in progress. After a write about a
pod it waits a little longer, so that the watch delivers the reaction of the cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kubesim.clock import LoopClock, VirtualLoop
from kubesim.cluster.remote.transport import PATIENCE_S, READS, Call, Reply, Transport
from kubesim.errors import TransportError

REACTION_S = 0.02


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
        try:
            async with self._clock.outside(PATIENCE_S), self._transport.open(call) as reply:
                yield reply
        except TimeoutError:
            raise TransportError(f"the answer was not complete within {PATIENCE_S:g} s") from None
        if call.verb not in READS and "/pods/" in call.path:
            self._await_reaction()

    def _await_reaction(self) -> None:
        self._loop.exchanges += 1
        self._loop.call_after_real(REACTION_S, self._reacted)

    def _reacted(self) -> None:
        self._loop.exchanges -= 1

    async def close(self) -> None:
        """Nothing: all nodes share the connection, and its owner closes it."""
