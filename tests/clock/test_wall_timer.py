"""Limits on the wall clock, on either kind of loop."""

from __future__ import annotations

import asyncio
import os

from kubesim.clock import LoopClock, external, run_virtual
from kubesim.clock.wall_timer import WallTimer, wall_sleep


def test_a_wall_timer_fires_while_virtual_time_is_stopped() -> None:
    async def main() -> int:
        clock = LoopClock()
        with external():
            await wall_sleep(0.01)
        return clock.elapsed()

    assert run_virtual(main) == 0


def test_a_wall_timer_fires_on_an_ordinary_loop() -> None:
    asyncio.run(wall_sleep(0.01))


def test_a_closed_wall_timer_never_fires_and_leaves_nothing() -> None:
    async def main() -> tuple[list[str], int]:
        fired: list[str] = []
        with external():
            await wall_sleep(0.001)  # sockets that the loop itself needs stay open
        before = len(os.listdir("/proc/self/fd"))
        timer = WallTimer(0.001, lambda: fired.append("no"))
        timer.close()
        timer.close()
        with external():
            await wall_sleep(0.01)
        return fired, len(os.listdir("/proc/self/fd")) - before

    assert run_virtual(main) == ([], 0)
    assert asyncio.run(main()) == ([], 0)
