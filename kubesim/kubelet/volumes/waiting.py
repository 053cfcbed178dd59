"""Waiting for a condition that a poll looks at again and again, without the looks that can find nothing.

A poll looks at once, and then every `interval` after that. Here it looks only when it was told that something changed,
at the next instant at which it would have looked anyway.

Mirrors: apimachinery/pkg/util/wait PollUntilContextTimeout, PollUntilContextCancel
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kubesim.clock import Awaited, LoopClock, wake
from kubesim.podworkers.syncer import SyncContext


class DeadlineExceeded(Exception):
    """The condition did not hold in time."""

    def __init__(self) -> None:
        super().__init__("context deadline exceeded")


class Polls:
    """The polls of one kind of thing, by key."""

    def __init__(self, clock: LoopClock) -> None:
        self._clock = clock
        self._waiting: dict[str, dict[asyncio.Future[bool], None]] = {}

    def changed(self, key: str) -> None:
        """Something about this changed."""
        for waiter in self._waiting.get(key, ()):
            wake(waiter, True)

    async def until(
        self,
        key: str,
        what: str,
        context: SyncContext,
        condition: Callable[[], bool],
        *,
        interval: int,
        timeout: int | None = None,
    ) -> None:
        """Raises DeadlineExceeded, SyncCancelled, or what the condition raises."""
        begin = self._clock.now()
        deadline = None if timeout is None else begin + timeout
        while not condition():
            await self._change(key, what, context, deadline)
            # A look of this instant is over: it came before what changed.
            due = begin + ((self._clock.now() - begin) // interval + 1) * interval
            if deadline is not None and due >= deadline:
                await self._pause(what, context, deadline)
                raise DeadlineExceeded
            await self._pause(what, context, due)

    async def _change(self, key: str, what: str, context: SyncContext, deadline: int | None) -> None:
        waiter: Awaited[bool] = Awaited(what)
        self._waiting.setdefault(key, {})[waiter] = None
        timer = None if deadline is None else self._clock.call_at(deadline, wake, waiter, False)
        try:
            if not await context.race(waiter):
                raise DeadlineExceeded
        finally:
            if timer is not None:
                timer.cancel()
            waiters = self._waiting[key]
            del waiters[waiter]
            if not waiters:
                del self._waiting[key]

    async def _pause(self, what: str, context: SyncContext, moment: int) -> None:
        waiter: Awaited[None] = Awaited(what)
        timer = self._clock.call_at(moment, wake, waiter, None)
        try:
            await context.race(waiter)
        finally:
            timer.cancel()
