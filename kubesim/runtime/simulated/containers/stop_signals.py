"""Stop signals by the names that pod specs and images use."""

from __future__ import annotations

import signal

DEFAULT_STOP_SIGNAL = "SIGTERM"


def signal_number(name: str) -> int:
    """The number of `SIGUSR1`, `SIGRTMIN`, `SIGRTMINPLUS3`, `SIGRTMAXMINUS1`; an unknown name is SIGTERM."""
    base, plus, offset = name.partition("PLUS")
    if not plus:
        base, _, offset = name.partition("MINUS")
    try:
        number = int(signal.Signals[base or DEFAULT_STOP_SIGNAL])
    except KeyError:
        return int(signal.SIGTERM)
    return number + int(offset or 0) * (1 if plus else -1)
