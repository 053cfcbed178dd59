"""The stepper in a terminal: a key, a screen.

On a terminal keys are taken one by one, on the alternate screen, which is drawn again when its size changes; otherwise
commands are read line by line and each screen is printed, so that a script can drive it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from kubesim.trace.records import Record
from kubesim.trace.stepping import RecordCondition, Stepper
from kubesim.trace.stepping.colours import painted
from kubesim.trace.stepping.session import PROMPTS, StepSession

_ENTER_SCREEN, _LEAVE_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_CLEAR = "\x1b[H\x1b[2J"
_ESCAPE = "\x1b"
# What keyboards send for keys that are no characters.
_SEQUENCES = {
    "\x1b[C": "n", "\x1b[B": "n", "\x1b[D": "p", "\x1b[A": "p", "\x1bOC": "n", "\x1bOB": "n", "\x1bOD": "p",
    "\x1bOA": "p", "\x1b[H": "home", "\x1b[1~": "home", "\x1b[7~": "home", "\x1bOH": "home", "\x1b[F": "end",
    "\x1b[4~": "end", "\x1b[8~": "end", "\x1bOF": "end", "\x1b[5~": "page up", "\x1b[6~": "page down",
}  # fmt: skip
_REDRAW = "redraw"


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


def _on_terminal(session: StepSession, given: TextIO, out: TextIO) -> None:
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    with _alternate_screen(given, out), _resizes() as resized:
        for key in _keys(given, resized):
            if key != _REDRAW and not session.key(key):
                return
            size = shutil.get_terminal_size((80, 24))
            rows = session.screen(size.columns, size.lines)
            out.write(_CLEAR + "\n".join(painted(rows, size.columns) if colour else rows))
            out.flush()


@contextmanager
def _alternate_screen(given: TextIO, out: TextIO) -> Iterator[None]:
    """The terminal is as before when the stepper is left, however that happens."""
    import termios
    import tty

    before = termios.tcgetattr(given)
    tty.setcbreak(given)
    out.write(_ENTER_SCREEN)
    try:
        yield
    finally:
        termios.tcsetattr(given, termios.TCSADRAIN, before)
        out.write(_LEAVE_SCREEN)
        out.flush()


@contextmanager
def _resizes() -> Iterator[int]:
    """A file descriptor that has something to read when the terminal's size has changed, or after a pause."""
    import signal

    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    woken = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    former = {name: signal.signal(name, lambda *_: None) for name in (signal.SIGWINCH, signal.SIGCONT)}
    try:
        yield reader
    finally:
        for name, handler in former.items():
            signal.signal(name, handler)
        signal.set_wakeup_fd(woken)
        os.close(reader)
        os.close(writer)


def _keys(given: TextIO, resized: int) -> Iterator[str]:
    """A redraw first, for the first screen."""
    import select

    yield _REDRAW
    while True:
        ready, _, _ = select.select([given.fileno(), resized], [], [])
        if resized in ready:
            os.read(resized, 512)
            yield _REDRAW
        if given.fileno() in ready:
            data = os.read(given.fileno(), 64)
            if not data or data == b"\x04":
                return
            yield from keys_of(data.decode("utf-8", "ignore"))


def keys_of(text: str) -> Iterator[str]:
    """The keys that a terminal sent immediately."""
    while text:
        sequence = next((each for each in _SEQUENCES if text.startswith(each)), "")
        if sequence:
            yield _SEQUENCES[sequence]
        elif text[0] == _ESCAPE:
            yield "escape"
            text = "" if text[1:2] in ("[", "O") else text  # a sequence that nothing is known of is no text
        else:
            yield text[0].replace("\r", "\n")
        text = text[len(sequence) or 1 :]


def _line_by_line(session: StepSession, given: TextIO, out: TextIO) -> None:
    """A line is a row of keys; `g 120`, `/text`, `f web` take the rest of it; an empty line is the next decision."""
    size = shutil.get_terminal_size((80, 24))
    out.write("\n".join(session.screen(size.columns, size.lines)) + "\n")
    for line in given:
        text = line.rstrip("\n")
        keys = [*text, "\n"] if text[:1] in PROMPTS else list(text) or ["\n"]
        for key in keys:
            if not session.key(key):
                return
        out.write("\n" + "\n".join(session.screen(size.columns, size.lines)) + "\n")
