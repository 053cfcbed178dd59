"""Limits on the wall clock, on either kind of loop."""

from __future__ import annotations

import asyncio
import os

from kubesim.clock import LoopClock, external, run_virtual
from kubesim.clock.wall_timer import WallTimer, wall_sleep


def test_it_fires_while_virtual_time_stands_still() -> None:
    async def main() -> int:
        clock = LoopClock()
        with external():
            await wall_sleep(0.01)
        return clock.elapsed()

    assert run_virtual(main) == 0


def test_it_fires_on_an_ordinary_loop() -> None:
    asyncio.run(wall_sleep(0.01))


def test_one_that_is_closed_stays_silent_and_leaves_nothing() -> None:
    async def main() -> tuple[list[str], int]:
        fired: list[str] = []
        with external():
            await wall_sleep(0.001)  # what a loop needs to wait at all it keeps
        before = len(os.listdir("/proc/self/fd"))
        timer = WallTimer(0.001, lambda: fired.append("no"))
        timer.close()
        timer.close()
        with external():
            await wall_sleep(0.01)
        return fired, len(os.listdir("/proc/self/fd")) - before

    assert run_virtual(main) == ([], 0)
    assert asyncio.run(main()) == ([], 0)
