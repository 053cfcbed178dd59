"""Durations in the fields of scenarios."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from kubesim.golang.durations import parse_duration


def read_duration(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return parse_duration(value)
        except ValueError as error:
            raise PydanticCustomError("duration", "{problem}", {"problem": str(error)}) from None
    if value == 0 and not isinstance(value, bool):
        return 0
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise PydanticCustomError("duration", "a duration needs its unit: {value}s", {"value": value})
    raise PydanticCustomError("duration", "must be a duration such as 1m30s", {})


def read_signed_duration(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("-"):
        return -read_duration(value[1:])
    return read_duration(value)


def is_not_zero(value: int) -> int:
    if not value:
        raise PydanticCustomError("duration", "must not be 0")
    return value


Duration = Annotated[int, BeforeValidator(read_duration)]
SignedDuration = Annotated[int, BeforeValidator(read_signed_duration)]  # also negative: `-1h`
