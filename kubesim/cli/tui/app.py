"""The stepper as a full-screen Textual app: widgets show lines, and keys go to the session.

It makes no decisions: `StepSession` handles keys, `trace/stepping/panes.py` renders panes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.drivers.linux_driver import LinuxDriver
from textual.widget import Widget

from kubesim.cli.tui.colours import coloured
from kubesim.clock.stopwatch import Stopwatch
from kubesim.trace.stepping import panes
from kubesim.trace.stepping.screen import FOOTER, PAGE_FOOTER
from kubesim.trace.stepping.session import StepSession

_KEYS = {
    "enter": "\n", "space": " ", "backspace": "\x7f", "left": "left", "right": "right", "up": "up", "down": "down",
    "home": "home", "end": "end", "pageup": "page up", "pagedown": "page down", "escape": "escape",
}  # fmt: skip
_FRAME_S = 0.05
_STYLE = """
Screen { background: ansi_default; color: ansi_default; overflow: hidden; }
Pane { height: 1; width: 1fr; text-wrap: nowrap; background: ansi_default; color: ansi_default; }
#head { text-style: reverse; }
#footer { text-style: bold; }
#step, #page { height: 1fr; }
#step Pane { border-top: solid ansi_default; }
#decision { height: 7; }
#loop { height: 3; }
#middle { height: 1fr; }
#right { width: 2fr; border-left: solid ansi_default; }
#pods { width: 3fr; height: 1fr; }
#network { height: 4; }
#logs { height: 1fr; }
#next { height: 4; }
#records { display: none; height: 10; }
.-tall #records { display: block; }
.-tall #decision { height: 8; }
.-tall #network { height: 2fr; }
.-tall #logs { height: 3fr; }
.-low #loop { height: 2; }
.-low #decision { height: 5; }
.-low #next { height: 2; }
.-low #network { height: 1fr; }
"""
Lines = Callable[[int, int], Iterable[str]]


class Pane(Widget):
    """A widget that shows lines, fitted to its size."""

    def __init__(self, name: str, lines: Lines, title: str = "") -> None:
        super().__init__(id=name)
        self._lines = lines
        self.border_title = title or None

    def render(self) -> Content:
        width, height = self.size
        return coloured(panes.fitted(self._lines(width, height), width, height))


class StdoutDriver(LinuxDriver):
    """A Textual driver on stdout. Textual uses stderr by default, which may be redirected; the stepper has checked
    stdout.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        assert sys.__stdout__ is not None
        self._file = sys.__stdout__


class StepApp(App[None]):
    """The app. It ends when the user quits, or when the session requests another run. `is_timed`: playback runs without
    keys, and new records appear.
    """

    CSS = _STYLE
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [Binding("ctrl+c,ctrl+d,ctrl+q", "quit", priority=True)]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (24, "-usual"), (36, "-tall")]

    def __init__(self, session: StepSession, *, is_timed: bool = True, closes_after_s: float | None = None) -> None:
        if not os.environ.get("NO_COLOR"):
            os.environ.pop("NO_COLOR", None)  # an empty value has no effect (no-color.org), but Textual would use it
        super().__init__(driver_class=StdoutDriver, ansi_color=True)
        self.session = session
        self._is_timed = is_timed
        self._closes_after_s = closes_after_s
        self._stopwatch = Stopwatch()
        self._shown = self._moment()

    def compose(self) -> ComposeResult:
        session = self.session

        def stepping(lines: Callable[[StepSession, int, int], Iterable[str]]) -> Lines:
            return lambda width, height: lines(session, width, height)

        yield Pane("head", lambda width, _: [session.head(width)])
        with Vertical(id="step"):
            yield Pane("decision", stepping(_decision), "decision")
            yield Pane("loop", stepping(_loop), "sync loop")
            with Horizontal(id="middle"):
                yield Pane("pods", stepping(_pods), "pods")
                with Vertical(id="right"):
                    yield Pane("network", stepping(_network), "network")
                    yield Pane("logs", stepping(_logs), "logs")
            yield Pane("records", stepping(_records), "records")
            yield Pane("next", stepping(_next), "next")
        yield Pane("page", lambda width, height: session.page(width, height) if session.view != "step" else [])
        yield Pane("footer", lambda *_: [session.footer or (FOOTER if session.view == "step" else PAGE_FOOTER)])

    def on_mount(self) -> None:
        self.show()
        if self._is_timed:
            self.set_interval(_FRAME_S, self._frame)
        if self._closes_after_s is not None:
            self.set_timer(self._closes_after_s, self.exit)

    def show(self) -> None:
        """Redraw everything from the session."""
        self._shown = self._moment()
        is_step = self.session.view == "step"
        self.query_one("#step").display = is_step
        self.query_one("#page").display = not is_step
        for pane in self.query(Pane):
            pane.refresh()

    def on_key(self, event: events.Key) -> None:
        event.stop()
        key = _KEYS.get(event.key) or (event.character if event.is_printable else None)
        if key is not None:
            self._give(key)

    def on_paste(self, event: events.Paste) -> None:
        """Treat pasted text as typed."""
        for character in event.text:
            self._give(character)

    def _give(self, key: str) -> None:
        if not self.session.key(key) or self.session.requested_run is not None:
            self.exit()
        else:
            self.show()

    def _frame(self) -> None:
        elapsed = round(self._stopwatch.seconds() * 1_000_000)
        self._stopwatch = Stopwatch()
        self.passed(elapsed)

    def passed(self, elapsed: int) -> None:
        """Add elapsed microseconds."""
        self.session.passed(elapsed)
        self.session.grew()
        if self._moment() != self._shown:
            self.show()

    def _moment(self) -> tuple[int, int, str]:
        """Redraw the parts that change with time."""
        session = self.session
        return session.stepper.position, len(session.stepper.records), session.message


def _decision(session: StepSession, width: int, height: int) -> Iterable[str]:
    return panes.decision_lines(session.stepper, width)


def _loop(session: StepSession, width: int, height: int) -> Iterable[str]:
    return panes.channel_lines(session.stepper, session.stepper.picture)


def _pods(session: StepSession, width: int, height: int) -> Iterable[str]:
    return panes.pod_lines(session.stepper, session.stepper.picture)


def _network(session: StepSession, width: int, height: int) -> Iterable[str]:
    return panes.network_lines(session.stepper, session.stepper.picture)


def _logs(session: StepSession, width: int, height: int) -> Iterable[str]:
    return panes.log_lines(session.stepper, height)


def _records(session: StepSession, width: int, height: int) -> Iterable[str]:
    return panes.timeline_lines(session.stepper, height)


def _next(session: StepSession, width: int, height: int) -> Iterable[str]:
    return panes.next_lines(session.stepper, width)
