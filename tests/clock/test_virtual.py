"""Virtual time: it jumps to the next timer, timers of one instant fire in the order they were set, and real work stops
it."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from kubesim.clock import LoopClock, VirtualLoop, go, run_virtual, wake
from kubesim.clock.clock import VIRTUAL_START
from kubesim.concurrency import Channel
from kubesim.errors import Deadlock

SECOND = 1_000_000


def play(scene: Callable[[LoopClock], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        return await scene(LoopClock())

    return run_virtual(main)


def test_a_day_passes_immediately_and_begins_at_a_fixed_date() -> None:
    async def scene(clock: LoopClock) -> None:
        assert clock.now() == VIRTUAL_START
        await clock.sleep(86_400 * SECOND)
        assert clock.elapsed() == 86_400 * SECOND

    play(scene)


def test_timers_of_one_instant_fire_in_the_order_they_were_set() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        fired: list[int] = []
        loop = asyncio.get_running_loop()
        for n in (3, 1, 2):
            loop.call_later(1.5, fired.append, n)
        for n in (6, 4, 5):
            clock.call_at(clock.now() + 1_500_000, fired.append, n)
        await clock.sleep(2 * SECOND)
        return fired

    assert play(scene) == [3, 1, 2, 6, 4, 5]


def test_deadlines_are_whole_microseconds() -> None:
    async def scene(clock: LoopClock) -> list[str]:
        fired: list[str] = []
        loop = asyncio.get_running_loop()
        loop.call_later(0.1 + 0.2, fired.append, "0.1 + 0.2")  # slightly more than 0.3 in floating point
        loop.call_later(0.3, fired.append, "0.3")
        await clock.sleep(SECOND)
        return fired

    assert play(scene) == ["0.1 + 0.2", "0.3"]


def test_all_timers_of_an_instant_fire_before_the_tasks_they_wake_run() -> None:
    async def scene(clock: LoopClock) -> list[str]:
        seen: list[str] = []

        async def sleeper() -> None:
            await clock.sleep(SECOND)
            seen.append("task")

        task = go(sleeper(), "sleeper")
        await asyncio.sleep(0)
        clock.call_at(clock.now() + SECOND, seen.append, "timer")
        await task
        return seen

    assert play(scene) == ["timer", "task"]


def test_the_task_woken_last_runs_first_and_the_others_in_order() -> None:
    """Go's scheduler does so, and the order of the kubelet's actions within one instant depends on it."""

    async def scene(clock: LoopClock) -> list[int]:
        ran: list[int] = []
        gates = [asyncio.get_running_loop().create_future() for _ in range(4)]

        async def waiter(n: int) -> None:
            await gates[n]
            ran.append(n)

        tasks = [go(waiter(n), f"waiter {n}") for n in range(4)]
        await asyncio.sleep(0)
        for gate in gates:
            wake(gate, None)
        await asyncio.gather(*tasks)
        return ran

    assert play(scene) == [3, 0, 1, 2]


def test_a_late_sleeper_runs_after_all_others_of_the_instant() -> None:
    async def scene(clock: LoopClock) -> list[str]:
        ran: list[str] = []
        ranks = {"first": clock.late_rank(), "second": clock.late_rank()}

        async def sleeper(name: str) -> None:
            due = VIRTUAL_START + SECOND
            await (clock.sleep_late(due, ranks[name]) if name in ranks else clock.sleep_until(due))
            ran.append(name)

        for name in ("second", "first", "a", "b"):
            go(sleeper(name), name)
        await asyncio.sleep(0)
        clock.call_at(clock.now() + SECOND, ran.append, "timer")
        await clock.sleep(2 * SECOND)
        return ran

    assert play(scene) == ["timer", "a", "b", "first", "second"]


def test_a_deadlock_names_the_waiting_tasks() -> None:
    async def scene(clock: LoopClock) -> None:
        letters: Channel[str] = Channel("letters", 1)
        answers: Channel[str] = Channel("answers", 1)
        reader = asyncio.get_running_loop().create_task(letters.receive(), name="reader")
        await answers.receive()
        await reader

    with pytest.raises(Deadlock, match=r"reader waits for letters .*; .* waits for answers"):
        play(scene)


def test_time_stops_while_a_real_process_runs() -> None:
    async def scene(clock: LoopClock) -> int:
        with clock.external():
            script = "import time; time.sleep(0.05); print('done')"
            done = await anyio.run_process([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
        assert done.stdout == b"done\n"
        return clock.elapsed()

    assert play(scene) == 0


def test_a_timeout_does_not_fire_while_a_thread_works() -> None:
    async def scene(clock: LoopClock) -> str:
        finished = threading.Event()
        with clock.external(), anyio.fail_after(0.001):
            return await anyio.to_thread.run_sync(lambda: "worked" if not finished.wait(0.05) else "")

    assert play(scene) == "worked"


def test_cancelled_timers_do_not_accumulate() -> None:
    async def scene(clock: LoopClock) -> int:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        for _ in range(50):
            for _ in range(100):
                clock.call_at(clock.now() + 3_600 * SECOND, lambda: None).cancel()
            await clock.sleep(1)
        return len(loop._timers)

    assert play(scene) < 2500


def test_an_ordinary_loop_uses_the_wall_clock() -> None:
    async def main() -> int:
        clock = LoopClock()
        await clock.sleep(2_000)
        return clock.elapsed()

    assert 2_000 <= anyio.run(main) < 60 * SECOND


def silent_server() -> socket.socket:
    """Accepts connections and sends nothing."""
    server = socket.create_server(("127.0.0.1", 0))
    server.setblocking(False)
    return server


@pytest.mark.parametrize("speed", [0.0, 1000.0])
def test_an_exchange_outside_is_limited_on_the_wall_clock(speed: float) -> None:
    """A virtual timer cannot limit it, because time stops or runs at another speed."""

    async def scene(clock: LoopClock) -> int:
        clock.begin(speed)
        with silent_server() as server:
            reader, writer = await asyncio.open_connection(*server.getsockname())
            with pytest.raises(TimeoutError):
                async with clock.outside(0.02):
                    await reader.read()
            writer.close()
            await writer.wait_closed()
        return clock.elapsed()

    assert (play(scene) == 0) == (speed == 0), "only a paced run continues in the meantime"


def test_a_cancelled_exchange_did_not_time_out() -> None:
    async def scene(clock: LoopClock) -> str:
        async def exchange() -> None:
            async with clock.outside(60):
                await asyncio.get_running_loop().create_future()

        task = asyncio.get_running_loop().create_task(exchange())
        asyncio.get_running_loop().call_soon(task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"
        return ""

    assert play(scene) == "cancelled"


def test_input_is_received_before_time_jumps() -> None:
    async def scene(clock: LoopClock) -> list[tuple[int, bytes]]:
        received: list[tuple[int, bytes]] = []
        near, far = socket.socketpair()
        loop = asyncio.get_running_loop()
        loop.add_reader(near, lambda: received.append((clock.elapsed(), near.recv(100))))
        with near, far, clock.listening():
            for word in (b"one", b"two"):
                far.send(word)
                await clock.sleep(SECOND)
            loop.remove_reader(near)
        return received

    assert play(scene) == [(0, b"one"), (SECOND, b"two")]


def test_threads_are_joined_at_the_end() -> None:
    """For example a name lookup whose result is not needed any more."""
    release = threading.Event()

    async def scene(clock: LoopClock) -> None:
        asyncio.get_running_loop().run_in_executor(None, release.wait, 30)
        threading.Timer(0.05, release.set).start()

    play(scene)
    assert release.is_set()
