"""Numbers that are drawn from the seed: how long something takes, how a container exits."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Protocol

from kubesim.clock.randomness import Stream
from kubesim.values import value_object


class Draw(Protocol):
    """A number, or how to draw one."""

    def draw(self, stream: Stream) -> int: ...


@value_object
class Exponential:
    """Mostly short, sometimes long: half of them are below seven tenths of the mean."""

    mean: int

    def draw(self, stream: Stream) -> int:
        return round(-self.mean * math.log(1.0 - stream.random()))


@value_object
class Normal:
    """Around the mean; never below 0."""

    mean: int
    stddev: int

    def draw(self, stream: Stream) -> int:
        return max(0, round(self.mean + self.stddev * _standard_normal(stream)))


@value_object
class LogNormal:
    """Half of them below the median, a few far above it. `sigma` is the standard deviation of the logarithm."""

    median: int
    sigma: float

    def draw(self, stream: Stream) -> int:
        return round(self.median * math.exp(self.sigma * _standard_normal(stream)))


def _standard_normal(stream: Stream) -> float:
    """By Box and Muller: random.gauss keeps every second number for later, which ties draws together."""
    return math.sqrt(-2.0 * math.log(1.0 - stream.random())) * math.cos(2.0 * math.pi * stream.random())


@value_object
class Choice:
    """One of these, each as likely as the others."""

    values: tuple[int, ...]

    def draw(self, stream: Stream) -> int:
        return self.values[stream.randrange(len(self.values))]


class _NoTime:
    """A call that takes no time: its caller continues immediately."""

    def __await__(self) -> Generator[None, None, None]:
        yield from ()


NO_TIME = _NoTime()
