"""How far the reader of a growing run has read: what it sends with its next request."""

from __future__ import annotations

import re

from kubesim.values import value_object

_FORM = re.compile(r"\d{1,18}(?:\.\d{1,18}){4}", re.ASCII)


@value_object
class Mark:
    """The last record that was seen and the time of it; how many records, texts and changes of lanes the
    reader has."""

    seq: int = 0
    t: int = 0
    records: int = 0
    strings: int = 1  # the empty text
    lanes: int = 0

    def __str__(self) -> str:
        return f"{self.seq}.{self.t}.{self.records}.{self.strings}.{self.lanes}"


def parse_mark(text: str) -> Mark | None:
    """None: it is none."""
    return Mark(*map(int, text.split("."))) if _FORM.fullmatch(text) else None
