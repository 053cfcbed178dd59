"""`EffectSink`: prints fields without effect, each line once per command."""

from __future__ import annotations

from typing import TextIO

from kubesim.golang.text import printable
from kubesim.scenario.load.without_effect import PREFIXES
from kubesim.trace.records import Note, Record


class EffectSink:
    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lines: dict[str, None] = {}

    def record(self, record: Record) -> None:
        if record.__class__ is Note and record.text.startswith(PREFIXES) and record.text not in self._lines:
            self._lines[record.text] = None
            print(f"kubesim: {printable(record.text)}", file=self._out)
