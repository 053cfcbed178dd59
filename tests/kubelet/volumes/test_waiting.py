"""A poll checks immediately and then every interval; while nothing happens, virtual time skips the checks."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.errors import SyncCancelled
from kubesim.kubelet.volumes.waiting import WaitTimedOut, poll_until
from kubesim.podworkers.syncer import SyncContext


class Bench:
    def __init__(self) -> None:
        self.clock = LoopClock(0)
        self.context = SyncContext()
        self.looks: list[int] = []
        self.holds = False

    def check(self) -> bool:
        self.looks.append(self.clock.now() // MILLISECOND)
        return self.holds

    def change(self, at_ms: int, holds: bool) -> None:
        def change() -> None:
            self.holds = holds

        self.clock.call_at(at_ms * MILLISECOND, change)

    async def wait(self, timeout: int | None = None) -> None:
        interval = 300 * MILLISECOND
        await poll_until(self.clock, "it", self.context, self.check, interval=interval, timeout=timeout)


def on_a_bench(test: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        await test(Bench())

    run_virtual(main)


def test_the_poll_checks_immediately() -> None:
    async def test(bench: Bench) -> None:
        bench.holds = True
        await bench.wait()
        assert bench.looks == [0]

    on_a_bench(test)


def test_the_poll_checks_again_at_the_next_multiple_after_a_change() -> None:
    async def test(bench: Bench) -> None:
        await bench.clock.sleep(50 * MILLISECOND)
        bench.change(1000, holds=False)
        bench.change(60_000, holds=True)
        bench.change(60_010, holds=True)
        await bench.wait()
        assert bench.looks == [50, 350, 1250, 60_050]

    on_a_bench(test)


def test_a_timeout() -> None:
    async def test(bench: Bench) -> None:
        bench.change(500, holds=False)
        with pytest.raises(WaitTimedOut, match=r"^context deadline exceeded$"):
            await bench.wait(123 * SECOND)
        assert bench.clock.now() == 123 * SECOND
        bench.change(123_000 + 122_900, holds=True)  # too late: the next check would be after the end
        with pytest.raises(WaitTimedOut):
            await bench.wait(123 * SECOND)
        assert bench.clock.now() == 246 * SECOND

    on_a_bench(test)


@pytest.mark.parametrize("changed", [False, True])
def test_a_cancelled_context_ends_the_wait_immediately(changed: bool) -> None:
    async def test(bench: Bench) -> None:
        if changed:
            bench.change(610, holds=True)  # a poll would detect it at 900
        bench.clock.call_at(777 * MILLISECOND, bench.context.cancel)
        with pytest.raises(SyncCancelled, match=r"^context canceled$"):
            await bench.wait(123 * SECOND)
        assert bench.clock.now() == 777 * MILLISECOND

    on_a_bench(test)


def test_errors_of_the_check_are_raised() -> None:
    async def test(bench: Bench) -> None:
        def check() -> bool:
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            await poll_until(bench.clock, "it", bench.context, check, interval=SECOND)

    on_a_bench(test)
