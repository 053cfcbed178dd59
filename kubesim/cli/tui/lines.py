"""The stepper without a terminal: commands are read line by line and each screen is printed, so that a script can drive
it."""

from __future__ import annotations

import shutil
from typing import TextIO

from kubesim.trace.stepping.session import PROMPTS, StepSession


def line_by_line(session: StepSession, given: TextIO, out: TextIO) -> None:
    """A line is a row of keys; `g 120`, `/text`, `f web` take the rest of it; an empty line is the next decision."""
    size = shutil.get_terminal_size((80, 24))
    out.write("\n".join(session.screen(size.columns, size.lines)) + "\n")
    for line in given:
        text = line.rstrip("\n")
        keys = [*text, "\n"] if text[:1] in PROMPTS else list(text) or ["\n"]
        for key in keys:
            if not session.key(key):
                return
            session.fulfil()
        out.write("\n" + "\n".join(session.screen(size.columns, size.lines)) + "\n")
