"""Values that differ from run to run, for commands that act on the real world: wall-clock time, unique names, seeds."""

from __future__ import annotations

import secrets
import time as wall_time


def wall_now() -> int:
    """Microseconds since the epoch, by this machine's clock."""
    return wall_time.time_ns() // 1000


def unique_name(size: int = 8) -> str:
    """A name that nothing else on this machine has: `size` random bytes in hexadecimal."""
    return secrets.token_hex(size)


def chance_seed() -> int:
    """A seed for a run without one."""
    return secrets.randbits(48)
