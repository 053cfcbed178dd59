"""Layout of timeline lines for a given width: columns, wrapping, colours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from kubesim.golang.text import printable
from kubesim.trace.sinks.phrases import Phrase
from kubesim.values import value_object

_PART_WIDTH = 8
_NARROWEST_TEXT = 30
_PAUSE = 1_000_000
_GLUE = "\N{NO-BREAK SPACE}"
_DIM, _BOLD, _RESET = "\x1b[2m", "\x1b[1m", "\x1b[0m"
_PART_COLOURS = {
    "source": "\x1b[36m",
    "loop": "\x1b[36m",
    "worker": "\x1b[34m",
    "sync": "\x1b[34m",
    "decide": "\x1b[1;35m",
    "runtime": "\x1b[33m",
    "cni": "\x1b[33m",
    "pleg": "\x1b[36m",
    "probe": "\x1b[36m",
    "status": "\x1b[1m",
    "api": "\x1b[1m",
    "event": "\x1b[32m",
    "log": "\x1b[36m",
}
_TONE_COLOURS = {"plain": "", "good": "\x1b[32m", "warning": "\x1b[33m", "bad": "\x1b[31m"}


@value_object
class Line:
    """A line of the timeline. `mark` draws the bar of its sync; `seq` and `cause` are for a numbered timeline.

    A detail has no number: its `seq` is 0.
    """

    t: int
    subject: str
    phrase: Phrase
    mark: str = ""
    seq: int = 0
    cause: int | None = None
    ref: str = ""
    node: str = ""


class Layout:
    """Writes lines. Remembers the last time, to print each time once, and the width of pod names."""

    def __init__(self, out: TextIO, width: int, *, colour: bool, numbered: bool, nodes: bool = False) -> None:
        self._out = out
        self._width = width
        self._colour = colour
        self._numbered = numbered
        self._subject_width = 16
        self._node_width = 8 if nodes else 0  # no node column if there is only one node
        self._last: int | None = None

    def header(self) -> None:
        number = f"{'#':>5} {'cause':>6}  " if self._numbered else ""
        columns = f"{number}{'TIME':>8}  {'PART':<{_PART_WIDTH}} {self._node('NODE')}{'POD':<{self._subject_width}} "
        columns += "WHAT HAPPENED"
        self._out.write(self._styled(columns, _DIM) + "\n")

    def write(self, line: Line, *, apart: bool = False) -> None:
        """Write a line. `apart`: begin a paragraph if the time differs from the last line's, as after a pause."""
        if self._last is None:
            self.header()
        elif not self._numbered and line.t != self._last and (apart or line.t - self._last >= _PAUSE):
            self._out.write("\n")
        room, subject = max(self._subject_width, self._width // 4), printable(line.subject)
        self._subject_width = min(max(self._subject_width, len(subject)), room)
        time = f"{line.t / 1_000_000:8.3f}" if line.t != self._last else " " * 8
        self._last = line.t
        number = f"{line.seq or '':>5} {'' if line.cause is None else f'←{line.cause}':>6}  " if self._numbered else ""
        part = line.phrase.part
        if self._node_width:
            self._node_width = max(self._node_width, min(len(line.node), self._width // 6))
        node = self._node(line.node or "-")
        margin = " " * (len(number) + 8 + 2 + _PART_WIDTH + 1 + len(node) + self._subject_width + 1)
        first = (
            self._styled(number, _DIM)
            + self._styled(time, _BOLD)
            + "  "
            + self._styled(f"{part:<{_PART_WIDTH}}", _PART_COLOURS.get(part, ""))
            + f" {node}{_shortened(subject, self._subject_width):<{self._subject_width}} "
        )
        continued = {"┌ ": "│ ", "└ ": "  ", "─ ": "  "}.get(line.mark, line.mark)
        for n, text in enumerate(self._wrapped(line, len(margin))):
            self._out.write((first + line.mark if n == 0 else margin + continued + "  ") + text + "\n")

    def _node(self, name: str) -> str:
        """The column of the node, if there is one."""
        width = self._node_width
        return f"{_shortened(printable(name), width):<{width}} " if width else ""

    def _wrapped(self, line: Line, margin: int) -> list[str]:
        """The text as coloured words, filled into rows."""
        phrase = line.phrase
        room = max(_NARROWEST_TEXT, self._width - margin - len(line.mark))
        words = [(word, _TONE_COLOURS[phrase.tone]) for word in _words(phrase.text, room)]
        if phrase.reasons:
            words += [(word, _DIM) for word in _words("— " + "; ".join(phrase.reasons), room)]
        if line.ref:
            words += [(word, _DIM) for word in _words(f"[{line.ref}]", room)]
        rows: list[list[tuple[str, str]]] = [[]]
        used = 0
        for word, colour in words:
            # A continuation row is indented by two.
            if rows[-1] and used + 1 + len(word) > room - (2 if len(rows) > 1 else 0):
                rows.append([])
                used = -1
            rows[-1].append((word, colour))
            used += 1 + len(word) if len(rows[-1]) > 1 else len(word)
        return [self._joined(row) for row in rows]

    def _joined(self, row: list[tuple[str, str]]) -> str:
        out: list[str] = []
        start = 0
        for n in range(1, len(row) + 1):
            if n == len(row) or row[n][1] != row[start][1]:
                out.append(self._styled(" ".join(word for word, _ in row[start:n]), row[start][1]))
                start = n
        return " ".join(out)

    def _styled(self, text: str, style: str) -> str:
        return f"{style}{text}{_RESET}" if self._colour and style and text else text


def together(items: list[str]) -> str:
    """Items in a row; an item is not broken across lines if it fits on one."""
    return f"{_GLUE}· ".join(item.replace(" ", _GLUE) for item in items)


def _words(text: str, room: int) -> Iterator[str]:
    """Words that are not broken across lines, unless they are longer than a line."""
    for word in _printable(text).split(" "):
        if len(word) > room - 2:
            yield from word.split(_GLUE)
        else:
            yield word.replace(_GLUE, " ")


def _printable(text: str) -> str:
    """The text without terminal control characters; our own glue remains."""
    return text if text.isprintable() else _GLUE.join(map(printable, text.split(_GLUE)))


def _shortened(text: str, width: int) -> str:
    """A shortened name: it keeps the beginning and the end, because the end matters more than the middle."""
    if len(text) <= width:
        return text
    tail = (width - 1) * 2 // 3
    return text[: width - 1 - tail] + "…" + text[-tail:]
