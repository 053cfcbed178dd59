"""When pending resizes are looked at although nothing happened: three minutes after they were looked at last.

Until every source has been heard it is every 30 seconds. A look without anything pending has no effect but to set the
next one, so it is counted and not executed.

Mirrors: pkg/kubelet/allocation/allocation_manager.go Run and its ticker
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.clock import Awaited, LoopClock

INITIAL_RETRY_DELAY = 30 * SECOND
RETRY_DELAY = 3 * MINUTE


class ResizeTimer:
    """`look` is awaited when the time has come; it calls `reset`."""

    def __init__(
        self, clock: LoopClock, look: Callable[[], Awaitable[None]], pending: Callable[[], bool], *, every: bool
    ) -> None:
        self._clock = clock
        self._look = look
        self._pending = pending
        self._every = every
        self._settled = False  # a look has found all sources ready, so every further one comes after three minutes
        self._next = clock.now() + INITIAL_RETRY_DELAY
        self._alarm: asyncio.Future[None] | None = None

    def reset(self, *, ready: bool) -> None:
        """Pending resizes are looked at now."""
        self._settled = ready
        self._next = self._clock.now() + (RETRY_DELAY if ready else INITIAL_RETRY_DELAY)

    def pending_changed(self) -> None:
        if self._alarm is not None and not self._alarm.done() and self._pending():
            self._alarm.set_result(None)

    async def run(self) -> None:
        while True:
            self._catch_up()
            if self._clock.now() >= self._next:
                await self._look()
            else:
                await self._sleep()

    def _catch_up(self) -> None:
        """Count the looks that were skipped."""
        late = self._clock.now() - self._next
        if late > 0:
            self._next += -(-late // RETRY_DELAY) * RETRY_DELAY

    async def _sleep(self) -> None:
        wanted = self._every or not self._settled or self._pending()
        self._alarm = Awaited("a pending resize")
        timer = self._clock.call_at(self._next, self._ring) if wanted else None
        try:
            await self._alarm
        finally:
            self._alarm = None
            if timer is not None:
                timer.cancel()

    def _ring(self) -> None:
        if self._alarm is not None and not self._alarm.done():
            self._alarm.set_result(None)
