"""Durations in kubectl's format: upstream's table and its limits."""

from __future__ import annotations

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.cluster.tables.ages import age, human_duration

MINUTE, HOUR, DAY = 60, 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"), (-1.5, "0s"), (-0.1, "0s"), (0, "0s"), (0.9, "0s"), (1, "1s"), (119, "119s"),
        (2 * MINUTE, "2m"), (2 * MINUTE + 10, "2m10s"), (10 * MINUTE - 1, "9m59s"), (10 * MINUTE, "10m"),
        (3 * HOUR - 1, "179m"), (3 * HOUR, "3h"), (3 * HOUR + 5 * MINUTE, "3h5m"), (8 * HOUR, "8h"),
        (8 * HOUR + 40 * MINUTE, "8h"), (48 * HOUR - 1, "47h"), (2 * DAY, "2d"), (2 * DAY + 4 * HOUR, "2d4h"),
        (8 * DAY, "8d"), (8 * DAY + HOUR, "8d"), (2 * 365 * DAY - 1, "729d"), (2 * 365 * DAY, "2y"),
        (2 * 365 * DAY + 3 * DAY, "2y3d"), (8 * 365 * DAY + 300 * DAY, "8y"),
    ],
)  # fmt: skip
def test_a_duration_has_at_most_two_units(seconds: float, text: str) -> None:
    assert human_duration(round(seconds * SECOND)) == text


def test_a_missing_time_is_unknown() -> None:
    assert age(None, 0) == age("", 0) == "<unknown>"
    assert age("2000-01-01T00:00:00Z", 946_684_800_000_000 + 90 * SECOND) == "90s"
