"""Times: text outside, whole microseconds inside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.api.timestamps import SECOND, format_micro_time, format_time, parse_time


@pytest.mark.parametrize(
    ("text", "micros"),
    [("1970-01-01T00:00:00Z", 0), ("1970-01-01T00:00:01.5Z", 1_500_000), ("1970-01-01T01:00:00+01:00", 0),
     ("1970-01-01T00:00:00.123456789Z", 123_456), ("1969-12-31T23:59:59Z", -SECOND)],
)  # fmt: skip
def test_rfc_3339_is_parsed(text: str, micros: int) -> None:
    assert parse_time(text) == micros


@pytest.mark.parametrize("text", ["", "today", "2026-01-01", "2026-01-01T00:00:00"])
def test_other_formats_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not an RFC 3339 time"):
        parse_time(text)


@given(st.integers(min_value=0, max_value=4_102_444_800 * SECOND))
def test_round_trip(micros: int) -> None:
    assert parse_time(format_micro_time(micros)) == micros
    assert parse_time(format_time(micros)) == micros - micros % SECOND
