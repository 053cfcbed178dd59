"""Real-time limits for tests that need one: short on an idle machine, long enough on a busy one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LIMITS_S = (0.1, 0.5, 2.5, 12.5)


def with_growing_limits(attempt: Callable[[float], T], is_fine: Callable[[T], bool]) -> T:
    """Call `attempt(limit_s)` with growing limits; returns the first good result, else the last one.

    For tests of a time limit: one step must finish within it, and another one never finishes.
    """
    for limit_s in LIMITS_S:
        result = attempt(limit_s)
        if is_fine(result):
            break
    return result
