"""A future that names what it waits for, so that a deadlock error can list it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Awaited(asyncio.Future[T]):
    """A future with a description: `await Awaited("the end of the container")`, or a sequence of objects if it waits
    for any of them.
    """

    __slots__ = ("what",)

    def __init__(self, what: str | Sequence[object]) -> None:
        asyncio.Future.__init__(self)
        self.what = what
