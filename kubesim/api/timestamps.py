"""Points in time: integer microseconds since the epoch internally, RFC 3339 text in the API.

API timestamps (`metav1.Time`) keep their original text, so that nothing is lost. These functions convert them to
microseconds if a computation needs the time.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SECOND = 253_402_300_799  # of the year 9999
_RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$")


@lru_cache(maxsize=4096)
def parse_time(text: str) -> int:
    """Parse RFC 3339 text to microseconds since the epoch; finer fractions are truncated."""
    found = _RFC3339.match(text)
    if not found:
        raise ValueError(f"{text!r} is not an RFC 3339 time such as 2026-01-31T12:00:00Z")
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    fraction, sign, offset_hours, offset_minutes = found.groups()[6:]
    if int(offset_hours or 0) > 24 or int(offset_minutes or 0) > 60:  # Go accepts 24 and 60, too
        raise ValueError(f"{text!r} has a time zone out of range")
    moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    since = moment - _EPOCH
    micros = (since.days * 86_400 + since.seconds) * SECOND + int((fraction or "")[:6].ljust(6, "0"))
    offset = (int(offset_hours or 0) * 60 + int(offset_minutes or 0)) * MINUTE
    return micros + offset if sign == "-" else micros - offset


@lru_cache(maxsize=4096)
def _format_seconds(seconds: int) -> str:
    moment = _EPOCH + timedelta(seconds=min(seconds, _LAST_SECOND))
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}".rjust(20, "0")  # early years are not padded


def format_time(micros: int) -> str:
    """Format microseconds as a `metav1.Time`: UTC, truncated to whole seconds; at most the end of the year 9999."""
    return _format_seconds(micros // SECOND)


def format_micro_time(micros: int) -> str:
    """Format microseconds as a `metav1.MicroTime`."""
    return f"{_format_seconds(micros // SECOND)[:-1]}.{micros % SECOND:06d}Z"


def seconds(value: float) -> int:
    """Convert seconds to integer microseconds, the unit of virtual time."""
    return round(value * SECOND)
