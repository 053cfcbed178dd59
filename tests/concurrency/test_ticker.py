"""A ticker fires only when it is wanted, and only at the instants at which one that always fires would."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kubesim.clock import LoopClock, run_virtual
from kubesim.concurrency import Ticker

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


def test_every_tick_fires_on_demand_and_one_nobody_took_is_dropped() -> None:
    async def scene(clock: LoopClock) -> tuple[int, int]:
        ticker = Ticker(clock, "tick", SECOND, phase=0, every=True)
        await clock.sleep(10 * SECOND + 1)
        oldest = await ticker.channel.receive()
        ticker.stop()
        return oldest, ticker.channel.dropped

    assert play(scene) == (SECOND, 9)
