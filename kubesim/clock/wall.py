"""The time of day outside any run: for commands that look at the world as it is at this moment."""

from __future__ import annotations

import time as wall_time


def wall_now() -> int:
    """Microseconds since the epoch, by this machine's clock."""
    return wall_time.time_ns() // 1000
