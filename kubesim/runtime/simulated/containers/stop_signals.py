"""The signals that can stop a container, by the names that manifests and images use."""

from __future__ import annotations

import signal

DEFAULT_STOP_SIGNAL = "SIGTERM"


def signal_number(name: str) -> int:
    """`SIGUSR1`, `SIGRTMIN`, `SIGRTMINPLUS3`, `SIGRTMAXMINUS1`; an unknown one is SIGTERM."""
    base, plus, offset = name.partition("PLUS")
    if not plus:
        base, _, offset = name.partition("MINUS")
    try:
        number = int(signal.Signals[base or DEFAULT_STOP_SIGNAL])
    except KeyError:
        return int(signal.SIGTERM)
    return number + int(offset or 0) * (1 if plus else -1)
