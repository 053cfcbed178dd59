"""The stepper in a pseudo-terminal, with the output that a real one would display."""

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
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
COLOUR = re.compile(r"\x1b\[(?:[\d;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[\d;]*)?m")
_SEQUENCE = re.compile(r"\x1b(?:\[[\d;?<>=$]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_]|[()][A-Z0-9])")
TIMEOUT_S = 60


class StepTerminal:
    """`until` reads new output up to a text, without escape sequences unless requested."""

    def __init__(self, arguments: list[str], rows: int = 24, columns: int = 80, **environment: str) -> None:
        self.controller, terminal = pty.openpty()
        self._set_size(rows, columns)
        self.before = termios.tcgetattr(terminal)
        inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kubesim", *arguments],
            stdin=terminal, stdout=terminal, stderr=subprocess.PIPE, cwd=ROOT,
            env={**inherited, "TERM": "xterm", **environment}, start_new_session=True,
        )  # fmt: skip
        self.terminal = terminal
        self._unread = ""

    def __enter__(self) -> StepTerminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()
        os.close(self.controller)
        os.close(self.terminal)

    def press(self, keys: str) -> None:
        os.write(self.controller, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        self._set_size(rows, columns)
        self.process.send_signal(signal.SIGWINCH)

    def until(self, text: str, *, raw: bool = False) -> str:
        written, self._unread = self._unread, ""
        while text not in (written if raw else _SEQUENCE.sub("", written)):
            ready, _, _ = select.select([self.controller], [], [], TIMEOUT_S)
            assert ready, f"{text!r} did not come; so far {written!r}"
            written += os.read(self.controller, 65536).decode(errors="replace")
        if raw:
            found, text, self._unread = written.partition(text)
            return found + text
        return _SEQUENCE.sub("", written)

    def ended(self) -> int:
        """The exit code. Checks that the terminal was restored."""
        self.until(LEAVE, raw=True)
        code = self.process.wait(timeout=TIMEOUT_S)
        assert termios.tcgetattr(self.terminal) == self.before
        return code

    def _set_size(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.controller, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
