"""The virtual event loop: when nothing is ready, time jumps to the next timer.

asyncio's own loop compares only the deadlines of timers, so timers with the same deadline fire in heap order. Here
timers are ordered by (deadline, creation), in whole microseconds. During real work (a process, a thread) the loop holds
its time and waits; limits on that work count wall-clock time. A source that may report at any time (a watched
directory) does not hold the clock: the loop polls it before each jump. Without a ready task, a timer or an outside
source, the loop raises `Deadlock`, which names the waiting tasks and what they wait for.

Idle time is free. `activity_count` counts the instants in which anything happened except ticks that changed nothing. A
ticker whose last tick changed nothing is idle until something else happens (see `concurrency.Ticker`), and the loop
moves idle ticks on to the next moment at which something can happen, instead of firing them.
"""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from heapq import heapify, heappop, heappush
from typing import Any, TypeVar

from kubesim.clock.loop.pacing import PURGE_SIZE, PacedLoop
from kubesim.clock.loop.timers import SECOND, LoopHandle, PartOfTick, Periodic, Tick, Timer
from kubesim.errors import Deadlock

T = TypeVar("T")
_Ready = tuple[Context, tuple[Any, ...]]  # a callback to run in that context, with its arguments
LATE = 1 << 50  # added to the order of a timer that fires after all others of its instant
JUMPS_PER_PROGRESS = 1000
NEVER = 1 << 62  # later than any real time

# (due, order of creation, callback or the future of a sleeper)
_Entry = tuple[int, int, Timer | asyncio.Future[None]]


class VirtualLoop(PacedLoop):
    """An asyncio event loop in virtual time."""

    ties: Callable[[int], int] | None = None  # the timer that fires first, of this many at the same instant
    skips_idle_ticks = True  # a test turns it off, so that all ticks run, and compares the traces

    # asyncio's base class creates it. The type of its entries is ours, because we replace all methods that use it.
    _ready: deque[_Ready]

    def __init__(self, speed: float = 0.0) -> None:
        super().__init__(speed)
        self._timers: list[_Entry] = []  # a heap
        self._fired: list[Tick] = []  # ticks that fired at this instant, to re-arm
        self._idle_ticks: list[Tick] = []  # idle ticks, while a loop with a speed waits for ...
        self._idle_ticks_until = NEVER  # ... this time
        self._purge_size = PURGE_SIZE
        self._orders = 0
        self._late_ranks = 0
        self._jumps = 0
        self._next: _Ready | None = None  # runs before everything in _ready
        self._woken_runs_next = False
        self.activity_count = 0
        self.unfinished_ticks: set[Periodic] = set()  # tickers whose reader has not finished the last tick

    def _make_self_pipe(self) -> None:
        """Replaces asyncio's: most loops never wait for real input, so the pipe that wakes them is created for the
        first wait.
        """
        self._ssock: Any = None
        self._csock: Any = None

    def _close_self_pipe(self) -> None:
        if self._csock is not None:
            super()._close_self_pipe()  # type: ignore[misc]

    def micros(self) -> int:
        """Virtual microseconds since the loop was created."""
        return self._micros

    def time(self) -> float:
        return self._micros / SECOND

    get_debug = staticmethod(bool)  # never in debug mode; each future and task asks when it is created

    def call_at(  # type: ignore[override]  # asyncio ties the types of args and callback; nothing here needs that
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        context = copy_context() if context is None else context
        return self.call_at_micros(round(when * SECOND), callback, args, context)

    def call_at_micros(
        self, due: int, callback: Callable[..., object], args: tuple[Any, ...], context: Context | None, rank: int = 0
    ) -> asyncio.TimerHandle:
        """Call back at a virtual time. Timers of one instant fire by rank, then in the order of creation."""
        timer = Timer(due, callback, args, context)
        self._orders = order = self._orders + 1
        heappush(self._timers, (due if due > self._micros else self._micros, rank + order, timer))
        return timer  # type: ignore[return-value]

    def late_rank(self) -> int:
        """A rank that sorts a timer after all others of the same instant; ranks returned later sort later."""
        self._late_ranks += LATE
        return self._late_ranks

    def tick_at_micros(self, due: int, ticker: Periodic, rank: int) -> Tick:
        tick = Tick(due, ticker, rank)
        self._arm(tick, due)
        return tick

    def _arm(self, tick: Tick, due: int) -> None:
        tick._when = due
        self._orders = order = self._orders + 1
        heappush(self._timers, (due, tick.rank + order, tick))

    def tick_again(self, tick: Tick, due: int) -> None:
        """Re-arm a tick that fires, but only when time advances: by then it may be idle."""
        tick._when = due
        self._fired.append(tick)

    def tick_done(self, tick: Tick, idle_until: int) -> None:
        """Finish the last tick. The next ticks have no effect before `idle_until`, unless something happens."""
        if idle_until <= self._micros:
            self.happened = True
        else:
            tick.idle_since, tick.idle_until = self.activity_count, idle_until

    def sleep_until_micros(self, due: int, rank: int = 0, *, in_tick: bool = False) -> asyncio.Future[None]:
        """Sleep until a virtual time, equivalent to `call_at_micros(due, wake, (future, None))`, but without a handle.
        A sleeper with a late rank runs after all tasks that are ready.
        """
        future: asyncio.Future[None] = PartOfTick() if in_tick else Future()
        self._orders = order = self._orders + 1
        heappush(self._timers, (due if due > self._micros else self._micros, rank + order, future))
        return future

    def call_soon(self, *args: Any, context: Context | None = None) -> asyncio.Handle:  # type: ignore[override]
        """Queue a callback with its arguments, like asyncio's."""
        handle = None  # futures and tasks, by far the most callers, pass a context and ignore the handle
        if context is None:
            handle = LoopHandle(args[0], args[1:], self, None)
            context, args = handle._context, (_run, handle)
        if not self._woken_runs_next:
            self._ready.append((context, args))
        else:
            if self._next is not None:
                self._ready.append(self._next)
            self._next = (context, args)
        return handle  # type: ignore[return-value]

    def call_soon_threadsafe(  # type: ignore[override]  # as for call_at
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Replaces asyncio's, which queues the handle itself (since Python 3.14)."""
        self._check_closed()  # type: ignore[attr-defined]
        handle = LoopHandle(callback, args, self, context)
        self._add_callback(handle)
        self.happened = True
        self._write_to_self()  # type: ignore[attr-defined]
        return handle

    def _add_callback(self, handle: Any) -> None:
        """Replaces asyncio's, which queues the handle itself. Input from outside arrives here."""
        self._ready.append((handle._context, (_run, handle)))

    def run_woken_next(self, act: Callable[..., T], *args: Any) -> T:
        """Run an action that makes a task ready, and let that task run next (see `wake`)."""
        self._woken_runs_next = True
        try:
            return act(*args)
        finally:
            self._woken_runs_next = False

    def run_forever(self) -> None:
        self.happened = True  # anything may have changed before this call
        super().run_forever()

    def _run_once(self) -> None:
        """Replaces asyncio's step, which would sleep until the next timer. Runs until the loop must stop."""
        ready = self._ready
        while not self._stopping:  # type: ignore[attr-defined]
            entry = self._next
            if entry is not None:
                self._next = None
            elif ready:
                entry = ready.popleft()
            elif self.externals or self.speed or self.listening:
                self._poll_outside()
                continue
            else:
                self._jump()
                continue
            context, call = entry
            try:
                context.run(*call)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                self._failed(call[0], error)

    def _failed(self, callback: Callable[..., object], error: BaseException) -> None:
        self.call_exception_handler({"message": f"Exception in callback {callback}", "exception": error})

    async def shutdown_default_executor(self, *args: Any, **options: Any) -> None:
        """Hold virtual time, because threads end in real time."""
        self.externals += 1
        try:
            await super().shutdown_default_executor(*args, **options)
        finally:
            self.externals -= 1

    def _next_due(self) -> int | None:
        """The due time of the next timer that is not cancelled."""
        timers = self._timers
        while timers and timers[0][2].cancelled():
            heappop(timers)
        if self._idle_ticks and not self.happened:
            due = min(self._idle_ticks_until, timers[0][0] if timers else NEVER)
            return None if due == NEVER else due
        if not (timers or self._fired or self._idle_ticks) or not self._arm_ticks():
            return None
        return self._idle_ticks_until if self._idle_ticks else timers[0][0]

    def _forget_cancelled_timers(self) -> list[_Entry]:
        """Drop cancelled timers that are far ahead; otherwise they would pile up."""
        self._timers = timers = [entry for entry in self._timers if not entry[2].cancelled()]
        heapify(timers)
        self._purge_size = max(PURGE_SIZE, 2 * len(timers))
        return timers

    def _arm_ticks(self) -> bool:
        """Re-arm the ticks that fired, and move idle ticks to the next time at which something can happen. Returns
        False if there is none.
        """
        if self._idle_ticks:
            self._rearm_idle_ticks(self._micros)
        timers, fired, self._fired = self._timers, self._fired, []
        skips = self.skips_idle_ticks and not self.unfinished_ticks
        if skips and self.happened:  # everything that followed in that instant has run by now
            self.happened = False
            self.activity_count += 1
        activity_count = self.activity_count
        idle: list[Tick] = []
        for tick in fired:
            if tick.callback is None:
                continue
            if skips and tick.idle_since == activity_count and tick.idle_until > tick._when:
                idle.append(tick)
            else:
                self._arm(tick, tick._when)
        if not skips:
            return True
        end = NEVER
        while timers:
            due, _, timer = timers[0]
            if type(timer) is Tick:
                if timer.callback is not None:
                    if timer.idle_since != activity_count or timer.idle_until <= due:
                        end = due
                        break
                    idle.append(timer)
            elif not timer.cancelled():
                end = due
                break
            heappop(timers)
        for tick in idle:
            if tick.idle_until < end:
                end = tick.idle_until
        self._idle_ticks, self._idle_ticks_until = idle, end
        if not self.speed:  # otherwise input may arrive earlier
            self._rearm_idle_ticks(end)
        return end != NEVER

    def _rearm_idle_ticks(self, end: int) -> None:
        """Move the idle ticks to a time at which something happens."""
        idle, self._idle_ticks = self._idle_ticks, []
        order = self._orders
        for tick in idle:
            if tick.callback is None:
                continue
            if end != NEVER:
                tick._when = tick.ticker.skip(end)
            order += 1
            heappush(self._timers, (tick._when, tick.rank + order, tick))
        self._orders = order

    def _jump(self) -> None:
        """Advance to the next timer. All timers of an instant fire before any task that they wake runs, as in Go."""
        timers, due = self._timers, None
        self._jumps += 1
        if not self._jumps % JUMPS_PER_PROGRESS and self.on_progress is not None:
            self.on_progress()
        if len(timers) > self._purge_size:
            timers = self._forget_cancelled_timers()
        if self.speed:
            end = self._next_due()
            if self._idle_ticks and end is not None:
                self._rearm_idle_ticks(end)
        elif (self._fired or (timers and type(timers[0][2]) is Tick)) and not self._arm_ticks():
            timers = []
        if self.ties is not None:
            self._settle_tie(self.ties)
        while timers and (due is None or timers[0][0] == due):
            moment, order, timer = heappop(timers)
            if isinstance(timer, Timer):
                callback = timer.callback
                if callback is None:
                    continue
                self._micros = due = moment
                if type(timer) is not Tick:
                    self.happened = True
                try:
                    if timer.context is None:
                        callback(*timer.args)
                    else:
                        timer.context.run(callback, *timer.args)
                except (SystemExit, KeyboardInterrupt):
                    raise
                except BaseException as error:
                    self._failed(callback, error)
            elif not timer.cancelled():
                self._micros = due = moment
                if type(timer) is not PartOfTick:
                    self.happened = True
                self._woken_runs_next = order < LATE  # as `wake` does
                timer.set_result(None)
                self._woken_runs_next = False
        if due is None:
            # a callback from another thread or a signal may have arrived during the wait
            self._listen(0)
            if not self._ready and not self._stopping:  # type: ignore[attr-defined]
                raise Deadlock(self._describe_deadlock())

    def _settle_tie(self, choose: Callable[[int], int]) -> None:
        """Let another timer of the next instant fire first, if there are several that are no ticks."""
        timers, tied = self._timers, list[_Entry]()
        while timers and (not tied or timers[0][0] == tied[0][0]):
            entry = heappop(timers)
            if not entry[2].cancelled():
                tied.append(entry)
        free = [n for n, (_, order, timer) in enumerate(tied) if order < LATE and type(timer) is not Tick]
        chosen = choose(len(free)) if len(free) > 1 else 0
        if chosen:
            before, after = free[:chosen], free[chosen]
            first = tied[after]
            orders = [tied[n][1] for n in (*before, after)]
            moved = [first, *(tied[n] for n in before)]
            for n, order, entry in zip((*before, after), orders, moved, strict=True):
                tied[n] = (entry[0], order, entry[2])
        for entry in tied:
            heappush(timers, entry)

    def _describe_deadlock(self) -> str:
        lines = []
        for task in sorted(asyncio.all_tasks(self), key=lambda t: t.get_name()):
            frames = task.get_stack(limit=1)
            awaited: Any = getattr(getattr(task, "_fut_waiter", None), "what", "something unnamed")
            waits = " or ".join(map(str, awaited)) if isinstance(awaited, tuple | list) else str(awaited)
            where = f" ({frames[0].f_code.co_filename.rsplit('/', 1)[-1]}:{frames[0].f_lineno})" if frames else ""
            lines.append(f"{task.get_name()} waits for {waits}{where}")
        return "virtual time cannot advance: " + ("; ".join(lines) or "no task is left")


def _run(handle: LoopHandle) -> None:
    if not handle._cancelled:
        handle._callback(*handle._args)


def wake(future: asyncio.Future[T], value: T) -> None:
    """Complete a future, and let its waiting task run next.

    Go's scheduler runs the goroutine that was made ready last before the others, which follow in order. The visible
    order of the kubelet's actions within one instant depends on that, so wake-ups between tasks have the same order
    here.
    """
    if future.done():
        return
    loop = future.get_loop()
    if isinstance(loop, VirtualLoop):
        loop._woken_runs_next = True
        future.set_result(value)
        loop._woken_runs_next = False
    else:
        future.set_result(value)


def go(coroutine: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
    """Start a task like Go's `go` statement: the task runs next once the current one waits (see `wake`)."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, VirtualLoop):
        return loop.run_woken_next(lambda: loop.create_task(coroutine, name=name))
    return loop.create_task(coroutine, name=name)
