"""What a virtual loop keeps in its queues: handles, timers, ticks, and waits within a tick."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any, Protocol

SECOND = 1_000_000


class LoopHandle(asyncio.Handle):
    """asyncio's Handle, created without asking whether the loop is in debug mode."""

    __slots__ = ()
    _context: Context
    _callback: Any
    _args: Any

    def __init__(
        self,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
    ) -> None:
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = self._source_traceback = None


class Timer:
    """asyncio's TimerHandle, reduced to what this loop uses. Without a context, the loop's own context applies."""

    __slots__ = ("_when", "args", "callback", "context")
    _source_traceback = None  # read by asyncio's call_later

    def __init__(
        self, when: int, callback: Callable[..., object], args: tuple[Any, ...], context: Context | None
    ) -> None:
        self._when = when
        self.callback: Any = callback  # None once it is cancelled
        self.args = args
        self.context = context

    def when(self) -> float:
        return self._when / SECOND

    def cancel(self) -> None:
        self.callback = None
        self.args = ()

    def cancelled(self) -> bool:
        return self.callback is None

    def __repr__(self) -> str:
        return f"<timer at {self.when()} s: {self.callback or 'cancelled'}>"


class Periodic(Protocol):
    """The owner of a tick: a ticker."""

    def fire(self) -> None: ...

    def skip(self, end: int) -> int:
        """Skip the ticks that have no effect at the instant `end`. Returns the due time of the first remaining tick."""
        ...


class Tick(Timer):
    """The next tick of a ticker; one object for all its ticks.

    While `activity_count` has the value of the last finished tick, the next ticks have no effect before `idle_until`.
    """

    __slots__ = ("idle_since", "idle_until", "rank", "ticker")

    def __init__(self, when: int, ticker: Periodic, rank: int) -> None:
        super().__init__(when, ticker.fire, (), None)
        self.ticker = ticker
        self.rank = rank
        self.idle_since = -1
        self.idle_until = 0


class PartOfTick(Future[None]):
    """A wait within a tick. Its end does not count as another event, so idle tickers stay idle."""
