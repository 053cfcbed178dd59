"""A ticker that skips the ticks nobody needs.

Go's ticker fires every period; most ticks of a resting node find nothing to do. Here a tick is delivered only if
someone asked for it (`want`), and always at an instant at which Go's ticker would have fired: phase + n * period. With
`every=True` all ticks are delivered; a run must give the same trace either way (there is a test for that).
"""

from __future__ import annotations

import asyncio

from kubesim.clock import LoopClock
from kubesim.concurrency.channel import Channel


class Ticker:
    """Delivers the tick's instant into `channel` (capacity 1: a tick that nobody took in time is dropped, as in Go).

    Of tickers that tick in one instant, the one that was made first ticks first, whoever asked for a tick first.
    """

    def __init__(self, clock: LoopClock, name: str, period: int, *, phase: int, every: bool = False) -> None:
        self.channel: Channel[int] = Channel(name, 1)
        self.period = period
        self._clock = clock
        self._phase = phase
        self._every = every
        self._place = clock.late_place()
        self._due: int | None = None
        self._last = phase  # the tick that was delivered last
        self._timer: asyncio.TimerHandle | None = None
        self._wants_next = False  # the tick that is due is the next one
        self._stopped = False
        if every:
            self.want(clock.now())

    def next_tick(self, moment: int) -> int:
        """The first tick at or after a moment; the first of all comes one period after the phase."""
        if moment <= self._phase:
            return self._phase + self.period
        return self._phase + -(-(moment - self._phase) // self.period) * self.period

    def want(self, moment: int) -> None:
        """Ask for the first tick at or after this moment (in the past: the next one)."""
        if self._stopped or (self._due is not None and self._due < moment + self.period):
            return  # no tick lies between the two
        moment = max(moment, self._clock.now() + 1)
        due = self.next_tick(moment)
        if self._due is not None and self._due <= due:
            return
        self._set(due)

    def want_next(self) -> None:
        """Ask for the next tick. This is done all the time; if it is due already, nothing has to be computed."""
        if not self._wants_next:
            self.want(self._clock.now())
            self._wants_next = True

    def held_up(self, since: int) -> None:
        """Whoever reads could not since then. A tick that fell into that time waits for it, as in Go, also if nobody
        had asked for it."""
        now = self._clock.now()
        tick = self.next_tick(max(since, self._last + 1))
        if tick < now:
            self._last = tick
            self.channel.try_send(tick)
        elif tick == now and not self._stopped and self._due != now:
            self._set(now)

    def _set(self, due: int) -> None:
        """A tick comes after all else that was set for its instant, whenever somebody asked for it."""
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self._clock.call_late(due, self._fire, self._place)

    def _fire(self) -> None:
        due, self._due, self._timer = self._due, None, None
        assert due is not None
        self._last = due
        self._wants_next = False
        if self._every:
            following, now = due + self.period, self._clock.now()
            self._set(following if following > now else self.next_tick(now + 1))
        self.channel.try_send(due)

    def reset(self) -> None:
        """Begin anew with this instant as the phase, as Go's Reset; a tick that nobody has taken is gone."""
        now = self._phase = self._last = self._clock.now()
        self.channel.try_receive()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = self._due = None
        self._wants_next = False
        if self._every:
            self.want(now)

    def stop(self) -> None:
        """For ever."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = self._due = None
