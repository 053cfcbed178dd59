"""A future that says what it stands for, so that a deadlock can be told in words."""

from __future__ import annotations

import asyncio
from typing import TypeVar

T = TypeVar("T")


class Awaited(asyncio.Future[T]):
    """`await Awaited("the end of the container")`."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what
