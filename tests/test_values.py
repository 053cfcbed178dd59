"""Immutable dataclasses: compared and hashed by value, copied with changes."""

from __future__ import annotations

from dataclasses import field

import pytest

from kubesim.values import mutable, replace, value_object


@value_object
class Point:
    x: int
    y: int = 0
    names: tuple[str, ...] = field(default_factory=tuple)


@mutable(kw_only=True)
class Counter:
    start: int
    count: int = 0
    seen: list[int] = field(default_factory=list, init=False)
    twice: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.twice = 2 * self.start


def test_fields_of_a_mutable_object_may_change() -> None:
    counter = Counter(start=2)
    counter.count += 1
    assert (counter, counter.twice) == (Counter(start=2, count=1), 4)
    assert repr(counter) == "Counter(start=2, count=1, seen=[])"
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'start'"):
        Counter()  # type: ignore[call-arg]


def test_equal_values_are_equal_and_have_the_same_hash() -> None:
    assert Point(1) == Point(1, 0, ())
    assert len({Point(1), Point(1), Point(2)}) == 2


def test_a_copy_has_new_values_and_keeps_the_original() -> None:
    point = Point(1, names=("a",))
    assert replace(point, y=5) == Point(1, 5, ("a",))
    assert point == Point(1, 0, ("a",))


def test_all_objects_of_a_class_are_created_in_the_same_way() -> None:
    """The first ones without a compiled constructor, the others with it."""

    @mutable
    class Made:
        number: int
        names: list[str] = field(default_factory=list)
        double: int = field(init=False)

        def __post_init__(self) -> None:
            self.double = 2 * self.number

    made = [Made(number, ["a"]) if number % 2 else Made(number=number) for number in range(20)]
    assert [(each.number, each.names, each.double) for each in made] == [
        (number, ["a"] if number % 2 else [], 2 * number) for number in range(20)
    ]
    assert made[0].names is not made[2].names


@pytest.mark.parametrize(
    ("args", "kwargs", "problem"),
    [
        ((), {}, "missing 1 required positional argument: 'x'"),
        ((1, 2, 3), {}, "takes from 2 to 3 positional arguments but 4 were given"),
        ((1,), {"x": 2}, "got multiple values for argument 'x'"),
        ((1,), {"z": 2}, "got an unexpected keyword argument 'z'"),
    ],
)
def test_a_wrong_argument_of_the_first_object_is_rejected(
    args: tuple[int, ...], kwargs: dict[str, int], problem: str
) -> None:
    @value_object
    class Fresh:
        x: int
        y: int = 0

    with pytest.raises(TypeError, match=problem):
        Fresh(*args, **kwargs)


def test_other_fields_cannot_be_set() -> None:
    with pytest.raises(AttributeError):
        Point(1).z = 3  # type: ignore[attr-defined]
    with pytest.raises(KeyError):
        replace(Point(1), z=3)  # type: ignore[call-arg]


def test_a_shared_mutable_default_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"Shared\.names: objects would share \[\]; use field\(default_factory=...\)"):

        @value_object
        class Shared:
            names: list[str] = []
