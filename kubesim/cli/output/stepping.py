"""The stepper in a terminal: a key, a screen.

On a terminal keys are taken one by one and the screen is drawn over itself; otherwise commands are read line by line
and each screen is printed, so that a script can drive it.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

from kubesim.golang.durations import parse_duration
from kubesim.trace.records import Record
from kubesim.trace.stepping import RecordCondition, Stepper
from kubesim.trace.stepping.screen import render

_CLEAR = "\x1b[H\x1b[2J"
_VIEWS = {"w": "why", "x": "next", "s": "node", "?": "help"}


def step_through(
    records: Sequence[Record], title: str, breaks: Sequence[RecordCondition] = (), *, nodes: bool = False
) -> None:
    """Until the user quits. With breaks it begins at the first of them. With `nodes` every line names its node."""
    session = StepSession(Stepper(records, breaks), title)
    session.stepper.has_several_nodes = nodes
    if breaks and not session.stepper.stopped_by(session.stepper.here):
        session.key("c")
    if sys.stdin.isatty() and sys.stdout.isatty():
        _on_terminal(session, sys.stdin, sys.stdout)
    else:
        _line_by_line(session, sys.stdin, sys.stdout)


class StepSession:
    """What keys do. `key` answers False when the user has had enough."""

    def __init__(self, stepper: Stepper, title: str) -> None:
        self.stepper = stepper
        self._title = title
        self._view = "step"
        self._page = 0
        self._message = ""
        self._typed: str | None = None  # what was typed after `g`

    def screen(self, width: int, height: int) -> list[str]:
        message = self._message if self._typed is None else f"go to (a number or a time): {self._typed}"
        return render(self.stepper, self._view, self._title, width, height, page=self._page, message=message)

    def key(self, key: str) -> bool:
        self._message = ""
        if self._typed is not None:
            self._type(key)
            return True
        if key == "q":
            return False
        if key == "g":
            self._typed = ""
        elif key in _VIEWS:
            self._view, self._page = ("step" if self._view == _VIEWS[key] else _VIEWS[key]), 0
        elif self._view == "step":
            self._move(key)
        elif key in ("n", " ", "\n"):
            self._page += 1
        elif key == "p":
            self._page = max(0, self._page - 1)
        else:
            self._view = "step"
        return True

    def _move(self, key: str) -> None:
        stepper = self.stepper
        if key in ("n", " ", "\n"):
            moved, edge = stepper.forward(), "this is the last decision of the run"
        elif key == "p":
            moved, edge = stepper.back(), "this is the first decision of the run"
        elif key == "N":
            moved, edge = stepper.forward(every_record=True), "this is the last record of the run"
        elif key == "P":
            moved, edge = stepper.back(every_record=True), "this is the first record of the run"
        elif key == "c":
            moved, edge = stepper.go_on(), _no_break(stepper, "no further")
        elif key == "b":
            moved, edge = stepper.go_back(), _no_break(stepper, "no earlier")
        else:
            moved, edge = False, f"no such key: {key!r}; ? shows the keys"
        if not moved:
            self._message = edge

    def _type(self, key: str) -> None:
        assert self._typed is not None
        if key not in ("\n", "\r"):
            self._typed = self._typed[:-1] if key in ("\x7f", "\b") else self._typed + key
            return
        typed, self._typed = self._typed.strip(), None
        if typed.isdigit():
            if not self.stepper.go_to(int(typed)):
                self._message = f"there is no record {typed}; the last one is {len(self.stepper.records)}"
            return
        try:
            self.stepper.go_to_time(parse_duration(typed))
        except ValueError as error:
            self._message = str(error)


def _no_break(stepper: Stepper, which: str) -> str:
    return f"{which} break" if stepper.breaks else "no break is set; start with --break-on CONDITION"


def _on_terminal(session: StepSession, given: TextIO, out: TextIO) -> None:
    import termios
    import tty

    before = termios.tcgetattr(given)
    tty.setcbreak(given)
    try:
        for key in _keys(given):
            size = shutil.get_terminal_size((80, 24))
            if key is not None and not session.key(key):
                return
            out.write(_CLEAR + "\n".join(session.screen(size.columns, size.lines)))
            out.flush()
    finally:
        termios.tcsetattr(given, termios.TCSADRAIN, before)
        out.write("\n")


def _keys(given: TextIO) -> Iterator[str | None]:
    """None first, for the first screen. Arrow keys are `n` and `p`."""
    import os

    yield None
    while True:
        data = os.read(given.fileno(), 16)
        if not data or data == b"\x04":
            return
        if data in (b"\x1b[C", b"\x1b[B"):
            yield "n"
        elif data in (b"\x1b[D", b"\x1b[A"):
            yield "p"
        else:
            yield from data.decode("utf-8", "ignore").replace("\r", "\n")


def _line_by_line(session: StepSession, given: TextIO, out: TextIO) -> None:
    """A line is a row of keys; `g 120` and `g 10s` go to a place; an empty line is the next decision."""
    size = shutil.get_terminal_size((80, 24))
    out.write("\n".join(session.screen(size.columns, size.lines)) + "\n")
    for line in given:
        text = line.rstrip("\n")
        keys = [*text, "\n"] if text.startswith("g") else list(text) or ["\n"]
        for key in keys:
            if not session.key(key):
                return
        out.write("\n" + "\n".join(session.screen(size.columns, size.lines)) + "\n")
