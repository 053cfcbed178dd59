"""`@frozen`: a dataclass that nobody changes.

The type checker sees to that, as it does for `@dataclass(frozen=True)`. At run time nothing stands in the way of an
assignment, because guarding it makes construction three times as slow, and a run constructs some two hundred of these
for every pod.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """With slots; equal and with the same hash if all fields are."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
