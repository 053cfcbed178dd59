"""The stepper without a terminal: reads commands line by line and prints each screen, for scripts."""

from __future__ import annotations

import shutil
from typing import TextIO

from kubesim.trace.stepping.session import PROMPTS, StepSession


def line_by_line(session: StepSession, given: TextIO, out: TextIO) -> None:
    """Run the stepper. A line is a sequence of keys; `g 120`, `/text`, `f web` use the rest of it; an empty line goes
    to the next decision.
    """
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
