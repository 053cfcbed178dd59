"""How far the reader of a growing run has read: what it sends with its next request."""

from __future__ import annotations

import re

from kubesim.values import value_object

_FORM = re.compile(r"\d{1,18}(?:\.\d{1,18}){3}", re.ASCII)


@value_object
class Mark:
    """The last record that was seen and the time of it; how many records and texts the reader has."""

    seq: int = 0
    t: int = 0
    records: int = 0
    strings: int = 1  # the empty text

    def __str__(self) -> str:
        return f"{self.seq}.{self.t}.{self.records}.{self.strings}"


def parse_mark(text: str) -> Mark | None:
    """None: it is none."""
    return Mark(*map(int, text.split("."))) if _FORM.fullmatch(text) else None
