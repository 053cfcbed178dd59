"""Strings, slices and durations in Go's format.

Adapted from: strconv/quote_test.go; time/time_test.go TestDurationString
"""

from __future__ import annotations

import pytest

from kubesim.golang.text import duration, listed, quoted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", '"plain"'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'),
        ("\x00\x7f", '"\\x00\\x7f"'),
        ("☺é", '"☺é"'),
        ("\u200b\ufffe", '"\\u200b\\ufffe"'),
        ("\U0010ffff", '"\\U0010ffff"'),
    ],
)
def test_quoted(text: str, expected: str) -> None:
    assert quoted(text) == expected


def test_listed() -> None:
    assert listed(["a", "b", 3]) == "[a b 3]"
    assert listed([]) == "[]"


@pytest.mark.parametrize(
    ("micros", "expected"),
    [
        (0, "0s"),
        (1, "1µs"),
        (1_100, "1.1ms"),
        (250_000, "250ms"),
        (1_500_000, "1.5s"),
        (90_000_000, "1m30s"),
        (60_000_000, "1m0s"),
        (3_600_000_000, "1h0m0s"),
        (5 * 3_600_000_000 + 61_001_000, "5h1m1.001s"),
        (-1_500_000, "-1.5s"),
        (-1, "-1µs"),
    ],
)
def test_durations(micros: int, expected: str) -> None:
    assert duration(micros) == expected
