"""A ticker fires every period, as Go's does; while nothing happens, time passes over ticks that change nothing.

The reader finishes each tick with `done`, and says until when time alone changes nothing for it. If the tick changed
something, or may change something next time, that is now. Otherwise the ticker is idle: as long as nothing else happens
anywhere (no timer fires, no other tick changes anything, nothing comes from outside), its further ticks would find what
this one found, and the loop moves the ticker on instead of firing it (`clock.virtual`). The run is the same as if
every tick were executed; a test compares.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kubesim.clock import NEVER, LoopClock
from kubesim.concurrency.channel import Channel


class Ticker:
    """Delivers the instant of each tick into `channel` (capacity 1: a tick that nobody takes in time is dropped).

    Ticks come after all else of their instant, those of tickers made earlier first; with `late=False` they come among
    the other timers. `lead` is how long after a tick its work takes effect. `on_skip` is called with the instant of the
    last tick that was skipped. With `on_tick` there is no reader: it is called with each tick, and returns what `done`
    is given.
    """

    def __init__(self, clock: LoopClock, name: str, period: int, *, late: bool = True, lead: int = 0) -> None:
        self.channel: Channel[int] = Channel(name, 1)
        self.period = period
        self.on_skip: Callable[[int], object] | None = None
        self.on_tick: Callable[[int], int] | None = None
        self._clock = clock
        self._loop = clock.virtual  # None in real time, in which no tick is skipped
        self._lead = lead
        self._rank = clock.late_rank() if late else 0
        self._set(clock.now() + period)

    def _set(self, due: int) -> None:
        self.due = due
        if self._loop is None:
            self._timer: Any = self._clock.call_at(due, self.fire)
        else:
            self._timer = self._loop.tick_at_micros(due - self._clock.offset, self, self._rank)

    def fire(self) -> None:
        tick, clock = self.due, self._clock
        self._pass_over(clock.now() + 1)  # in real time the loop can be late
        if self._loop is None:
            self._timer = clock.call_at(self.due, self.fire)
        else:
            self._loop.tick_again(self._timer, self.due - clock.offset)
        if self.deliver(tick) and self._loop is not None:
            self._loop.unfinished_ticks.add(self)

    def deliver(self, tick: int) -> bool:
        """True if a reader has to finish it."""
        if self.on_tick is None:
            return self.channel.try_send(tick)
        self.done(self.on_tick(tick))
        return False

    def done(self, idle_until: int = 0) -> None:
        """The reader has finished the tick. Before `idle_until` only something that happens elsewhere can make the next
        one different; `NEVER`: no tick ever. By default this tick changed something, or the next one may."""
        loop = self._loop
        if loop is not None:
            if not self.channel:
                loop.unfinished_ticks.discard(self)
            loop.tick_done(self._timer, idle_until if idle_until == NEVER else idle_until - self._clock.offset)

    def skip(self, end: int) -> int:
        offset = self._clock.offset
        first = end + offset - self._lead
        if self.due < first:
            last = self._pass_over(first)
            if self.on_skip is not None:
                self.on_skip(last)
        return self.due - offset

    def _pass_over(self, first: int) -> int:
        """Move on to the first tick from a moment on. Returns the last one before it."""
        period = self.period
        self.due = due = first + (self.due - first) % period
        return due - period

    def reset(self, due: int | None = None) -> None:
        """Begin again with the next tick at `due` or one period from now; a tick that nobody has taken is gone."""
        self.channel.try_receive()
        self._timer.cancel()
        self._set(self._clock.now() + self.period if due is None else due)

    def stop(self) -> None:
        self._timer.cancel()
        if self._loop is not None:
            self._loop.unfinished_ticks.discard(self)


class JitteredTicker(Ticker):
    """Draws the interval to each next tick, also to those that are skipped."""

    def __init__(self, clock: LoopClock, name: str, draw: Callable[[], int]) -> None:
        self._draw = draw
        super().__init__(clock, name, draw(), late=False)

    def _pass_over(self, first: int) -> int:
        last = self.due
        while self.due < first:
            last, self.due = self.due, self.due + self._draw()
        return last


async def act_every(clock: LoopClock, name: str, period: int, act: Callable[[], Awaitable[bool]]) -> None:
    """Act now and every period, until cancelled, as wait.Until does. `act` returns whether it changed something, or may
    change something next time."""
    ticker = Ticker(clock, name, period)
    try:
        await act()
        while True:
            await ticker.channel.receive()
            ticker.done(0 if await act() else NEVER)
    finally:
        ticker.stop()
