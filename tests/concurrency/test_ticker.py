"""A ticker fires only when it is wanted, and only at the instants at which one that always fires would."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kubesim.clock import LoopClock, run_virtual
from kubesim.concurrency import Select, Ticker

SECOND = 1_000_000


def play(scene: Callable[[LoopClock], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        return await scene(LoopClock(0))

    return run_virtual(main)


def test_a_wanted_tick_comes_at_the_first_instant_of_the_grid_that_serves() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        ticker = Ticker(clock, "tick", SECOND, phase=420_000)
        ticker.want(5 * SECOND)
        first = await ticker.channel.receive()
        ticker.want(7_420_000)
        return [first, await ticker.channel.receive(), clock.now()]

    assert play(scene) == [5_420_000, 7_420_000, 7_420_000]


def test_an_earlier_wish_wins_and_a_wish_for_the_past_means_the_next_tick() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        ticker = Ticker(clock, "tick", SECOND, phase=0)
        ticker.want(9 * SECOND)
        ticker.want(3 * SECOND)
        first = await ticker.channel.receive()
        ticker.want(0)
        return [first, await ticker.channel.receive()]

    assert play(scene) == [3 * SECOND, 4 * SECOND]


def test_without_a_wish_nothing_fires() -> None:
    async def scene(clock: LoopClock) -> int:
        ticker = Ticker(clock, "tick", SECOND, phase=0)
        await clock.sleep(3_600 * SECOND)
        return len(ticker.channel)

    assert play(scene) == 0


def test_the_next_tick_can_be_asked_for_again_and_again() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        ticker = Ticker(clock, "tick", SECOND, phase=0)
        ticker.want(9 * SECOND)
        found = []
        for _ in range(2):
            ticker.want_next()
            await clock.sleep(SECOND // 4)
            ticker.want_next()
            found.append(await ticker.channel.receive())
        await clock.sleep(3_600 * SECOND)
        return [*found, len(ticker.channel)]

    assert play(scene) == [SECOND, 2 * SECOND, 0]


def test_a_ticker_that_is_reset_counts_from_that_instant_and_forgets_a_tick_that_nobody_took() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        ticker = Ticker(clock, "tick", SECOND, phase=0, every=True)
        await clock.sleep(SECOND + 300_000)
        ticker.reset()
        found = [await ticker.channel.receive(), await ticker.channel.receive()]
        ticker.stop()
        return found

    assert play(scene) == [2_300_000, 3_300_000]


def test_every_tick_fires_on_demand_and_one_nobody_took_is_dropped() -> None:
    async def scene(clock: LoopClock) -> tuple[int, int]:
        ticker = Ticker(clock, "tick", SECOND, phase=0, every=True)
        await clock.sleep(10 * SECOND + 1)
        oldest = await ticker.channel.receive()
        ticker.stop()
        return oldest, ticker.channel.dropped

    assert play(scene) == (SECOND, 9)


def test_for_a_reader_that_was_held_up_one_tick_waits_as_with_one_that_always_fires() -> None:
    async def scene(clock: LoopClock) -> list[tuple[int, int]]:
        found = []
        for every in (True, False):
            start = clock.now()
            ticker = Ticker(clock, "tick", SECOND, phase=start, every=every)
            await clock.sleep(2_300_000)
            ticker.held_up(start)
            waiting = len(ticker.channel)
            await ticker.channel.receive()
            ticker.held_up(start + 2_300_000)  # no tick since then
            found.append((waiting, len(ticker.channel)))
            ticker.stop()
        return found

    assert play(scene) == [(1, 0), (1, 0)]


def test_of_two_that_tick_in_one_instant_the_one_made_first_ticks_first_whoever_was_wanted_first() -> None:
    async def scene(clock: LoopClock) -> list[str]:
        order: list[str] = []
        first, second = (Ticker(clock, name, SECOND, phase=0) for name in ("a", "b"))
        reader = Select((second.channel, first.channel), None)

        for wanted in ((second, first), (first, second)):
            for ticker in wanted:
                ticker.want(clock.now() + 1)
            for _ in wanted:
                chosen = await reader.next()
                order.append(chosen.channel.name)
        return order

    assert play(scene) == ["a", "b", "a", "b"]
