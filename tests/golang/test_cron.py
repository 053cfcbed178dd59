"""Cron expressions, parsed as in the Go library.

Adapted from: github.com/robfig/cron/v3 parser_test.go, spec_test.go
"""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from kubesim.golang.cron import CronError, EverySchedule, parse_schedule

NEW_YORK = "TZ=America/New_York "


def micros(text: str, zone: str = "UTC") -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()) * 1_000_000


@pytest.mark.parametrize(
    ("after", "schedule", "expected"),
    [
        ("2012-07-09T14:45", "0/15 * * * *", "2012-07-09T15:00"),
        ("2012-07-09T14:59", "0/15 * * * *", "2012-07-09T15:00"),
        ("2012-07-09T14:59:59", "0/15 * * * *", "2012-07-09T15:00"),
        ("2012-07-09T15:45", "20-35/15 * * * *", "2012-07-09T16:20"),
        ("2012-07-09T23:46", "*/15 * * * *", "2012-07-10T00:00"),
        ("2012-07-09T23:45", "20-35/15 * * * *", "2012-07-10T00:20"),
        ("2012-07-09T23:35:51", "20-35/15 1/2 * * *", "2012-07-10T01:20"),
        ("2012-07-09T23:35:51", "20-35/15 10-12 * * *", "2012-07-10T10:20"),
        ("2012-07-09T23:35:51", "20-35/15 1/2 */2 * *", "2012-07-11T01:20"),
        ("2012-07-09T23:35:51", "20-35/15 * 9-20 * *", "2012-07-10T00:20"),
        ("2012-07-09T23:35:51", "20-35/15 * 9-20 JUL *", "2012-07-10T00:20"),
        ("2012-07-09T23:35", "0 0 9 Apr-Oct ?", "2012-08-09T00:00"),
        ("2012-07-09T23:35", "0 0 */5 Apr,Aug,Oct Mon", "2012-08-01T00:00"),
        ("2012-07-09T23:35", "0 0 */5 Oct Mon", "2012-10-01T00:00"),
        ("2012-07-09T23:35", "0 0 * Feb Mon", "2013-02-04T00:00"),
        ("2012-07-09T23:35", "0 0 * Feb Mon/2", "2013-02-01T00:00"),
        ("2012-12-31T23:59:45", "* * * * *", "2013-01-01T00:00"),
        ("2012-07-09T23:35", "0 0 29 Feb ?", "2016-02-29T00:00"),
        ("2012-07-09T14:45", "@hourly", "2012-07-09T15:00"),
        ("2012-07-09T14:45", "@daily", "2012-07-10T00:00"),
        ("2012-07-09T14:45", "@midnight", "2012-07-10T00:00"),
        ("2012-07-09T14:45", "@weekly", "2012-07-15T00:00"),
        ("2012-07-09T14:45", "@monthly", "2012-08-01T00:00"),
        ("2012-07-09T14:45", "@yearly", "2013-01-01T00:00"),
        ("2012-07-09T14:45", "@annually", "2013-01-01T00:00"),
    ],
)
def test_next(after: str, schedule: str, expected: str) -> None:
    assert parse_schedule(schedule).next(micros(after)) == micros(expected)


@pytest.mark.parametrize("schedule", ["0 0 30 Feb ?", "0 0 31 Apr ?"])
def test_a_date_that_does_not_exist(schedule: str) -> None:
    assert parse_schedule(schedule).next(micros("2012-07-09T23:35")) is None


@pytest.mark.parametrize(
    ("after", "schedule", "expected"),
    [
        # In New York, clocks moved from 2:00 EST to 3:00 EDT on 11 March 2012, and back on 4 November.
        ("2012-03-11T05:00", "30 2 11 Mar ?", "2013-03-11T06:30"),
        ("2012-03-11T05:00", "0 * * * ?", "2012-03-11T06:00"),
        ("2012-03-11T06:00", "0 * * * ?", "2012-03-11T07:00"),
        ("2012-03-11T07:00", "0 * * * ?", "2012-03-11T08:00"),
        ("2012-03-11T05:00", "0 1 * * ?", "2012-03-11T06:00"),
        ("2012-03-11T06:00", "0 1 * * ?", "2012-03-12T05:00"),
        ("2012-03-11T05:00", "0 2 * * ?", "2012-03-12T06:00"),
        ("2012-11-04T04:00", "30 2 4 Nov ?", "2012-11-04T07:30"),
        ("2012-11-04T05:45", "30 1 4 Nov ?", "2012-11-04T06:30"),
        ("2012-11-04T04:00", "0 * * * ?", "2012-11-04T05:00"),
        ("2012-11-04T05:00", "0 * * * ?", "2012-11-04T06:00"),
        ("2012-11-04T06:00", "0 * * * ?", "2012-11-04T07:00"),
        ("2012-11-04T04:00", "0 1 * * ?", "2012-11-04T05:00"),
        ("2012-11-04T05:00", "0 1 * * ?", "2012-11-04T06:00"),
        ("2012-11-04T06:00", "0 1 * * ?", "2012-11-05T06:00"),
        ("2012-11-04T04:00", "0 2 * * ?", "2012-11-04T07:00"),
        ("2012-11-04T07:00", "0 2 * * ?", "2012-11-05T07:00"),
        ("2012-11-04T04:00", "0 3 * * ?", "2012-11-04T08:00"),
    ],
)
def test_daylight_saving(after: str, schedule: str, expected: str) -> None:
    assert parse_schedule(NEW_YORK + schedule).next(micros(after)) == micros(expected)


def test_a_day_without_midnight() -> None:
    """In São Paulo, clocks moved from 0:00 to 1:00 on 4 November 2018."""
    schedule = parse_schedule("TZ=America/Sao_Paulo 0 9 10 * ?")
    assert schedule.next(micros("2018-10-17T08:00")) == micros("2018-11-10T11:00")


@pytest.mark.parametrize(
    ("duration", "expected"),
    [("1h30m", 5400), ("90s", 90), ("1s", 1), ("50ms", 1), ("2s500ms", 2), ("0s", 1)],
)
def test_every(duration: str, expected: int) -> None:
    assert parse_schedule(f"@every {duration}") == EverySchedule(expected * 1_000_000)


def test_every_counts_from_whole_seconds() -> None:
    assert parse_schedule("@every 15m").next(micros("2012-07-09T14:45") + 700_000) == micros("2012-07-09T15:00")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"),
        ("xyz * * * *", 'failed to parse int from xyz: strconv.Atoi: parsing "xyz": invalid syntax'),
        ("60 0 * * *", "end of range (60) above maximum (59): 60"),
        ("0 0 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("0 0 * * 7", "end of range (7) above maximum (6): 7"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("*/2/3 * * * *", "too many slashes: */2/3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("*/-12 * * * *", "negative number (-12) not allowed: -12"),
        ("@unrecognized", "unrecognized descriptor: @unrecognized"),
        ("@every xyz", 'failed to parse duration @every xyz: time: invalid duration "xyz"'),
        ("TZ=Mars/Olympus * * * * *", "provided bad location Mars/Olympus: unknown time zone Mars/Olympus"),
        ("TZ=0", "invalid schedule format: runtime error: slice bounds out of range [3:-1]"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(CronError) as caught:
        parse_schedule(text)
    assert str(caught.value) == message


def test_empty_list_members_are_ignored() -> None:
    assert parse_schedule("1,,2 * * * *") == parse_schedule("1,2 * * * *")
