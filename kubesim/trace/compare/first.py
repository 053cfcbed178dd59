"""The first difference of two traces: the earliest record without an equal record on the other side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesim.trace.compare.contents import Content, Streams
from kubesim.trace.records import Record
from kubesim.trace.stepping.stepper import Stepper
from kubesim.values import value_object

_AHEAD = 60  # the number of records of a subject to search for a later match


@value_object
class FirstDifference:
    """The next records of the same subject on both sides; None: no further record on that side.

    `is_extra`: for each side, whether its record does not occur on the other side at all.
    """

    left: Record | None
    right: Record | None
    is_extra: tuple[bool, bool] = (False, False)

    @property
    def moment(self) -> tuple[int, int]:
        """Time and number of the earlier of the two records."""
        return min((each.t, each.seq) for each in (self.left, self.right) if each is not None)

    @property
    def pod(self) -> str:
        return next(each.pod for each in (self.left, self.right) if each is not None)


def first_difference(left: Streams, right: Streams) -> FirstDifference | None:
    """The earliest of the first differences of all subjects. All earlier records have the same numbers on both
    sides."""
    found = [each for key in {**left, **right} if (each := _of_subject(left.get(key, []), right.get(key, [])))]
    return min(found, key=lambda each: each.moment, default=None)


def _of_subject(
    left: Sequence[tuple[Content, Record]], right: Sequence[tuple[Content, Record]]
) -> FirstDifference | None:
    position = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a[0] != b[0]), None)
    if position is None:
        position = min(len(left), len(right))
        if len(left) == len(right):
            return None
    rest = left[position : position + _AHEAD], right[position : position + _AHEAD]
    ours, theirs = ([content for content, _ in each] for each in rest)
    extra = (bool(ours) and ours[0] not in theirs, bool(theirs) and theirs[0] not in ours)
    if extra[0] == extra[1]:  # one replaces the other
        extra = (False, False)
    records = [each[0][1] if each else None for each in rest]
    return FirstDifference(records[0], records[1], extra)


def causes(records: Sequence[Record], record: Record) -> list[Record]:
    """The chain of causes of a record, without the record itself."""
    return Stepper(records).why(record.seq)[1:]


def differing_fields(left: Record | None, right: Record | None) -> list[tuple[str, Any, Any]]:
    """The fields in which two records of one kind differ (`summary.containers.main.state`), with both values (None:
    absent).
    """
    if left is None or right is None or left.KIND != right.KIND:
        return []
    skipped = {"seq", "cause", *left.EXTERNAL}
    ours, theirs = ({k: v for k, v in each.to_json().items() if k not in skipped} for each in (left, right))
    return list(_differing(ours, theirs, ""))


def _differing(left: Any, right: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(left, dict) and isinstance(right, dict):
        for name in {**left, **right}:
            yield from _differing(left.get(name), right.get(name), f"{path}.{name}" if path else name)
    elif left != right:
        yield path, left, right
