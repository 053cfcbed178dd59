"""Colours of the stepper for labels and errors, from the terminal's palette. Optional: no information depends on
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from textual.content import Content, Span

from kubesim.trace.stepping.panes import MARGIN

_LABEL = re.compile(r"( {0,2})([A-Za-z][\w.]*(?: in)?) +(?=\S)")
_BAD = re.compile(r"\b(?:Warning|[Ee]rrors?|[Ff]ailed|FAILED|BackOff|CrashLoopBackOff|OOMKilled|exited [1-9]\d*)\b")


def coloured(lines: Iterable[str]) -> Content:
    text = "\n".join(lines)
    return Content(text, list(_spans(text)))


def _spans(text: str) -> Iterator[Span]:
    start = 0
    for line in text.split("\n"):
        label = _LABEL.match(line)
        if label is not None and label.end() == MARGIN:
            yield Span(start + label.start(2), start + label.end(2), "ansi_cyan")
        for bad in _BAD.finditer(line):
            yield Span(start + bad.start(), start + bad.end(), "ansi_red")
        start += len(line) + 1
