"""Random numbers from the seed: durations, exit codes."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Protocol

from kubesim.clock.randomness import Stream
from kubesim.values import value_object


class Draw(Protocol):
    """A random number, or a fixed one."""

    def draw(self, stream: Stream) -> int: ...


@value_object
class Exponential:
    """Mostly short, sometimes long: half of the values are below 0.7 of the mean."""

    mean: int

    def draw(self, stream: Stream) -> int:
        return round(-self.mean * math.log(1.0 - stream.random()))


@value_object
class Normal:
    """A normal distribution around the mean, cut off at 0."""

    mean: int
    stddev: int

    def draw(self, stream: Stream) -> int:
        return max(0, round(self.mean + self.stddev * _standard_normal(stream)))


@value_object
class LogNormal:
    """Half of the values are below the median, a few far above. `sigma`: standard deviation of the logarithm."""

    median: int
    sigma: float

    def draw(self, stream: Stream) -> int:
        return round(self.median * math.exp(self.sigma * _standard_normal(stream)))


def _standard_normal(stream: Stream) -> float:
    """Box-Muller. random.gauss caches every second number, which would couple draws."""
    return math.sqrt(-2.0 * math.log(1.0 - stream.random())) * math.cos(2.0 * math.pi * stream.random())


@value_object
class DrawnChoice:
    """One of these values with equal probability."""

    values: tuple[int, ...]

    def draw(self, stream: Stream) -> int:
        return self.values[stream.randrange(len(self.values))]


class _NoTime:
    """A call that takes no time: its caller continues immediately."""

    def __await__(self) -> Generator[None, None, None]:
        yield from ()


NO_TIME = _NoTime()
