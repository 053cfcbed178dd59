"""A ticker fires every period; while nothing happens, virtual time skips the ticks of an idle one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubesim.clock import NEVER, LoopClock, run_virtual
from kubesim.concurrency import JitteredTicker, PausingTicker, Select, TaskSet, Ticker
from kubesim.errors import Deadlock
from tests.support.ticks import ticks

SECOND = 1_000_000


def play(scene: Callable[[LoopClock], Awaitable[Any]], *, every_tick: bool = False) -> Any:
    async def main() -> Any:
        return await scene(LoopClock(0))

    with ticks(every_tick=every_tick):
        return run_virtual(main)


async def read(ticker: Ticker, seen: list[int], idle_until: Callable[[int], int]) -> None:
    """Record every tick; the recorded value depends only on its time."""
    while True:
        tick = await ticker.channel.receive()
        seen.append(tick // SECOND)
        ticker.done(idle_until(tick))


def test_a_ticker_fires_every_period() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        await clock.sleep(420_000)
        ticker = Ticker(clock, "tick", SECOND)
        return [await ticker.channel.receive() for _ in range(3)]

    assert play(scene) == [1_420_000, 2_420_000, 3_420_000]


def test_a_tick_that_nobody_received_is_dropped() -> None:
    async def scene(clock: LoopClock) -> tuple[int, int]:
        ticker = Ticker(clock, "tick", SECOND)
        await clock.sleep(10 * SECOND + 1)
        oldest = await ticker.channel.receive()
        ticker.stop()
        return oldest, ticker.channel.dropped

    assert play(scene) == (SECOND, 9)


def test_a_reset_ticker_counts_from_that_instant_and_drops_a_pending_tick() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        ticker = Ticker(clock, "tick", SECOND)
        await clock.sleep(SECOND + 300_000)
        ticker.reset()
        return [await ticker.channel.receive(), await ticker.channel.receive()]

    assert play(scene) == [2_300_000, 3_300_000]


def test_an_idle_ticker_fires_again_only_after_a_change() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        seen: list[int] = []
        ticker = Ticker(clock, "tick", SECOND)
        async with TaskSet() as tasks:
            tasks.start("reader", read(ticker, seen, lambda tick: NEVER))
            await clock.sleep(1000 * SECOND + 1)
            await clock.sleep(1000 * SECOND)
        return seen

    # Once at first, and once after the first sleep ended at 1000.000001 s.
    assert play(scene) == [1, 1001]
    assert play(scene, every_tick=True) == list(range(1, 2001))


def test_a_ticker_idle_until_a_time_fires_at_its_first_tick_from_then_on() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        seen: list[int] = []
        ticker = Ticker(clock, "tick", SECOND)
        async with TaskSet() as tasks:
            tasks.start("reader", read(ticker, seen, lambda tick: 77 * SECOND - 1 if tick < 77 * SECOND else NEVER))
            await clock.sleep(100 * SECOND)
        return seen

    assert play(scene) == [1, 77, 100]


def test_a_tick_that_changes_something_wakes_the_other_tickers() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        seen: list[int] = []
        idle = Ticker(clock, "idle", SECOND)
        await clock.sleep(SECOND // 2)
        busy = Ticker(clock, "busy", 10 * SECOND)
        async with TaskSet() as tasks:
            tasks.start("idle", read(idle, seen, lambda tick: NEVER))
            tasks.start("busy", read(busy, [], lambda tick: 0))
            await clock.sleep(35 * SECOND)
        return seen

    assert play(scene) == [1, 11, 21, 31]


def test_nothing_is_skipped_while_a_tick_is_handled() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        seen: list[int] = []
        idle, slow = Ticker(clock, "idle", SECOND), Ticker(clock, "slow", 5 * SECOND)
        async with TaskSet() as tasks:
            tasks.start("idle", read(idle, seen, lambda tick: NEVER))
            await slow.channel.receive()
            await clock.sleep(3 * SECOND)
            slow.done(NEVER)
            await clock.sleep(100 * SECOND)
        return seen

    assert play(scene)[:6] == [1, 5, 6, 7, 8, 9]


def test_the_last_skipped_tick_is_reported() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        skipped: list[int] = []
        ticker = Ticker(clock, "tick", SECOND)
        ticker.on_skip = lambda last: skipped.append(last // SECOND)
        async with TaskSet() as tasks:
            tasks.start("reader", read(ticker, [], lambda tick: NEVER))
            await clock.sleep(60 * SECOND + 1)
        return skipped

    assert play(scene) == [60]


def test_a_tick_whose_work_takes_effect_later_is_not_skipped_before_that() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        seen: list[int] = []
        ticker = Ticker(clock, "tick", 10 * SECOND, lead=3 * SECOND)
        async with TaskSet() as tasks:
            tasks.start("reader", read(ticker, seen, lambda tick: NEVER))
            await clock.sleep(62 * SECOND)
        return seen

    assert play(scene) == [10, 60]


def test_random_intervals_are_drawn_for_skipped_ticks_too() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        seen: list[int] = []
        draws = iter(range(1, 1000))
        ticker = JitteredTicker(clock, "tick", lambda: next(draws) * SECOND)
        async with TaskSet() as tasks:
            tasks.start("reader", read(ticker, seen, lambda tick: NEVER))
            await clock.sleep(47 * SECOND)
            await clock.sleep(20 * SECOND)
        return seen

    assert play(scene, every_tick=True) == [1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 66]
    assert play(scene) == [1, 55]


def test_ticks_of_one_instant_fire_in_the_order_the_tickers_were_created() -> None:
    async def scene(clock: LoopClock) -> list[str]:
        first, second = (Ticker(clock, name, SECOND) for name in ("a", "b"))
        reader = Select((second.channel, first.channel), None)
        second.reset()
        return [(await reader.next()).channel.name for _ in range(4)]

    assert play(scene) == ["a", "b", "a", "b"]


def test_if_all_tickers_are_idle_and_no_other_timer_is_set_time_cannot_continue() -> None:
    async def scene(clock: LoopClock) -> None:
        await read(Ticker(clock, "tick", SECOND), [], lambda tick: NEVER)

    with pytest.raises(Deadlock):
        play(scene)


def test_a_paused_one_ticks_again_in_its_old_rhythm_once_it_is_resumed() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        seen: list[int] = []
        ticker = PausingTicker(clock, "tick", SECOND)

        async def reader() -> None:
            while True:
                seen.append(await ticker.channel.receive())
                ticker.done()
                ticker.pause()

        async with TaskSet() as tasks:
            tasks.start("reader", reader())
            await clock.sleep(5 * SECOND + 300_000)
            ticker.resume()
            await clock.sleep(5 * SECOND)
            ticker.stop()
            ticker.resume()
            await clock.sleep(5 * SECOND)
        return seen

    assert play(scene) == [SECOND, 6 * SECOND]


def test_a_tick_of_one_that_pauses_comes_after_the_tasks_of_its_instant() -> None:
    async def scene(clock: LoopClock) -> list[str]:
        order: list[str] = []
        ticker = PausingTicker(clock, "tick", SECOND)

        async def reader() -> None:
            await ticker.channel.receive()
            order.append("tick")

        async def sleeper(name: str) -> None:
            await clock.sleep(SECOND)
            order.append(name)

        async with TaskSet() as tasks:
            tasks.start("reader", reader())
            for name in ("a", "b"):
                tasks.start(name, sleeper(name))
            await clock.sleep(2 * SECOND)
        return order

    assert play(scene) == ["b", "a", "tick"]
