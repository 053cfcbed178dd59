"""`docs/recording.svg` for the README: a terminal in which `kubesim run` prints its timeline.

Lines, colours and waits are those of a real run, with waits of at most a second. The picture is animated by CSS alone.
Readers who prefer reduced motion, and programs without CSS, see the last screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TextIO, cast
from xml.sax.saxutils import escape

from kubesim.app import run_scenario
from kubesim.scenario.load.loader import load_scenario
from kubesim.trace import Record
from kubesim.trace.sinks.console import ConsoleSink

ROOT = Path(__file__).parent.parent
SCENARIO = "scenarios/crashloop.yaml"
COMMAND = f"$ kubesim run {SCENARIO}"
END = 23 * 1_000_000  # maximum time shown
COLUMNS, ROWS = 100, 26
CHAR, LINE, MARGIN, BAR = 7.3, 17, 14, 30  # pixels; BAR: the title bar
BEGIN_S, SHORTEST_S, LONGEST_S, HOLD_S = 1.0, 0.06, 1.0, 5.0
_STYLES = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "34": "u", "35": "m", "36": "c"}
_CSS = """
text { font: 12px ui-monospace, SFMono-Regular, Menlo, "Liberation Mono", monospace; fill: #d5dbe3; white-space: pre; }
.b { font-weight: 600; fill: #ffffff; } .d { fill: #929ba6; } .r { fill: #ff8e86; } .g { fill: #6fd38a; }
.y { fill: #e8b55a; } .u { fill: #86b8ff; } .m { fill: #d9a3ff; font-weight: 600; } .c { fill: #6fcfd8; }
@media (prefers-reduced-motion: reduce) { * { animation: none !important; } }
"""


class _TimedLines:
    """The lines of a console with their times: a sink before the console, and the console's stream."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, str]] = []
        self._t = 0
        self._begun = ""

    def record(self, record: Record) -> None:
        self._t = record.t

    def write(self, text: str) -> int:
        *complete, self._begun = (self._begun + text).split("\n")
        self.lines += [(self._t, line) for line in complete]
        return len(text)


def recording() -> str:
    """The picture as SVG."""
    timed = _TimedLines()
    console = ConsoleSink(cast(TextIO, timed), width=COLUMNS, colour=True)
    run_scenario(load_scenario(str(ROOT / SCENARIO)), sinks=(timed, console))
    console.close()
    lines = [(0, COMMAND), *(line for line in timed.lines if line[0] < END)]
    return "\n".join(_drawn([text for _, text in lines], _moments([t for t, _ in lines]))) + "\n"


def _moments(times: list[int]) -> list[float]:
    """When each line appears, in seconds; the command is visible from the start."""
    found = [0.0, BEGIN_S]
    for before, t in pairwise(times[1:]):
        found.append(found[-1] + min(max((t - before) / 1_000_000, SHORTEST_S), LONGEST_S))
    return found


def _drawn(lines: list[str], moments: list[float]) -> Iterator[str]:
    whole = moments[-1] + HOLD_S
    width, height = COLUMNS * CHAR + 2 * MARGIN, ROWS * LINE + 2 * MARGIN + BAR
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" role="img">'
    yield f"<title>{escape(COMMAND[2:])}: what the kubelet does, line by line, each with its reason</title>"
    yield f"<style>{_CSS}{''.join(_keyframes(moments, whole))}</style>"
    yield f'<rect width="{width:g}" height="{height}" rx="8" fill="#10151c"/>'
    for number, colour in enumerate(("#ff6159", "#ffbd2e", "#28c941")):
        yield f'<circle cx="{20 + 18 * number}" cy="{BAR / 2 + 2:g}" r="5.5" fill="{colour}"/>'
    yield f'<clipPath id="screen"><rect y="{BAR + 8}" width="{width:g}" height="{height - BAR - 14}"/></clipPath>'
    yield '<g clip-path="url(#screen)"><g id="lines">'
    for number, line in enumerate(lines):
        y = BAR + MARGIN + LINE * number + 8
        yield f'<text id="l{number}" y="{y}">{"".join(_spans(line))}</text>'
    yield "</g></g></svg>"


def _spans(line: str) -> Iterator[str]:
    """Coloured spans of a line, each with its own column, as font widths differ."""
    column, styles = 0, ""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b["):
            codes = [code for code in part[2:-1].split(";") if code not in ("", "0")]
            styles = " ".join(_STYLES[code] for code in codes)
        elif part:
            blank = len(part) - len(part.lstrip(" "))
            text = escape(part[blank:])
            if text:
                kind = f' class="{styles}"' if styles else ""
                yield f'<tspan x="{MARGIN + (column + blank) * CHAR:g}"{kind}>{text}</tspan>'
            column += len(part)


def _keyframes(moments: list[float], whole: float) -> Iterator[str]:
    """Animation: each line appears at its time; from the last row on, all lines move up by one with each new line."""

    def share(seconds: float) -> str:
        return f"{100 * seconds / whole:.2f}%"

    for number, moment in enumerate(moments[1:], start=1):
        yield f"@keyframes k{number} {{ 0% {{ opacity: 0; }} {share(moment)} {{ opacity: 1; }} }}\n"
        yield f"#l{number} {{ animation: k{number} {whole:.2f}s step-end infinite; }}\n"
    moves = [f"{share(moment)} {{ transform: translateY({-LINE * number}px); }}" for number, moment in _moves(moments)]
    last = LINE * max(len(moments) - ROWS, 0)
    yield f"@keyframes up {{ 0% {{ transform: none; }} {' '.join(moves)} }}\n"
    yield f"#lines {{ transform: translateY({-last}px); animation: up {whole:.2f}s step-end infinite; }}\n"


def _moves(moments: list[float]) -> Iterator[tuple[int, float]]:
    return enumerate(moments[ROWS:], start=1)
