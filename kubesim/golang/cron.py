"""Cron expressions: five fields, descriptors such as `@hourly`, `@every 1h`, each in a time zone.

`next` of a schedule returns the first scheduled time after a given time, in microseconds since the epoch. Daylight
saving works as in the Go library: a local time that a day skips does not fire, one that occurs twice fires twice.

Mirrors: github.com/robfig/cron/v3 parser.go ParseStandard; spec.go Next; constantdelay.go
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kubesim.golang.durations import parse_signed_duration
from kubesim.golang.text import quoted
from kubesim.values import value_object

SECOND = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEARS_AHEAD = 5  # a schedule without a time in that many years has none
_NUMBER = re.compile(r"[+-]?[0-9]+")
_MONTHS = {
    name: n
    for n, name in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1)
}
_DAYS = {name: n for n, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class CronError(ValueError):
    """An invalid cron schedule."""


@value_object
class CronField:
    """The allowed values of a field. `star`: the field is `*` or `?`, without a step."""

    values: frozenset[int]
    star: bool


@value_object
class _Bounds:
    low: int
    high: int
    names: Mapping[str, int]


_BOUNDS = (_Bounds(0, 59, {}), _Bounds(0, 23, {}), _Bounds(1, 31, {}), _Bounds(1, 12, _MONTHS), _Bounds(0, 6, _DAYS))


@value_object
class EverySchedule:
    """`@every 90s`: a constant delay after the given time."""

    delay: int

    def next(self, after: int) -> int | None:
        return after + self.delay - after % SECOND


@value_object
class CronSchedule:
    """Five fields in a time zone."""

    zone: tzinfo
    minute: CronField
    hour: CronField
    day_of_month: CronField
    month: CronField
    day_of_week: CronField

    def next(self, after: int) -> int | None:
        """The first scheduled time after the given time; None if there is none within five years."""
        at = _Local((after // SECOND) + 1, self.zone)
        limit = at.fields().year + _YEARS_AHEAD
        while at.fields().year <= limit:
            if self._advance(at):
                return at.unix * SECOND
        return None

    def _advance(self, at: _Local) -> bool:
        """Advance the fields from month to second. Returns False if a field wrapped around, so that all must be checked
        again.
        """
        while at.fields().month not in self.month.values:
            at.start_of("month")
            at.add_date(months=1)
            if at.fields().month == 1:
                return False
        while not self._day_matches(at.fields()):
            at.start_of("day")
            at.add_date(days=1)
            at.back_to_midnight()
            if at.fields().day == 1:
                return False
        while at.fields().hour not in self.hour.values:
            at.start_of("hour")
            at.unix += 3600
            if at.fields().hour == 0:
                return False
        while at.fields().minute not in self.minute.values:
            at.start_of("minute")
            at.unix += 60
            if at.fields().minute == 0:
                return False
        if at.fields().second:
            at.start_of("minute")
            at.unix += 60
            return False
        return True

    def _day_matches(self, day: datetime) -> bool:
        """Whether the day matches: day of month or day of week if both are restricted, else both (a star matches any
        day).
        """
        of_month = day.day in self.day_of_month.values
        of_week = (day.weekday() + 1) % 7 in self.day_of_week.values
        if self.day_of_month.star or self.day_of_week.star:
            return of_month and of_week
        return of_month or of_week


Schedule = CronSchedule | EverySchedule


class _Local:
    """A local time in a time zone that advances in whole seconds."""

    def __init__(self, unix: int, zone: tzinfo) -> None:
        self.unix = unix
        self._zone = zone
        self._moved = False

    def fields(self) -> datetime:
        return (_EPOCH + timedelta(seconds=self.unix)).astimezone(self._zone)

    def start_of(self, unit: str) -> None:
        """Set the smaller fields to their lowest values, the first time that a field advances."""
        if self._moved:
            return
        self._moved = True
        if unit == "minute":
            self.unix -= self.unix % 60
            return
        t = self.fields()
        hour = t.hour if unit == "hour" else 0
        self._set(t.year, t.month, 1 if unit == "month" else t.day, hour)

    def add_date(self, months: int = 0, days: int = 0) -> None:
        t = self.fields()
        self._set(t.year, t.month + months, t.day + days, t.hour, t.minute, t.second)

    def back_to_midnight(self) -> None:
        """Correct the hour after adding days: near a daylight-saving change at midnight the result is an hour off."""
        hour = self.fields().hour
        self.unix += (24 - hour if hour > 12 else -hour) * 3600

    def _set(self, year: int, month: int, day: int, hour: int, minute: int = 0, second: int = 0) -> None:
        """Set the time from local fields. A local time that does not exist becomes the one that Go's `time.Date`
        returns.
        """
        year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
        start = datetime(year, month, 1, tzinfo=UTC) - _EPOCH
        unix = start.days * 86_400 + (day - 1) * 86_400 + hour * 3600 + minute * 60 + second
        self.unix = unix - self._offset(unix - self._offset(unix))

    def _offset(self, unix: int) -> int:
        offset = (_EPOCH + timedelta(seconds=unix)).astimezone(self._zone).utcoffset()
        assert offset is not None
        return round(offset.total_seconds())


# -- parsing --------------------------------------------------------------------------------------------------------


def parse_schedule(text: str) -> Schedule:
    """`TZ=Europe/Berlin 30 6 * * 1-5` or `@hourly` -> a schedule. Raises `CronError` with the library's message."""
    if not text:
        raise CronError("empty spec string")
    zone: tzinfo = UTC
    if text.startswith(("TZ=", "CRON_TZ=")):
        name, space, rest = text.partition(" ")
        if not space:
            bounds = f"slice bounds out of range [{name.index('=') + 1}:-1]"
            raise CronError(f"invalid schedule format: runtime error: {bounds}")
        name = name.partition("=")[2]
        try:
            zone = load_location(name)
        except CronError as error:
            raise CronError(f"provided bad location {name}: {error}") from None
        text = rest.strip()
    if text.startswith("@"):
        return _parse_descriptor(text, zone)
    fields = text.split()
    if len(fields) != 5:
        raise CronError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    return CronSchedule(zone, *(_parse_field(field, bounds) for field, bounds in zip(fields, _BOUNDS, strict=True)))


def load_location(name: str) -> tzinfo:
    """A time zone of the tz database by name; raises `CronError`."""
    if name in ("", "UTC", "Local"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise CronError(f"unknown time zone {name}") from None


def _parse_descriptor(text: str, zone: tzinfo) -> Schedule:
    if text in _DESCRIPTORS:
        fields = _DESCRIPTORS[text].split()
        return CronSchedule(zone, *(_parse_field(field, bounds) for field, bounds in zip(fields, _BOUNDS, strict=True)))
    if text.startswith("@every "):
        duration = text.removeprefix("@every ")
        try:
            delay = parse_signed_duration(duration)
        except ValueError:
            detail = f"time: invalid duration {quoted(duration)}"
            raise CronError(f"failed to parse duration {text}: {detail}") from None
        return EverySchedule(max(delay - delay % SECOND, SECOND))
    raise CronError(f"unrecognized descriptor: {text}")


def _parse_field(text: str, bounds: _Bounds) -> CronField:
    """Parse a list of ranges; empty items of the list are ignored."""
    values: set[int] = set()
    star = False
    for expression in text.split(","):
        if expression:
            found, starred = _parse_range(expression, bounds)
            values |= set(found)
            star = star or starred
    return CronField(frozenset(values), star)


def _parse_range(text: str, bounds: _Bounds) -> tuple[range, bool]:
    """Parse `*`, `5`, `1-5`, `MON-FRI`, `*/15` or `10-30/5`; `5/15` continues to the highest value."""
    span, *steps = text.split("/")
    first, *others = span.split("-")
    star = first in ("*", "?")
    if star:
        start, end = bounds.low, bounds.high
    else:
        start = end = _parse_value(first, bounds.names)
        if len(others) > 1:
            raise CronError(f"too many hyphens: {text}")
        if others:
            end = _parse_value(others[0], bounds.names)
    if len(steps) > 1:
        raise CronError(f"too many slashes: {text}")
    step = _parse_number(steps[0]) if steps else 1
    if steps and not others:
        end = bounds.high
    if start < bounds.low:
        raise CronError(f"beginning of range ({start}) below minimum ({bounds.low}): {text}")
    if end > bounds.high:
        raise CronError(f"end of range ({end}) above maximum ({bounds.high}): {text}")
    if start > end:
        raise CronError(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise CronError(f"step of range should be a positive number: {text}")
    return range(start, end + 1, step), star and step == 1


def _parse_value(text: str, names: Mapping[str, int]) -> int:
    named = names.get(text.lower())
    return _parse_number(text) if named is None else named


def _parse_number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        detail = f"strconv.Atoi: parsing {quoted(text)}: invalid syntax"
        raise CronError(f"failed to parse int from {text}: {detail}")
    number = int(text)
    if number < 0:
        raise CronError(f"negative number ({number}) not allowed: {text}")
    return number
