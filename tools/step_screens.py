"""Drives the stepper through a pseudo-terminal of 80 columns and 24 rows and reads its screens.

`python -m tools.step_screens` writes the screens that the test compares with.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SCREENS = ROOT / "tests" / "cli" / "screens"
CLEAR = "\x1b[H\x1b[2J"
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
)
LAB = ["lab", "step", "--break-on", "cri.call StopContainer"]
LAB_KEYS = (("lab-1-stop", ""), ("lab-2-last-stop", "cc"), ("lab-3-no-further", "c"))


def screens(arguments: list[str], keys: tuple[tuple[str, str], ...], **environment: str) -> Iterator[tuple[str, str]]:
    """Each screen's name and its text; in the end `q` must end the program with 0."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-m", "kubesim", *arguments],
        stdin=terminal, stdout=terminal, stderr=subprocess.PIPE, cwd=ROOT, env={**inherited, **environment},
    )  # fmt: skip
    os.close(terminal)
    try:
        for name, typed in keys:
            # Keys of one screen go one by one: an escape sequence is a key of its own.
            parts = [typed] if typed.startswith("\x1b") else list(typed)
            shown = _frame(controller) if not parts else ""
            for part in parts:
                os.write(controller, part.encode())
                shown = _frame(controller)
            yield name, shown
        os.write(controller, b"q")
        assert process.wait(timeout=PATIENCE_S) == 0, process.stderr and process.stderr.read()
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()
        os.close(controller)


def _frame(controller: int) -> str:
    """One whole screen: everything after a clear, up to the last row."""
    text = ""
    while text.count("\r\n") < ROWS - 1 or text.endswith("\r\n"):
        ready, _, _ = select.select([controller], [], [], PATIENCE_S)
        assert ready, f"no screen came; so far {text!r}"
        text += os.read(controller, 65536).decode()
    assert text.startswith(CLEAR), text
    rows = text.removeprefix(CLEAR).split("\r\n")
    assert len(rows) == ROWS
    assert max(map(len, rows)) <= COLUMNS
    return "\n".join(rows) + "\n"


def main() -> None:
    SCREENS.mkdir(exist_ok=True)
    for name, text in screens(CRASH, CRASH_KEYS):
        (SCREENS / f"{name}.txt").write_text(text)


if __name__ == "__main__":
    main()
