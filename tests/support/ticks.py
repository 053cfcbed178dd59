"""Runs that execute every tick, for comparison with runs that skip idle ticks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kubesim.clock import VirtualLoop


@contextmanager
def ticks(*, every_tick: bool) -> Iterator[None]:
    """With `every_tick`, no tick is skipped in this block."""
    before = VirtualLoop.skips_idle_ticks
    VirtualLoop.skips_idle_ticks = not every_tick
    try:
        yield
    finally:
        VirtualLoop.skips_idle_ticks = before
