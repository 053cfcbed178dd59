"""The progress of a long run: virtual and real time, the completed share if the duration is known, and its pods.

On a terminal it is a three-line view below the output; elsewhere a line on stderr every half minute. A short run shows
nothing.
"""

from __future__ import annotations

import io
import shutil
from typing import TextIO, cast

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.cli.progress.corpora import CLEAR
from kubesim.cli.progress.run_counts import RunCounts
from kubesim.clock.stopwatch import Stopwatch
from kubesim.golang.text import duration
from kubesim.trace import Record

FIRST_S, PERIOD_S = 1.0, 0.5  # on a terminal: first delay and interval
PLAIN_PERIOD_S = 30.0
BAR = 10  # columns
STOP = "stop with Ctrl-C"
UP = "\x1b[A"


class RunProgress:
    """The progress of consecutive runs; also a trace sink. With `quiet` it prints no plain lines."""

    def __init__(self, out: TextIO, *, quiet: bool = False) -> None:
        self._out = out
        self._terminal = out.isatty()
        self._silent = quiet and not self._terminal
        self._shown = 0  # lines
        self.begin(None)

    def begin(self, *limits: int | None) -> None:
        """Start a run that ends after the smallest of these microseconds; None: when everything is idle."""
        self._limit = min((limit for limit in limits if limit is not None), default=None)
        self._watch = Stopwatch()
        self._counts = RunCounts()
        self._next = FIRST_S if self._terminal else PLAIN_PERIOD_S

    def record(self, record: Record) -> None:
        if not self._silent:
            self._counts.record(record)

    def advance(self, elapsed: int) -> None:
        """Report the elapsed virtual time."""
        real = self._watch.seconds()
        if real < self._next or self._silent:
            return
        self._next = real + (PERIOD_S if self._terminal else PLAIN_PERIOD_S)
        if self._terminal:
            self.clear()
            text = self._bar(elapsed) + self._text(elapsed, real)
            self._show([text, f"{self._counts.line()}; {STOP}", self._counts.last()])
        else:
            self._out.write(f"kubesim: {self._text(elapsed, real)}; {self._counts.line()}; {STOP}\n")
        self._out.flush()

    def _show(self, lines: list[str]) -> None:
        """Show the lines, each truncated to the terminal's width."""
        width = shutil.get_terminal_size().columns - 1
        shown = [line if len(line) <= width else line[: width - 1] + "…" for line in lines if line]
        self._out.write("\n".join(shown))
        self._shown = len(shown)

    def _bar(self, elapsed: int) -> str:
        if not self._limit:
            return ""
        done = min(BAR * elapsed // self._limit, BAR)
        return f"[{'#' * done}{'.' * (BAR - done)}] "

    def _text(self, elapsed: int, real: float) -> str:
        unit = SECOND if elapsed > SECOND else MILLISECOND
        done = f"{duration(elapsed // unit * unit)} on the node"
        rest = ""
        if self._limit:
            done += f" of {duration(self._limit)} ({100 * elapsed / self._limit:.1f}%)"
            if 0 < elapsed < self._limit:
                rest = f", about {duration(int(real * (self._limit / elapsed - 1)) * SECOND)} left"
        return f"{done} in {duration(int(real) * SECOND)}{rest}"

    def clear(self) -> None:
        """Remove the view."""
        if self._shown:
            self._out.write(CLEAR + (UP + CLEAR) * (self._shown - 1))
            self._out.flush()
            self._shown = 0

    def above(self, out: TextIO) -> TextIO:
        """A stream whose output appears above the view."""
        return cast(TextIO, _Above(out, self)) if self._terminal and out.isatty() else out


class _Above(io.TextIOBase):
    def __init__(self, out: TextIO, progress: RunProgress) -> None:
        self._stream = out
        self._progress = progress

    def write(self, text: str) -> int:
        self._progress.clear()
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()
