"""Colours for a screen of the stepper, which is plain text: the head, labels, errors and the last row."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BOLD, _DIM, _REVERSE, _RED, _CYAN, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[7m", "\x1b[31m", "\x1b[36m", "\x1b[0m"
_LABEL = re.compile(r"(?P<space> {0,2})(?P<label>[A-Za-z#][\w.#]*(?: in)?)(?= {1,8}\S)")
_BAD = re.compile(r"\b(?:Warning|[Ee]rrors?|[Ff]ailed|BackOff|CrashLoopBackOff|OOMKilled|exited [1-9]\d*)\b")


def painted(rows: Sequence[str], width: int) -> list[str]:
    """The same rows; the colours add no information."""
    head, *body, last = rows
    return [f"{_REVERSE}{head.ljust(width)}{_RESET}", *map(_row, body), f"{_BOLD}{last}{_RESET}"]


def _row(row: str) -> str:
    if row and not row.strip("-"):
        return f"{_DIM}{row}{_RESET}"
    coloured = _BAD.sub(lambda found: f"{_RED}{found[0]}{_RESET}", row)
    label = _LABEL.match(coloured)
    if label is None:
        return coloured
    return f"{label['space']}{_CYAN}{label['label']}{_RESET}{coloured[label.end() :]}"
