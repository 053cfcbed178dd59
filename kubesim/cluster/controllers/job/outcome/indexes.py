"""Sets of completion indexes and their text form in a status: `0-2,5,7,8`.

Two consecutive indexes are written separately, three or more as a range.

Mirrors: pkg/controller/job/indexed_job_utils.go orderedIntervals, parseIndexesFromString
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesim.values import value_object


@value_object
class Indexes:
    """Sorted intervals with gaps between them."""

    intervals: tuple[tuple[int, int], ...] = ()

    def with_indexes(self, indexes: Iterable[int]) -> Indexes:
        return self.merge(Indexes(tuple((index, index) for index in sorted(set(indexes)))))

    def merge(self, other: Indexes) -> Indexes:
        merged: list[tuple[int, int]] = []
        for first, last in sorted((*self.intervals, *other.intervals)):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = merged[-1][0], max(merged[-1][1], last)
            else:
                merged.append((first, last))
        return Indexes(tuple(merged))

    def total(self) -> int:
        return sum(last - first + 1 for first, last in self.intervals)

    def shared_with(self, other: Indexes) -> int:
        """The number of indexes in both sets."""
        return sum(
            max(0, min(last, other_last) - max(first, other_first) + 1)
            for first, last in self.intervals
            for other_first, other_last in other.intervals
        )

    def first_missing(self, count: int, completions: int) -> list[int]:
        """The lowest missing indexes below `completions`, at most `count`."""
        missing: list[int] = []
        candidate = 0
        for first, last in (*self.intervals, (completions, completions)):
            end = min(first, completions, candidate + count - len(missing))
            missing += range(candidate, end)
            candidate = max(candidate, last + 1)
        return missing

    def __contains__(self, index: int) -> bool:
        return any(first <= index <= last for first, last in self.intervals)

    def __str__(self) -> str:
        return ",".join(_text(first, last) for first, last in self.intervals)


def _text(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def parse_indexes(text: str, completions: int) -> Indexes:
    """Parse indexes; those from `completions` on and invalid parts are ignored."""
    intervals: list[tuple[int, int]] = []
    for part in text.split(",") if text else ():
        limits = part.split("-")
        try:
            first, last = int(limits[0]), int(limits[1] if len(limits) > 1 else limits[0])
        except ValueError:
            continue
        if first >= completions:
            break
        last = min(last, completions - 1)
        if intervals and intervals[-1][1] == first - 1:
            intervals[-1] = intervals[-1][0], last
        else:
            intervals.append((first, last))
    return Indexes(tuple(intervals))
