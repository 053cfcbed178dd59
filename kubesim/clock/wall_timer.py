"""A wall-clock timer, for limits on real work: a hung process has no virtual duration.

An ordinary event loop uses an ordinary timer. A virtual loop, whose time stops while it awaits something real,
checks the wall clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kubesim.clock.loop.virtual import VirtualLoop


class WallTimer:
    """Calls back once after this many real seconds, unless it is closed first."""

    def __init__(self, seconds: float, callback: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualLoop):
            self._handle = loop.call_after_real(seconds, callback)
        else:
            self._handle = loop.call_later(seconds, callback)

    def close(self) -> None:
        self._handle.cancel()


async def wall_sleep(seconds: float) -> None:
    """Wait in real time, on an ordinary or a virtual loop."""
    woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake_up() -> None:
        if not woken.done():
            woken.set_result(None)

    timer = WallTimer(seconds, wake_up)
    try:
        await woken
    finally:
        timer.close()
