"""Polls a condition, like Go's wait package.

Mirrors: apimachinery/pkg/util/wait PollUntilContextTimeout, PollUntilContextCancel
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kubesim.clock import NEVER, Awaited, LoopClock, wake
from kubesim.concurrency import Ticker
from kubesim.podworkers.syncer import SyncContext


class WaitTimedOut(Exception):
    """The condition was not met in time."""

    def __init__(self) -> None:
        super().__init__("context deadline exceeded")


class _Poll(Ticker):
    """Its ticks wake the waiter with True, the deadline with False."""

    waiter: asyncio.Future[bool]

    def deliver(self, tick: int) -> bool:
        wake(self.waiter, True)
        return True

    def expire(self) -> None:
        wake(self.waiter, False)


async def poll_until(
    clock: LoopClock,
    what: str,
    context: SyncContext,
    condition: Callable[[], bool],
    *,
    interval: int,
    timeout: int | None = None,
) -> None:
    """Poll until the condition is true. Raises DeadlineExceeded, SyncCancelled, or the condition's error."""
    if condition():
        return
    deadline = None
    poll = _Poll(clock, what, interval, late=False)
    if timeout is not None:
        deadline = clock.call_at(clock.now() + timeout, poll.expire)
    try:
        while True:
            poll.waiter = Awaited(what)
            if not await context.race(poll.waiter):
                raise WaitTimedOut
            if condition():
                return
            poll.done(NEVER)
    finally:
        poll.stop()
        if deadline is not None:
            deadline.cancel()
