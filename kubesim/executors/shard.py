"""`Shard`: one of n equal shares of some work, for machines that do not know each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from kubesim.values import value_object

T = TypeVar("T")
MOST: Final = 100_000
# Where a machine reads the number of its share: the variables of index and count, and the first index. Kubernetes sets
# only the index, in the pods of an Indexed Job.
VARIABLES: Final = (
    ("JOB_COMPLETION_INDEX", "", 0),
    ("CI_NODE_INDEX", "CI_NODE_TOTAL", 1),  # GitLab
    ("CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0),
    ("BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0),
)


@value_object
class Shard:
    """Share `number` (from 1) of `count`."""

    number: int = 1
    count: int = 1

    @property
    def label(self) -> str:
        """`2/4`."""
        return f"{self.number}/{self.count}"

    @property
    def index(self) -> int:
        return self.number - 1

    def of(self, items: Sequence[T]) -> Sequence[T]:
        return items[self.index :: self.count]


def parse_shard(text: str, environment: Mapping[str, str]) -> Shard:
    """Parse `2/4`; or `auto` and `auto/4`, which read the environment of a CI job or of a pod of an Indexed Job. Raises
    ValueError."""
    number, slash, count = text.partition("/")
    if number == "auto":
        return _of_environment(count if slash else "", environment)
    if not (number.isdecimal() and count.isdecimal() and text.isascii()):
        raise ValueError(f"{text!r} is not a shard, such as 2/4, auto or auto/4")
    return _checked(int(number), int(count), text)


def _of_environment(count: str, environment: Mapping[str, str]) -> Shard:
    for index, total, first in VARIABLES:
        if index in environment:
            given = count or environment.get(total, "")
            if not given:
                raise ValueError(f"the environment has {index}, but not how many shards there are: write auto/N")
            if not (environment[index].isdecimal() and given.isdecimal()):
                raise ValueError(f"shard {environment[index]!r} of {given!r} ({index}) is no pair of numbers")
            return _checked(int(environment[index]) - first + 1, int(given), f"auto ({index}={environment[index]})")
    names = ", ".join(index for index, _, _ in VARIABLES)
    raise ValueError(f"auto: the environment has none of {names}: write 2/4")


def _checked(number: int, count: int, text: str) -> Shard:
    if not 1 <= number <= count <= MOST:
        raise ValueError(
            f"{text}: shard {number} of {count} does not exist: the first is 1/N, the last N/N, N ≤ {MOST:,}"
        )
    return Shard(number, count)
