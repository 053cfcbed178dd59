"""The virtual loop and the wall clock: speed, pause, fast-forward, and limits on real work.

With a speed, the loop waits for the next timer as long as it takes on the wall clock, or for input. In a pause, virtual
time stops and input is served. In a fast-forward, time jumps from timer to timer up to a goal, as without a speed, but
the loop polls for input before each jump, and waits for requests to other programs (`exchanges`): their answers arrive
at the instant of the request. Afterwards the speed applies again.
"""

from __future__ import annotations

import asyncio
import time as wall_time
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from selectors import PollSelector
from typing import Any

from kubesim.clock.awaited import Awaited
from kubesim.clock.loop.timers import SECOND

PURGE_SIZE = 2000  # timers that trigger a search for cancelled ones; at least twice what the last one left
PROGRESS_S = 0.5  # with a speed: real seconds between two calls of `on_progress` during a wait


class PacedLoop(asyncio.SelectorEventLoop):
    """The base of `VirtualLoop`, which has the timers."""

    _ready: Any
    _csock: Any

    def __init__(self, speed: float) -> None:
        super().__init__(PollSelector())  # costs nothing while no file descriptor is registered
        self.speed = speed  # virtual seconds per wall-clock second; 0 = as fast as possible
        self.paused = False  # of a loop with a speed
        self.externals = 0  # real operations in progress, during which time stops
        self.exchanges = 0  # requests to other programs in progress, during which time does not jump to a goal
        self.listening = 0  # file descriptors on which input may arrive at any time
        self.on_progress: Callable[[], None] | None = None  # called now and then while time advances
        self.happened = True  # anything happened since `activity_count` was last incremented
        self._micros = 0
        self._goal = 0
        self._reached: Awaited[None] | None = None  # of a fast-forward
        self._limits: list[tuple[float, int, asyncio.Handle]] = []  # a heap by (due on the wall, order of creation)
        self._limits_purge_size = PURGE_SIZE
        self._limit_orders = 0
        self._wall_start = wall_time.monotonic()

    # -- the timers of the loop --------------------------------------------------------------------------------------

    def _next_due(self) -> int | None:
        raise NotImplementedError

    def _jump(self) -> None:
        raise NotImplementedError

    def _add_callback(self, handle: Any) -> None:
        raise NotImplementedError

    # -- controls ----------------------------------------------------------------------------------------------------

    def pace(self, speed: float) -> None:
        """From now on, let this many virtual seconds pass in each wall-clock second."""
        self.speed = speed
        if speed:
            self._wall_start = wall_time.monotonic() - self._micros / SECOND / speed

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        if self.paused:
            self.paused = False
            self.pace(self.speed)

    async def fast_forward(self, duration: int) -> None:
        """Advance by this many microseconds as fast as possible. If cancelled, it stops where it is."""
        assert self.speed, "a loop without a speed needs no fast-forward"
        assert self._reached is None, "one fast-forward at a time"
        self._goal = self._micros + duration
        self._reached = Awaited("the end of a fast-forward")
        try:
            await self._reached
        finally:
            self._reached = None
            self.pace(self.speed)

    def call_after_real(self, seconds: float, callback: Callable[..., object], *args: Any) -> asyncio.Handle:
        """Call back after this much wall-clock time, while the loop waits for real work."""
        handle = asyncio.Handle(callback, args, self)
        if len(self._limits) > self._limits_purge_size:
            self._limits = [entry for entry in self._limits if not entry[2].cancelled()]
            heapify(self._limits)
            self._limits_purge_size = max(PURGE_SIZE, 2 * len(self._limits))
        self._limit_orders += 1
        heappush(self._limits, (wall_time.monotonic() + seconds, self._limit_orders, handle))
        return handle

    # -- waiting -----------------------------------------------------------------------------------------------------

    @property
    def _is_time_stopped(self) -> bool:
        return bool(self.externals or (self._reached is not None and self.exchanges))

    def _poll_outside(self) -> None:
        if self._reached is not None and not self._is_time_stopped:
            self._continue_fast_forward()
            return
        if self.externals or self.speed:
            self._wait_outside()
        else:
            self._listen(0)
        if not self._ready and not self._is_time_stopped and not self._is_early():
            self._jump()

    def _continue_fast_forward(self) -> None:
        """Process input, or else jump to the next timer before the goal, or to the goal."""
        self._listen(0)
        self._expire_limits()
        if self._ready:
            return
        due = self._next_due()
        if due is not None and due <= self._goal:
            self._jump()
            return
        self._micros = max(self._micros, self._goal)
        if self._reached is not None and not self._reached.done():
            self._reached.set_result(None)

    def _listen(self, timeout: float | None) -> None:
        """Process input from outside."""
        events = self._selector.select(timeout)  # type: ignore[attr-defined]
        if events:
            self.happened = True
            self._process_events(events)  # type: ignore[attr-defined]

    def _wait_outside(self) -> None:
        """Wait for real events, at most until a limit or, with a speed, until the next timer is due on the wall
        clock."""
        if self._csock is None:
            super()._make_self_pipe()  # type: ignore[misc]
            if self._ready:  # another thread may have called before the pipe existed
                return
        self._forget_cancelled_limits()
        ends = [self._limits[0][0]] if self._limits else []
        due, held = self._due_soon(), self._is_time_stopped
        if not held and due is not None:
            ends.append(self._wall_due(due))
        reports = self.on_progress is not None and self.speed and due is not None and not held
        if reports:
            ends.append(wall_time.monotonic() + PROGRESS_S)
        self._listen(max(0.0, min(ends) - wall_time.monotonic()) if ends else None)
        self._expire_limits()
        if (self._ready or reports) and self.speed and not held and not self.paused:
            # input from outside arrived between two timers, not at the earlier one
            passed = int((wall_time.monotonic() - self._wall_start) * self.speed * SECOND)
            self._micros = max(self._micros, passed if due is None else min(passed, due))
        if reports and self.on_progress is not None:
            self.on_progress()

    def _due_soon(self) -> int | None:
        """The due time of the next timer; in a pause, only of this instant."""
        due = self._next_due()
        return None if self.paused and due is not None and due > self._micros else due

    def _wall_due(self, due: int) -> float:
        return 0.0 if due <= self._micros else self._wall_start + due / SECOND / self.speed

    def _forget_cancelled_limits(self) -> None:
        while self._limits and self._limits[0][2].cancelled():
            heappop(self._limits)

    def _expire_limits(self) -> None:
        while self._limits and self._limits[0][0] <= wall_time.monotonic():
            handle = heappop(self._limits)[2]
            if not handle.cancelled():
                self.happened = True
                self._add_callback(handle)

    def _is_early(self) -> bool:
        """Whether, with a speed, the wait ended before a limit or the next timer was due."""
        if not self.speed:
            return False
        due = self._due_soon()
        if due is None:
            return self.paused or bool(self._limits)
        return wall_time.monotonic() < self._wall_due(due)
