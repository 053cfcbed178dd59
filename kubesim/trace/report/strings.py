"""A table of texts, each stored once: records of a report contain indexes instead."""

from __future__ import annotations

from itertools import islice


class Strings:
    """Maps each text to its index. The empty text has index 0."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def __getitem__(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self._numbers)
        return number

    def after(self, count: int) -> list[str]:
        """The texts without the first `count`."""
        return list(islice(self._numbers, count, None))

    def __len__(self) -> int:
        return len(self._numbers)

    def all(self) -> list[str]:
        return list(self._numbers)
