"""`DrivenSimulation`: a simulation on its own virtual event loop, which advances only inside `run`.

Both plain functions and coroutines can drive it. A call blocks the calling event loop, but takes almost no real time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import timedelta
from inspect import isawaitable
from typing import Any, TypeVar

from kubesim.app import Simulation, raise_failures_of_callbacks
from kubesim.clock import VirtualLoop
from kubesim.clock.garbage import collected_rarely
from kubesim.clock.loop.running import wind_up
from kubesim.cluster.store.watches import WatchEvent
from kubesim.concurrency import TaskSet
from kubesim.golang.durations import parse_duration
from kubesim.scenario.faults.interceptor import Interceptor
from kubesim.scenario.language.document import Scenario
from kubesim.trace import MemorySink

T = TypeVar("T")
Span = str | int | float | timedelta  # a duration in Go's format, or seconds


def micros(span: Span) -> int:
    """Microseconds of `"1m30s"`, `90`, `timedelta(seconds=90)`. Raises ValueError."""
    if isinstance(span, str):
        return parse_duration(span)
    seconds = span.total_seconds() if isinstance(span, timedelta) else span
    return round(seconds * 1_000_000)


class _FaultySimulation(Simulation):
    """A simulation in which every operation can get a fault later."""

    def make_interceptor(self) -> Interceptor:
        return self.interceptor_of(("*",))


class DrivenSimulation:
    """The simulation. After creation, the nodes are up and the scenario's time is 0."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self._loop = VirtualLoop()
        self._tasks = TaskSet()
        self.sink = MemorySink()
        self.gone: dict[tuple[str, str, str], WatchEvent] = {}  # last deletion by kind, namespace and name
        self.simulation: Simulation
        self._run(self._open(scenario, seed))
        self.run(self.simulation.come_up())

    async def _open(self, scenario: Scenario, seed: int) -> None:
        await self._tasks.__aenter__()
        raise_failures_of_callbacks(self._tasks)
        self.simulation = _FaultySimulation(scenario, seed, self._tasks, (self.sink,))
        self.simulation.store.watch_all(self._changed)

    def _changed(self, change: WatchEvent) -> None:
        metadata = change.object.metadata
        key = (change.object.kind, metadata.namespace, metadata.name)
        if change.type == "DELETED":
            self.gone[key] = change
        else:
            self.gone.pop(key, None)

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Advance time until the awaitable is done. Raises errors of the cluster's components."""
        result: T = self._run(self._tasks.run_until(main))
        return result

    def do(self, action: Callable[..., Any], *args: Any) -> Any:
        """Call a function or coroutine function inside the loop."""

        async def act() -> Any:
            done = action(*args)
            return await done if isawaitable(done) else done

        return self.run(act())

    def advance(self, duration: int) -> None:
        async def sleep() -> None:
            await self.simulation.clock.sleep(duration)

        self.run(sleep())

    def _run(self, main: Coroutine[Any, Any, Any]) -> Any:
        with collected_rarely():
            if asyncio._get_running_loop() is None:
                return copy_context().run(self._loop.run_until_complete, main)
            with ThreadPoolExecutor(1) as thread:  # a thread can run only one loop
                return thread.submit(copy_context().run, self._loop.run_until_complete, main).result()

    def close(self) -> None:
        """Stop everything in order."""
        if self._loop.is_closed():
            return
        try:
            self._run(self._shut_down())
        finally:
            self._loop.close()

    async def _shut_down(self) -> None:
        try:
            await self.simulation.close()
            await self._tasks.__aexit__()
        finally:
            await wind_up(self._loop)
