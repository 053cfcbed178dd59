"""Ages in kubectl's format.

Mirrors: apimachinery/pkg/util/duration HumanDuration; pkg/printers/internalversion printers.go translateTimestampSince
"""

from __future__ import annotations

from kubesim.api.timestamps import SECOND, parse_time

UNKNOWN = "<unknown>"
_HOUR, _DAY = 60, 24  # minutes, hours


def age(timestamp: str | None, now: int) -> str:
    """The age; `now` is in microseconds since the epoch."""
    return human_duration(now - parse_time(timestamp)) if timestamp else UNKNOWN


def human_duration(micros: int) -> str:
    """At most two units: `119s`, `2m30s`, `3h5m`, `2d4h`. Tolerates a clock difference of a second."""
    seconds = abs(micros) // SECOND * (1 if micros >= 0 else -1)  # truncated, as in Go
    if seconds < 0:
        return "0s" if seconds == -1 else "<invalid>"
    if seconds < 120:
        return f"{seconds}s"
    minutes, hours = seconds // 60, seconds // 3600
    days = hours // _DAY
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 3 * _HOUR:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 2 * _DAY:
        return f"{hours}h"
    if hours < 8 * _DAY:
        return _two(days, "d", hours % _DAY, "h")
    if days < 2 * 365:
        return f"{days}d"
    if days < 8 * 365:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(large: int, unit: str, small: int, smaller_unit: str) -> str:
    return f"{large}{unit}{small}{smaller_unit}" if small else f"{large}{unit}"
