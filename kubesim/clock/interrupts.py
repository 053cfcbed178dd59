"""Handling of Ctrl-C: it cancels a run instead of interrupting it anywhere, and waits for steps that must complete."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Postponed:
    """A SIGINT handler that postpones the first Ctrl-C. A second one interrupts at once."""

    def __init__(self) -> None:
        self.pending = False

    def __call__(self, *_: object) -> None:
        if self.pending:
            raise KeyboardInterrupt
        self.pending = True


@contextmanager
def interrupts_postponed() -> Iterator[None]:
    """Postpone KeyboardInterrupt to the end of the block; runs in virtual time are cancelled immediately."""
    if not _is_ours():
        yield
        return
    postponed = Postponed()
    signal.signal(signal.SIGINT, postponed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if postponed.pending:
        raise KeyboardInterrupt


@contextmanager
def cancelled_by_interrupts(task: asyncio.Task[Any]) -> Iterator[None]:
    """Let Ctrl-C cancel the task, so that the task cleans up; a second Ctrl-C ends it at once. Has no effect if another
    handler is installed.
    """
    if not _is_ours():
        yield
        return
    before, interrupted = signal.getsignal(signal.SIGINT), False

    def interrupt(*_: object) -> None:
        nonlocal interrupted
        if interrupted or task.done():
            raise KeyboardInterrupt
        interrupted = True
        task.cancel()
        task.get_loop().call_soon_threadsafe(bool)  # wakes the loop if it waits for something real

    signal.signal(signal.SIGINT, interrupt)
    try:
        if isinstance(before, Postponed) and before.pending:
            interrupt()
        yield
    except asyncio.CancelledError:
        if interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, before)


def _is_ours() -> bool:
    """Whether we may handle SIGINT: only the main thread receives signals, and a handler of other code stays
    installed.
    """
    if threading.current_thread() is not threading.main_thread():
        return False
    handler = signal.getsignal(signal.SIGINT)
    return handler is signal.default_int_handler or isinstance(handler, Postponed)
