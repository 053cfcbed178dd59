"""The Clock that every component gets: the current time, waiting, and holding virtual time during real work.

The same class serves virtual and real time, because it only uses its event loop. Wall time is integer microseconds
since the epoch. A virtual run starts at a fixed date, so the same run always prints the same timestamps.
"""

from __future__ import annotations

import asyncio
import time as wall_time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from contextvars import copy_context
from typing import Any, Protocol

from kubesim.clock.loop.virtual import VirtualLoop, wake

VIRTUAL_START = 946_684_800_000_000  # 2000-01-01T00:00:00Z, the date at which Go's synctest bubbles start


class Clock(Protocol):
    """The clock interface for components. All times and durations are integer microseconds."""

    def now(self) -> int: ...
    def sleep(self, duration: int) -> Awaitable[None]: ...
    def sleep_until(self, moment: int) -> Awaitable[None]: ...
    def call_at(self, moment: int, callback: Callable[..., object], *args: Any) -> asyncio.TimerHandle: ...


@contextmanager
def external() -> Iterator[None]:
    """Hold the time of the running loop, if it is virtual, while the block awaits something real."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualLoop):
        yield
        return
    loop.externals += 1
    try:
        yield
    finally:
        loop.externals -= 1


class LoopClock:
    """The time of the running event loop."""

    def __new__(cls, start: int | None = None) -> LoopClock:
        return super().__new__(_VirtualClock if isinstance(asyncio.get_running_loop(), VirtualLoop) else cls)

    def __init__(self, start: int | None = None) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self.virtual = loop if isinstance(loop, VirtualLoop) else None
        if self.virtual is not None:
            self.start = VIRTUAL_START if start is None else start
            self.offset = self.start - self.virtual.micros()
        else:
            self.start = wall_time.time_ns() // 1000 if start is None else start
            self.offset = self.start - round(loop.time() * 1_000_000)

    def now(self) -> int:
        return round(self._loop.time() * 1_000_000) + self.offset

    def wall(self) -> int:
        """The machine's wall-clock time: a timestamp for other programs. It may jump (`SkewedClock`), unlike `now`,
        which is monotonic as in Go.
        """
        return self.now()

    def begin(self, speed: float = 0.0) -> None:
        """Count elapsed time from now on. With a speed, virtual time is also paced against the wall clock from now
        on."""
        self.start = self.now()
        if self.virtual is not None:
            self.virtual.pace(speed)

    def elapsed(self) -> int:
        """Microseconds since this clock was created, or since `begin`."""
        return self.now() - self.start

    def call_at(self, moment: int, callback: Callable[..., object], *args: Any) -> asyncio.TimerHandle:
        return self._loop.call_at((moment - self.offset) / 1_000_000, callback, *args)

    def late_rank(self) -> int:
        """A rank for tickers and `sleep_late`: higher than all earlier ranks; within an instant, a higher rank runs
        later.
        """
        return 0

    def something_happened(self) -> None:
        """Report that a tick has changed something, so no ticker is idle any more."""

    def sleep_late(self, moment: int, rank: int) -> Awaitable[None]:
        """Like `sleep_until`, but within a tick: everything else that is due or woken at that instant runs first."""
        return self.sleep_until(moment)

    def sleep_in_tick(self, duration: int) -> Awaitable[None]:
        """Like `sleep`, for a component that works on a tick: the end of this wait does not count as other activity."""
        return self.sleep(duration)

    def sleep(self, duration: int) -> Awaitable[None]:
        return self.sleep_until(self.now() + duration)

    def sleep_until(self, moment: int) -> Awaitable[None]:
        return self._sleep_until(moment)

    async def _sleep_until(self, moment: int) -> None:
        """Wait until the given time. A wait of zero also lets other tasks run, as in Go's scheduler."""
        future = self._loop.create_future()
        timer = self.call_at(moment, wake, future, None)
        try:
            await future
        finally:
            timer.cancel()

    def timeout(self, duration: int) -> AbstractAsyncContextManager[object]:
        """`async with clock.timeout(...)`: raises TimeoutError when the duration is over."""
        return asyncio.timeout(duration / 1_000_000)

    @contextmanager
    def external(self) -> Iterator[None]:
        """Hold virtual time while the block awaits something real."""
        with external():
            yield

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Accept input from outside during the block; in virtual time, the loop polls for input before each jump."""
        if self.virtual is None:
            yield
            return
        self.virtual.listening += 1
        try:
            yield
        finally:
            self.virtual.listening -= 1

    @asynccontextmanager
    async def outside(self, limit_s: float, *, hold: bool = False) -> AsyncIterator[None]:
        """Guard an exchange with the real world: TimeoutError after this many wall-clock seconds.

        Virtual time stops during an exchange. If the loop is paced, the exchange takes its real time, or none
        with `hold` or during a fast-forward.
        """
        virtual = self.virtual
        if virtual is None:
            async with asyncio.timeout(limit_s):
                yield
            return
        held = hold or not virtual.speed
        virtual.externals += held
        virtual.exchanges += not held
        task = asyncio.current_task()
        assert task is not None
        over = False

        def end() -> None:
            nonlocal over
            over = True
            task.cancel()

        handle = virtual.call_after_real(limit_s, end)
        try:
            yield
        except asyncio.CancelledError:
            if over and task.uncancel() == 0:
                raise TimeoutError from None
            raise
        finally:
            handle.cancel()
            virtual.externals -= held
            virtual.exchanges -= not held


class _VirtualClock(LoopClock):
    """The clock of a virtual loop; avoids the conversion to seconds."""

    virtual: VirtualLoop

    def now(self) -> int:
        return self.virtual._micros + self.offset

    wall = now

    def call_at(self, moment: int, callback: Callable[..., object], *args: Any) -> asyncio.TimerHandle:
        return self.virtual.call_at_micros(moment - self.offset, callback, args, copy_context())

    def late_rank(self) -> int:
        return self.virtual.late_rank()

    def something_happened(self) -> None:
        self.virtual.happened = True

    def sleep_late(self, moment: int, rank: int) -> Awaitable[None]:
        return self.virtual.sleep_until_micros(moment - self.offset, rank, in_tick=True)

    def sleep_in_tick(self, duration: int) -> Awaitable[None]:
        return self.virtual.sleep_until_micros(self.virtual._micros + duration, in_tick=True)

    def sleep(self, duration: int) -> Awaitable[None]:
        return self.virtual.sleep_until_micros(self.virtual._micros + duration)

    def sleep_until(self, moment: int) -> Awaitable[None]:
        return self.virtual.sleep_until_micros(moment - self.offset)


class SkewedClock(_VirtualClock):
    """The clock of a machine whose wall clock can be wrong; it shows the time of `like` until it is set."""

    def __new__(cls, like: LoopClock) -> SkewedClock:
        return object.__new__(cls)

    def __init__(self, like: LoopClock) -> None:
        super().__init__(like.now())
        self.skew = 0

    def wall(self) -> int:
        return self.virtual._micros + self.offset + self.skew
