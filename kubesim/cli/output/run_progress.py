"""How far a long run is: virtual and real time, and the share that is done where the duration is known.

On a terminal that is a line at the bottom, which what is printed pushes down; elsewhere a line on stderr every half
minute. A run that takes no time shows nothing.
"""

from __future__ import annotations

import io
from typing import TextIO, cast

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.cli.output.progress import CLEAR
from kubesim.clock.stopwatch import Stopwatch
from kubesim.golang.text import duration

FIRST_S, PERIOD_S = 1.0, 0.5  # on a terminal: from when on, and how often
PLAIN_PERIOD_S = 30.0


class RunProgress:
    """The progress of one run after the other."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._terminal = out.isatty()
        self._shown = False
        self.begin(None)

    def begin(self, limit: int | None) -> None:
        """A run that ends after this many microseconds; None: when everything is idle."""
        self._limit = limit
        self._watch = Stopwatch()
        self._next = FIRST_S if self._terminal else PLAIN_PERIOD_S

    def advance(self, elapsed: int) -> None:
        """So much virtual time has passed."""
        real = self._watch.seconds()
        if real < self._next:
            return
        self._next = real + (PERIOD_S if self._terminal else PLAIN_PERIOD_S)
        text = self._text(elapsed, real)
        self._out.write(CLEAR + text if self._terminal else f"kubesim: {text}\n")
        self._out.flush()
        self._shown = self._terminal

    def _text(self, elapsed: int, real: float) -> str:
        unit = SECOND if elapsed > SECOND else MILLISECOND
        done = f"{duration(elapsed // unit * unit)} on the node"
        if self._limit is not None:
            done += f" of {duration(self._limit)} ({100 * elapsed / self._limit:.1f}%)"
        return f"{done} in {duration(int(real) * SECOND)}; stop with Ctrl-C"

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            self._shown = False
            self._out.write(CLEAR)
            self._out.flush()

    def above(self, out: TextIO) -> TextIO:
        """A stream that prints above the line."""
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
