"""Stored timelines: expected output of a run, beside its scenario or test, compared line by line."""

from __future__ import annotations

import difflib
import os

from kubesim.errors import InputError
from kubesim.scenario.ending.failure import Failure
from kubesim.scenario.load.text_files import read_text

MOST_LINES = 40  # lines shown of a difference
_CONTEXT = 2


def compare_snapshot(path: str, timeline: str) -> Failure | None:
    """The difference to the stored timeline; None if they are equal."""
    if not os.path.exists(path):
        return _differs(path, 0, "there is no stored timeline yet", ())
    stored = read_text(path, path)
    if stored == timeline:
        return None
    old, new = stored.splitlines(), timeline.splitlines()
    line = next((n for n, (a, b) in enumerate(zip(old, new, strict=False), 1) if a != b), min(len(old), len(new)) + 1)
    difference = list(difflib.unified_diff(old, new, "stored", "now", n=_CONTEXT, lineterm=""))
    if len(difference) > MOST_LINES:
        difference = [*difference[:MOST_LINES], f"... and {len(difference) - MOST_LINES} more lines"]
    return _differs(path, line, f"the first difference is in line {line}", tuple(difference))


def _differs(path: str, line: int, why: str, difference: tuple[str, ...]) -> Failure:
    return Failure("expectation", "the timeline must equal the stored one", why, path, line, records=difference)


def write_snapshot(path: str, timeline: str) -> None:
    """Write the file atomically: a reader sees the old or the new one."""
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            file.write(timeline)
        os.replace(f"{path}.new", path)
    except OSError as error:
        raise InputError(path, f"cannot be written: {error.strerror}") from None
