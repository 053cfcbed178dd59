"""The position of a reader in a growing run, which the reader sends with its next request."""

from __future__ import annotations

import re

from kubesim.values import value_object

_FORM = re.compile(r"\d{1,18}(?:\.\d{1,18}){4}", re.ASCII)


@value_object
class Mark:
    """The number and time of the last record read, and how many records, texts and lane changes the reader has."""

    seq: int = 0
    t: int = 0
    records: int = 0
    strings: int = 1  # the empty text
    lanes: int = 0

    def __str__(self) -> str:
        return f"{self.seq}.{self.t}.{self.records}.{self.strings}.{self.lanes}"


def parse_mark(text: str) -> Mark | None:
    """Parse a mark; None if the text is not a mark."""
    return Mark(*map(int, text.split("."))) if _FORM.fullmatch(text) else None
