"""The end of a program in virtual time."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from kubesim.clock import run_virtual
from kubesim.clock.interrupts import interrupts_postponed


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """The signal handling of a program started from a terminal."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


def test_an_interrupt_ends_the_program_in_order() -> None:
    ended = []

    async def main() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(1)
            ended.append("in order")

    with pytest.raises(KeyboardInterrupt):
        run_virtual(main)
    assert ended == ["in order"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_interrupt_does_not_wait_for_the_clean_up() -> None:
    went_on = []

    async def main() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(60)
        finally:
            signal.raise_signal(signal.SIGINT)
            went_on.append("went on")

    with pytest.raises(KeyboardInterrupt):
        run_virtual(main)
    assert not went_on


def test_a_process_that_handles_interrupts_continues_to_do_so() -> None:
    received = []
    signal.signal(signal.SIGINT, lambda *_: received.append("interrupt"))

    async def main() -> str:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(1)
        return "undisturbed"

    assert run_virtual(main) == "undisturbed"
    assert received == ["interrupt"]


def test_a_thread_without_signals_can_run_a_program() -> None:
    async def main() -> str:
        await asyncio.sleep(1)
        return "done"

    results: list[str] = []
    thread = threading.Thread(target=lambda: results.append(run_virtual(main)))
    thread.start()
    thread.join(60)
    assert results == ["done"]


def test_remaining_tasks_are_cancelled_and_generators_closed() -> None:
    ended = []

    async def forever() -> None:
        try:
            await asyncio.sleep(1_000_000)
        finally:
            ended.append("task")

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            ended.append("generator")

    kept: list[asyncio.Task[None]] = []
    kept_open: list[AsyncIterator[int]] = []

    async def main() -> None:
        kept.append(asyncio.create_task(forever()))
        generator = numbers()
        kept_open.append(generator)
        assert await anext(generator) == 1
        await asyncio.sleep(1)

    run_virtual(main)
    assert ended == ["task", "generator"]


def test_a_failure_during_clean_up_is_reported() -> None:
    reported = []

    async def fails_when_cancelled() -> None:
        try:
            await asyncio.sleep(1_000_000)
        except asyncio.CancelledError:
            raise ValueError("cannot let go") from None

    async def main() -> asyncio.Task[None]:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(str(context["exception"])))
        task = asyncio.create_task(fails_when_cancelled())
        await asyncio.sleep(1)
        return task

    run_virtual(main)
    assert reported == ["cannot let go"]


def postponing(*parts: Callable[[], object]) -> None:
    """Two steps in sequence, with interrupts postponed."""
    with interrupts_postponed():
        for part in parts:
            part()


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def test_a_postponed_interrupt_is_raised_at_the_end() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        postponing(interrupt, lambda: done.append("all of it"))
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_interrupt_is_not_postponed() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        postponing(interrupt, interrupt, lambda: done.append("went on"))
    assert not done


def test_an_interrupt_before_a_run_cancels_it_and_one_after_it_waits() -> None:
    done: list[str] = []

    async def main() -> None:
        await asyncio.sleep(60)
        done.append("ran")

    with pytest.raises(KeyboardInterrupt):
        postponing(interrupt, lambda: run_virtual(main))
    assert done == []
    with pytest.raises(KeyboardInterrupt):
        postponing(lambda: run_virtual(main), interrupt, lambda: done.append("cleaned up"))
    assert done == ["ran", "cleaned up"]
