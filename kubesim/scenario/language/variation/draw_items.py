"""Values that are fixed or drawn from the seed: durations and exit codes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from kubesim.scenario.language.durations import Duration
from kubesim.scenario.language.strict import Strict, as_list, wrap

_WAYS = "give a duration, min and max, mean, mean and stddev, median and sigma, or choices"


class DurationDraw(Strict):
    """`5s`, `{min: 1s, max: 3s}` evenly, `{mean: 5s}` exponentially, `{mean: 5s, stddev: 1s}` normally, `{median: 5s,
    sigma: 0.5}` log-normally, `{choices: [1s, 1m]}`."""

    value: Duration | None = None  # fixed: `5s`
    min: Duration | None = None  # with max: uniformly distributed, `1s`
    max: Duration | None = None  # with min: `3s`
    mean: Duration | None = None  # of an exponential distribution; with stddev, of a normal one: `5s`
    stddev: Duration | None = Field(default=None, ge=0)  # with mean: `1s`; draws below 0 are 0
    median: Duration | None = None  # with sigma, of a log-normal distribution: `5s`
    sigma: float | None = Field(default=None, ge=0, le=10)  # with median, the deviation of the logarithm: `0.5`
    choices: Annotated[tuple[Duration, ...], BeforeValidator(as_list)] = ()  # one of these: `[1s, 1m]`

    @model_validator(mode="after")
    def _one_way(self) -> DurationDraw:
        starts = (self.value, self.min, self.mean, self.median)
        ways = [*(start is not None for start in starts), bool(self.choices)]
        pairs = (self.min is None) == (self.max is None) and (self.median is None) == (self.sigma is None)
        if sum(ways) != 1 or not pairs or (self.stddev is not None and self.mean is None):
            raise PydanticCustomError("draw", _WAYS)
        if self.min is not None and self.max is not None and self.min > self.max:
            raise PydanticCustomError("draw", "min is greater than max")
        return self


class ExitCodeDraw(Strict):
    """`1`, or `{choices: [0, 0, 1]}`."""

    value: int | None = Field(default=None, ge=0, le=255)
    choices: Annotated[tuple[Annotated[int, Field(ge=0, le=255)], ...], BeforeValidator(as_list)] = ()

    @model_validator(mode="after")
    def _one_way(self) -> ExitCodeDraw:
        if (self.value is None) == (not self.choices):
            raise PydanticCustomError("draw", "give an exit code, or choices")
        return self


DurationOrDraw = Annotated[DurationDraw, wrap("value")]
ExitCodeOrDraw = Annotated[ExitCodeDraw, wrap("value")]
