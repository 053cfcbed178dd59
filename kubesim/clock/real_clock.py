"""The wall clock, for what is at the other end of a connection: a client of a paced loop does not know its speed.

Timeouts of connections, keep-alives, watches and polls of streams take real time, whether the loop's own time is fast,
stops or jumps.
"""

from __future__ import annotations

import asyncio
import time as wall_time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from kubesim.clock.clock import LoopClock
from kubesim.clock.loop.virtual import VirtualLoop


class RealClock(LoopClock):
    """Real time on a virtual loop with a speed. It begins at the time of `like`."""

    def __new__(cls, like: LoopClock) -> RealClock:
        return object.__new__(cls)

    def __init__(self, like: LoopClock) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        super().__init__(like.now())
        self._paced = loop
        self._begin = wall_time.monotonic_ns() // 1000

    def now(self) -> int:
        return self.start + wall_time.monotonic_ns() // 1000 - self._begin

    def call_at(self, moment: int, callback: Callable[..., object], *args: Any) -> asyncio.TimerHandle:
        seconds = max(0, moment - self.now()) / 1_000_000
        return self._paced.call_after_real(seconds, callback, *args)  # type: ignore[return-value]

    def sleep(self, duration: int) -> Awaitable[None]:
        return self.sleep_until(self.now() + duration)

    def timeout(self, duration: int) -> AbstractAsyncContextManager[object]:
        return self._timeout(duration)

    @asynccontextmanager
    async def _timeout(self, duration: int) -> AsyncIterator[None]:
        async with asyncio.timeout(None) as limit:
            timer = self.call_at(self.now() + duration, lambda: limit.reschedule(self._paced.time()))
            try:
                yield
            finally:
                timer.cancel()
