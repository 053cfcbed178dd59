"""Parser of Go's duration format (`1m30s`, `250ms`, `-1s`) to microseconds.

Mirrors: time.ParseDuration
"""

from __future__ import annotations

import re
from fractions import Fraction

_UNITS = {
    "ns": Fraction(1, 1000),
    "us": Fraction(1),
    "µs": Fraction(1),
    "μs": Fraction(1),
    "ms": Fraction(1000),
    "s": Fraction(1_000_000),
    "m": Fraction(60_000_000),
    "h": Fraction(3_600_000_000),
}
_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_DURATION = re.compile(f"(?:{_PART.pattern})+")
MAX_DURATION = 10 * 365 * 24 * 3_600_000_000  # ten years, in microseconds


def parse_duration(text: str) -> int:
    """`1m30s` -> microseconds. Raises a ValueError that shows the format of a duration."""
    if text != "0" and not _DURATION.fullmatch(text):
        raise ValueError(f"{text!r} is not a duration such as 1m30s or 250ms")
    total = sum(Fraction(number.rstrip(".")) * _UNITS[unit] for number, unit in _PART.findall(text))
    if total > MAX_DURATION:
        raise ValueError(f"{text!r} is longer than ten years")
    return round(total)


def parse_signed_duration(text: str) -> int:
    """Like `parse_duration`, but the duration may be negative."""
    magnitude = parse_duration(text[1:] if text[:1] in ("-", "+") else text)
    return -magnitude if text.startswith("-") else magnitude
