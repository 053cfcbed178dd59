"""A future that names what it waits for, so that the error of a deadlock can name it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Awaited(asyncio.Future[T]):
    """`await Awaited("the end of the container")`, or for the first of several things."""

    __slots__ = ("what",)

    def __init__(self, what: str | Sequence[object]) -> None:
        asyncio.Future.__init__(self)
        self.what = what
