"""The virtual event loop: when nothing is ready, time jumps to the next timer.

Stock asyncio compares only the deadlines of timers, so two that tie fire in heap order; here a timer is ordered by
(deadline, creation), on a grid of whole microseconds. While real work is under way (a process, a thread) the loop holds
its time and waits for it. Nothing ready, no timer and nothing outside is a `Deadlock` that names who waits for what.
"""

from __future__ import annotations

import asyncio
import heapq
import time as wall_time
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar

from kubesim.errors import Deadlock

T = TypeVar("T")
SECOND = 1_000_000


class OrderedTimer(asyncio.TimerHandle):
    """A timer that fires after all earlier ones, also those for the same instant."""

    __slots__ = ("due", "order")

    due: int
    order: int

    def __lt__(self, other: object) -> bool:
        assert isinstance(other, OrderedTimer)
        return (self.due, self.order) < (other.due, other.order)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio event loop whose time is counted, not measured."""

    # Set by asyncio's base class; declared here because we replace the step that uses them.
    _ready: Any
    _scheduled: list[OrderedTimer]
    _timer_cancelled_count: int

    def __init__(self, speed: float = 0.0) -> None:
        super().__init__()
        self._micros = 0
        self._orders = 0
        self.externals = 0  # real things under way; time stands still meanwhile
        self.speed = speed  # virtual seconds for each second on the wall; 0 = as fast as possible
        self._wall_start = wall_time.monotonic()
        self.waiting: dict[asyncio.Future[Any], str] = {}  # who waits for what, for Deadlock
        self._next: asyncio.Handle | None = None  # runs before everything in _ready
        self._placing_next = False

    def micros(self) -> int:
        """Virtual microseconds since the loop was made."""
        return self._micros

    def time(self) -> float:
        return self._micros / SECOND

    def call_at(  # type: ignore[override]  # asyncio ties the types of args and callback; nothing here needs that
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at_micros(round(when * SECOND), callback, *args, context=context)

    def call_at_micros(
        self, due: int, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = OrderedTimer(due / SECOND, callback, args, self, context)
        timer.due = due if due > self._micros else self._micros
        self._orders += 1
        timer.order = self._orders
        heapq.heappush(self._scheduled, timer)
        timer._scheduled = True  # type: ignore[attr-defined]
        return timer

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = super().call_soon(callback, *args, context=context)
        if self._placing_next:
            self._ready.pop()
            if self._next is not None:
                self._ready.append(self._next)
            self._next = handle
        return handle

    def placing_next(self, act: Callable[..., T], *args: Any) -> T:
        """Do something that makes a task ready, and let that task run next (see `wake`)."""
        self._placing_next = True
        try:
            return act(*args)
        finally:
            self._placing_next = False

    def _run_once(self) -> None:
        """One step of the loop. Replaces asyncio's, which would sleep until the next timer."""
        scheduled = self._scheduled
        while scheduled and scheduled[0].cancelled():
            self._timer_cancelled_count -= 1
            heapq.heappop(scheduled)._scheduled = False  # type: ignore[attr-defined]
        if not self._ready and self._next is None:
            if self.externals or self.speed:
                self._wait_outside()
            if not self._ready and not self.externals:
                self._jump()
        for _ in range(len(self._ready) + (self._next is not None)):
            handle = self._next
            if handle is None:
                handle = self._ready.popleft()
            else:
                self._next = None
            if not handle._cancelled:
                handle._run()

    def _wait_outside(self) -> None:
        """Wait for real events; with a speed, no longer than until the next timer is due on the wall."""
        timeout: float | None = None
        if not self.externals and self._scheduled:
            due_on_wall = self._wall_start + self._scheduled[0].due / SECOND / self.speed
            timeout = max(0.0, due_on_wall - wall_time.monotonic())
        self._process_events(self._selector.select(timeout))  # type: ignore[attr-defined]

    def _jump(self) -> None:
        scheduled = self._scheduled
        if not scheduled:
            # A callback from another thread or a signal may have come in meanwhile.
            self._process_events(self._selector.select(0))  # type: ignore[attr-defined]
            if self._ready or self._stopping:  # type: ignore[attr-defined]
                return
            raise Deadlock(self._describe_deadlock())
        now = self._micros = scheduled[0].due
        while scheduled and scheduled[0].due <= now:
            timer = heapq.heappop(scheduled)
            timer._scheduled = False  # type: ignore[attr-defined]
            if not timer.cancelled():
                timer._run()  # all timers of an instant fire before any task that they wake runs, as in Go

    def _describe_deadlock(self) -> str:
        lines = []
        for task in sorted(asyncio.all_tasks(self), key=lambda t: t.get_name()):
            waits = self.waiting.get(getattr(task, "_fut_waiter", None), "something unnamed")  # type: ignore[arg-type]
            frames = task.get_stack(limit=1)
            where = f" ({frames[0].f_code.co_filename.rsplit('/', 1)[-1]}:{frames[0].f_lineno})" if frames else ""
            lines.append(f"{task.get_name()} waits for {waits}{where}")
        return "virtual time cannot go on: " + ("; ".join(lines) or "no task is left")


def wake(future: asyncio.Future[T], value: T) -> None:
    """Give a waiting task its value, and let it run next.

    Go's scheduler runs the goroutine that was made ready last before the others, which then come in order. What is seen
    of the kubelet within one instant follows from that, so wake-ups between our tasks are ordered the same way.
    """
    if future.done():
        return
    loop = future.get_loop()
    if isinstance(loop, VirtualLoop):
        loop.placing_next(future.set_result, value)
    else:
        future.set_result(value)


def go(coroutine: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
    """Start a task as Go's `go` statement does: it runs next once the present one waits (see `wake`)."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, VirtualLoop):
        return loop.placing_next(lambda: loop.create_task(coroutine, name=name))
    return loop.create_task(coroutine, name=name)


def run_virtual(main: Callable[..., Coroutine[Any, Any, T] | Awaitable[T]], *args: object, speed: float = 0.0) -> T:
    """`anyio.run` on a fresh virtual loop."""
    import anyio

    return anyio.run(main, *args, backend_options={"loop_factory": lambda: VirtualLoop(speed)})
