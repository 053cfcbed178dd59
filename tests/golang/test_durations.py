"""Durations in Go's format.

Adapted from: time/time_test.go parseDurationTests, parseDurationErrorTests
"""

from __future__ import annotations

import pytest

from kubesim.golang.durations import parse_duration, parse_signed_duration

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("0", 0),
        ("5s", 5 * SECOND),
        ("5.s", 5 * SECOND),
        (".5s", SECOND // 2),
        ("1m30s", 90 * SECOND),
        ("3h2m0.5s", (3 * 3600 + 120) * SECOND + SECOND // 2),
        ("250ms", SECOND // 4),
        ("12µs", 12),
        ("12μs", 12),
        ("1500ns", 2),
    ],
)
def test_durations(text: str, micros: int) -> None:
    assert parse_duration(text) == micros


@pytest.mark.parametrize("text", ["", "3", "-3s", "s", ".s", "1m x", "1 s", "3000000h", "٣s"])
def test_invalid_durations(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration such as|is longer than ten years"):
        parse_duration(text)


def test_signs() -> None:
    assert [parse_signed_duration(text) for text in ("-1s", "+1s", "1s")] == [-SECOND, SECOND, SECOND]
