"""The current wall-clock time outside a run, for commands that act on the real world."""

from __future__ import annotations

import time as wall_time


def wall_now() -> int:
    """Microseconds since the epoch, by this machine's clock."""
    return wall_time.time_ns() // 1000
