"""Tasks end in the order they were started; a failed task ends all of them; helpers for concurrent tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubesim.clock import LoopClock, run_virtual
from kubesim.concurrency import TaskSet, run_together

SECOND = 1_000_000


def play(scene: Callable[[LoopClock], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        return await scene(LoopClock())

    return run_virtual(main)


async def sleep(clock: LoopClock, duration: int) -> None:
    await clock.sleep(duration)


def test_leaving_the_set_ends_the_tasks_in_the_order_they_started() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        ended: list[int] = []

        async def work(n: int) -> None:
            try:
                await clock.sleep(3_600 * SECOND)
            finally:
                ended.append(n)

        async with TaskSet() as tasks:
            for n in range(20):
                tasks.start(f"work {n}", work(n))
            await clock.sleep(1)
        return ended

    assert play(scene) == list(range(20))


def test_an_error_in_one_task_ends_the_run() -> None:
    async def scene(clock: LoopClock) -> None:
        async def fail() -> None:
            await clock.sleep(SECOND)
            raise ValueError("broken")

        async with TaskSet() as tasks:
            tasks.start("fail", fail())
            await tasks.run_until(sleep(clock, 3_600 * SECOND))

    with pytest.raises(ValueError, match="broken"):
        play(scene)


def test_run_together_returns_in_the_order_of_completion() -> None:
    async def scene(clock: LoopClock) -> list[str]:
        async def work(name: str, duration: int) -> str:
            await clock.sleep(duration)
            return name

        jobs = (("slow", 3 * SECOND), ("quick", 1 * SECOND), ("medium", 2 * SECOND))
        return await run_together((name, work(name, duration)) for name, duration in jobs)

    assert play(scene) == ["quick", "medium", "slow"]


def test_run_together_without_tasks_returns_immediately() -> None:
    async def scene(clock: LoopClock) -> list[str]:
        nothing: list[tuple[str, Any]] = []
        return await run_together(nothing)

    assert play(scene) == []


def test_no_task_remains() -> None:
    async def scene(clock: LoopClock) -> int:
        async with TaskSet() as tasks:
            tasks.start("sleeper", sleep(clock, 3_600 * SECOND))
        return len(asyncio.all_tasks())

    assert play(scene) == 1


def test_a_child_can_be_killed_by_itself_and_none_of_its_tasks_continues() -> None:
    async def main() -> list[str]:
        clock = LoopClock()
        did: list[str] = []

        async def work(name: str) -> None:
            while True:
                await clock.sleep(SECOND)
                did.append(name)

        async with TaskSet() as tasks:
            child = tasks.child()
            tasks.start("parent", work("parent"))
            child.start("a", work("a"))
            child.start("b", work("b"))
            await clock.sleep(1_500_000)
            await child.kill()
            assert len(child) == 0
            await clock.sleep(SECOND)
        return did

    assert sorted(run_virtual(main)) == ["a", "b", "parent", "parent"]


def test_an_error_in_a_child_ends_the_whole_set() -> None:
    async def main() -> None:
        clock = LoopClock()

        async def fail() -> None:
            raise ValueError("in a child")

        async with TaskSet() as tasks:
            tasks.child().start("bad", fail())
            await tasks.run_until(sleep(clock, SECOND))

    with pytest.raises(ValueError, match="in a child"):
        run_virtual(main)
