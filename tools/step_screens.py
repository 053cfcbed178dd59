"""Drives the stepper through a pseudo-terminal of 80 columns and 24 rows and reads its screens.

`python -m tools.step_screens` writes the screens that the test compares with.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SCREENS = ROOT / "tests" / "cli" / "screens"
CLEAR = "\x1b[H\x1b[2J"
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
COLOUR = re.compile(r"\x1b\[\d+m")
ROWS, COLUMNS = 24, 80
PATIENCE_S = 60

CRASH = ["run", "--step", "--break-on", "pleg.event ContainerDied", "scenarios/crashloop.yaml"]

# Name of the screen, and the keys that lead to it from the one before.
CRASH_KEYS = (
    ("1-first-break", ""),
    ("2-next-decision", "n"),
    ("3-plan", "nnnn"),
    ("4-why", "w"),
    ("5-what-next", "wx"),
    ("6-back", "xp"),
    ("7-second-break", "c"),
    ("8-in-back-off", "nnnnnnn"),
    ("9-node", "s"),
    ("a-go-to-time", "sg20s\n"),
    ("b-no-such-key", "!"),
    ("c-help", "?"),
    ("d-every-record", "xxPP"),
    ("e-arrows", "\x1b[C"),
    ("f-search", "/back-off\n"),
    ("g-only-a-pod", "fcrash\n"),
    ("h-own-break", "Bprobe.result\n"),
    ("i-end", "\x1b[F"),
)
LAB = ["lab", "step", "--break-on", "cri.call StopContainer"]
LAB_KEYS = (("lab-1-stop", ""), ("lab-2-last-stop", "cc"), ("lab-3-no-further", "c"))


class StepTerminal:
    """The stepper in a pseudo-terminal. `press` and `resize` answer the screen that follows, as lines of text."""

    def __init__(self, arguments: list[str], **environment: str) -> None:
        self.rows, self.columns = ROWS, COLUMNS
        self.controller, terminal = pty.openpty()
        self._set_size(terminal)
        inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kubesim", *arguments],
            stdin=terminal, stdout=terminal, stderr=subprocess.PIPE, cwd=ROOT,
            env={**inherited, "TERM": "xterm", **environment}, start_new_session=True,
        )  # fmt: skip
        os.close(terminal)
        self.first = self._frame(ENTER + CLEAR)

    def __enter__(self) -> StepTerminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()
        os.close(self.controller)

    def press(self, keys: str) -> str:
        """Keys go one by one; an escape sequence is a key of its own."""
        shown = self.first
        for part in [keys] if keys.startswith("\x1b") else list(keys):
            os.write(self.controller, part.encode())
            shown = self._frame()
        return shown

    def resize(self, rows: int, columns: int) -> str:
        self.rows, self.columns = rows, columns
        self._set_size(self.controller)
        self.process.send_signal(signal.SIGWINCH)
        return self._frame()

    def quit(self) -> str:
        """What is written last; the program must end with 0."""
        os.write(self.controller, b"q")
        left = ""
        while not left.endswith(LEAVE):
            left += self._read(left)
        assert self.process.wait(timeout=PATIENCE_S) == 0, self.process.stderr and self.process.stderr.read()
        return left

    def _set_size(self, terminal: int) -> None:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, 0, 0))

    def _frame(self, begin: str = CLEAR) -> str:
        """One whole screen: everything after a clear, up to the last row."""
        text = ""
        while text.count("\r\n") < self.rows - 1 or text.endswith("\r\n"):
            text += self._read(text)
        assert text.startswith(begin), text
        rows = text.removeprefix(begin).split("\r\n")
        assert len(rows) == self.rows
        assert max(len(COLOUR.sub("", row)) for row in rows) <= self.columns
        return "\n".join(rows) + "\n"

    def _read(self, so_far: str) -> str:
        ready, _, _ = select.select([self.controller], [], [], PATIENCE_S)
        assert ready, f"no screen came; so far {so_far!r}"
        return os.read(self.controller, 65536).decode()


def screens(arguments: list[str], keys: tuple[tuple[str, str], ...], **environment: str) -> Iterator[tuple[str, str]]:
    """Each screen's name and its text, without colours; in the end `q` must end the program with 0."""
    with StepTerminal(arguments, NO_COLOR="1", **environment) as terminal:
        for name, typed in keys:
            yield name, terminal.press(typed)
        terminal.quit()


def main() -> None:
    SCREENS.mkdir(exist_ok=True)
    for name, text in screens(CRASH, CRASH_KEYS):
        (SCREENS / f"{name}.txt").write_text(text)


if __name__ == "__main__":
    main()
