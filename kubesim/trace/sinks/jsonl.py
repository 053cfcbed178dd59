"""The trace for machines: one JSON object per line, in order of time."""

from __future__ import annotations

from typing import TextIO

from kubesim.golang.json import printable_json
from kubesim.trace.records import Record


class JsonLinesSink:
    """A sink that writes every record immediately."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def record(self, record: Record) -> None:
        self._out.write(record_line(record) + "\n")


def record_line(record: Record) -> str:
    """A record as JSON; its time always has six decimals."""
    content = record.to_json()
    del content["seq"], content["t"]
    rest = printable_json(content)
    return f'{{"seq": {record.seq}, "t": {record.t / 1_000_000:.6f}, {rest[1:]}'
