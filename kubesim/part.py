"""`@part`: a dataclass for an object that keeps what its constructor is given, and is compared by identity.

Its fields are the parameters of its constructor. A field that begins with an underscore is state of its own: it has a
default, and no caller passes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def part(cls: type[T]) -> type[T]:
    """With slots. Without `__eq__` and `__repr__`, which nobody calls and which take time to make at start-up."""
    return dataclass(slots=True, eq=False, repr=False, match_args=False)(cls)
