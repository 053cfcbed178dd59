"""Ctrl-C in order: it cancels a run instead of breaking into it, and waits while something must not stay half done."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Postponed:
    """Handler of SIGINT that keeps the first one for later. A second one is not kept waiting."""

    def __init__(self) -> None:
        self.pending = False

    def __call__(self, *_: object) -> None:
        if self.pending:
            raise KeyboardInterrupt
        self.pending = True


@contextmanager
def interrupts_postponed() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of the block instead of in it; runs in virtual time are cancelled
    immediately."""
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
    """Ctrl-C cancels the task, so that it cleans up; a second one ends it immediately. Only if nothing else handles
    it."""
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
        task.get_loop().call_soon_threadsafe(bool)  # it may be waiting for something real

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
    """Only the main thread receives signals; a handler that somebody else installed stays."""
    if threading.current_thread() is not threading.main_thread():
        return False
    handler = signal.getsignal(signal.SIGINT)
    return handler is signal.default_int_handler or isinstance(handler, Postponed)
