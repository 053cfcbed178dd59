"""A periodic ticker like Go's, which the virtual loop can advance without firing while it is idle.

The reader finishes each tick with `done(idle_until)`: before that time, ticks have no effect unless something else
happens. A reader that changed something, or may change something at the next tick, passes the current time. Otherwise
the ticker is idle until another timer fires, another tick changes something, or input arrives from outside. The loop
skips idle ticks (`clock.virtual`). A reader that knows all that its ticks depend on can pause its ticker until one of
these changes, whatever else happens. The trace is the same as if every tick were executed; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kubesim.clock import NEVER, LoopClock
from kubesim.concurrency.channel import Channel


class Ticker:
    """Sends the instant of each tick to `channel` (capacity 1: a tick that is not received in time is dropped).

    Within an instant, ticks fire after everything else, in the order in which the tickers were created; with
    `late=False` they fire like any other timer. `lead` is the time from a tick to the effect of its work. `on_skip` is
    called with the instant of the last skipped tick. `on_tick` replaces the reader: it is called with each tick and
    returns the argument of `done`.
    """

    def __init__(self, clock: LoopClock, name: str, period: int, *, late: bool = True, lead: int = 0) -> None:
        self.channel: Channel[int] = Channel(name, 1)
        self.period = period
        self.on_skip: Callable[[int], object] | None = None
        self.on_tick: Callable[[int], int] | None = None
        self._clock = clock
        self._loop = clock.virtual  # None in real time, where no tick is skipped
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
        self._skip_to(clock.now() + 1)  # in real time the loop can be late
        if self._loop is None:
            self._timer = clock.call_at(self.due, self.fire)
        else:
            self._loop.tick_again(self._timer, self.due - clock.offset)
        if self.deliver(tick) and self._loop is not None:
            self._loop.unfinished_ticks.add(self)

    def deliver(self, tick: int) -> bool:
        """Deliver a tick. Returns True if a reader must finish it."""
        if self.on_tick is None:
            return self.channel.try_send(tick)
        self.done(self.on_tick(tick))
        return False

    def done(self, idle_until: int = 0) -> None:
        """Finish the tick. Before `idle_until`, the next ticks have no effect unless something else happens; `NEVER`:
        no tick does. The default assumes that this tick changed something, or that the next one may.
        """
        loop = self._loop
        if loop is not None:
            if not self.channel:
                loop.unfinished_ticks.discard(self)
            loop.tick_done(self._timer, idle_until if idle_until == NEVER else idle_until - self._clock.offset)

    def skip(self, end: int) -> int:
        offset = self._clock.offset
        first = end + offset - self._lead
        if self.due < first:
            last = self._skip_to(first)
            if self.on_skip is not None:
                self.on_skip(last)
        return self.due - offset

    def _skip_to(self, first: int) -> int:
        """Advance to the first tick at or after `first`. Returns the time of the last tick before it."""
        period = self.period
        self.due = due = first + (self.due - first) % period
        return due - period

    def reset(self, due: int | None = None) -> None:
        """Restart the ticker, with the next tick at `due` or one period from now; a pending tick is dropped."""
        self.channel.try_receive()
        self._timer.cancel()
        self._set(self._clock.now() + self.period if due is None else due)

    def stop(self) -> None:
        self._timer.cancel()
        if self._loop is not None:
            self._loop.unfinished_ticks.discard(self)


class PausingTicker(Ticker):
    """A ticker that its reader can pause.

    The reader runs after all tasks that are ready: a tick without effect must not even change their order.
    """

    _is_paused = False

    def deliver(self, tick: int) -> bool:
        return self.channel.try_send(tick, runs_next=False)

    def pause(self) -> None:
        """Stop ticking until `resume`: the ticks between have no effect. The current tick must be done."""
        if self._loop is not None and self._loop.skips_idle_ticks:
            self._timer.cancel()
            self._is_paused = True

    def resume(self) -> None:
        """End a pause. The next tick is the first one from this instant on, in the old rhythm."""
        if self._is_paused:
            self._is_paused = False
            if self.due < self._clock.now():
                self._skip_to(self._clock.now())
            self._set(self.due)

    def stop(self) -> None:
        super().stop()
        self._is_paused = False


class JitteredTicker(Ticker):
    """A ticker with a random interval before each tick, also before each skipped one."""

    def __init__(self, clock: LoopClock, name: str, draw: Callable[[], int]) -> None:
        self._draw = draw
        super().__init__(clock, name, draw(), late=False)

    def _skip_to(self, first: int) -> int:
        last = self.due
        while self.due < first:
            last, self.due = self.due, self.due + self._draw()
        return last


async def act_every(clock: LoopClock, name: str, period: int, act: Callable[[], Awaitable[bool]]) -> None:
    """Act now and every period, until cancelled, like wait.Until. `act` returns whether it changed something, or may do
    so next time.
    """
    ticker = Ticker(clock, name, period)
    try:
        await act()
        while True:
            await ticker.channel.receive()
            ticker.done(0 if await act() else NEVER)
    finally:
        ticker.stop()
