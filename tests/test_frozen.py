"""Dataclasses that nobody changes: compared and hashed by value, copied with other values."""

from __future__ import annotations

from dataclasses import field

import pytest

from kubesim.frozen import frozen, replace


@frozen
class Point:
    x: int
    y: int = 0
    names: tuple[str, ...] = field(default_factory=tuple)


def test_equal_values_are_equal_and_have_the_same_hash() -> None:
    assert Point(1) == Point(1, 0, ())
    assert len({Point(1), Point(1), Point(2)}) == 2


def test_a_copy_has_other_values_and_leaves_the_original_alone() -> None:
    point = Point(1, names=("a",))
    assert replace(point, y=5) == Point(1, 5, ("a",))
    assert point == Point(1, 0, ("a",))


def test_there_is_no_room_for_other_fields() -> None:
    with pytest.raises(AttributeError):
        Point(1).z = 3  # type: ignore[attr-defined]
    with pytest.raises(KeyError):
        replace(Point(1), z=3)  # type: ignore[call-arg]
