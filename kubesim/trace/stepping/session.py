"""The effect of each key of the stepper. A terminal, a script and a test use the same object.

Keys are characters, or the names `left`, `right`, `up`, `down`, `home`, `end`, `escape`, `page up` and `page down`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kubesim.errors import UsageError
from kubesim.golang.durations import parse_duration
from kubesim.trace.compare.first import differing_fields
from kubesim.trace.stepping.conditions import RecordCondition
from kubesim.trace.stepping.filters import RecordFilter
from kubesim.trace.stepping.playback import Playback
from kubesim.trace.stepping.screen import head, page_lines, render
from kubesim.trace.stepping.stepper import Stepper

_VIEWS = {"w": "why", "x": "next", "s": "node", "a": "network", "l": "logs", "?": "help"}
_ENTER, _ERASE = ("\n", "\r"), ("\x7f", "\b")
_FORWARD = ("n", " ", "\n", "right", "down", "page down")
_BACK = ("p", "left", "up", "page up")
# Keys that prompt for a line of text.
PROMPTS = {
    "g": "go to (a number or a time)",
    "/": "search",
    "\\": "search backwards",
    "f": "filter (web, pod=NAME, node=NAME; empty: all)",
    "B": "break at (a condition, such as pleg.event ContainerDied)",
    "i": "inject now (kill: {pod: web}, or operation: CreateContainer, error: text)",
}


class Injections(Protocol):
    """Repeats the run with further steps and faults; raises UsageError without changing anything."""

    def add(self, text: str, t: int) -> Stepper: ...
    def remove(self) -> Stepper: ...


class StepSession:
    """The state of the stepper's screen; `key` returns False when the user quits.

    `key` never repeats a run, because that takes time: `requested_run` stores the request, and the caller runs `fulfil`
    where waiting is possible.
    """

    def __init__(self, stepper: Stepper, title: str, injections: Injections | None = None) -> None:
        self.stepper = stepper
        self.view = "step"
        self.message = ""
        self.playback = Playback()
        self.requested_run: Callable[[], Stepper] | None = None
        self._follows = False
        self._newest = 0  # the index of the last record that was followed
        self._injections = injections
        self._title = title
        self._page = 0
        self._prompt = ""  # the key whose prompt is open; empty: none
        self._typed = ""
        self._searched = ""

    # -- what is shown ------------------------------------------------------------------------------------------

    def screen(self, width: int, height: int) -> list[str]:
        """The complete screen as lines of text."""
        return render(self.stepper, self.view, self.title, width, height, page=self._page, message=self.footer)

    @property
    def title(self) -> str:
        shown = self.stepper.filter
        return self._title + (f", only {shown.text}" if shown is not None else "") + self.playback.text

    @property
    def footer(self) -> str:
        """The open prompt or a message; empty: the caller may show the keys."""
        return f"{PROMPTS[self._prompt]}: {self._typed}" if self._prompt else self.message

    def head(self, width: int) -> str:
        return head(self.stepper, self.title, width)

    def page(self, width: int, height: int) -> list[str]:
        """The current page of a view other than `step`."""
        return page_lines(self.stepper, self.view, width, height, self._page)

    # -- keys ---------------------------------------------------------------------------------------------------

    def key(self, key: str) -> bool:
        self.message = ""
        if self._prompt:
            self._type(key)
        elif key == "q":
            return False
        elif key in PROMPTS:
            self._prompt, self._typed = key, ""
        elif key in _VIEWS:
            self._show("step" if self.view == _VIEWS[key] else _VIEWS[key])
        elif self.view == "step":
            self._move(key)
        elif key in _FORWARD:
            self._page += 1
        elif key in _BACK:
            self._page = max(0, self._page - 1)
        else:
            self._show("step")
        return True

    def _show(self, view: str) -> None:
        """Change the view, beginning at its first page."""
        self.view, self._page = view, 0

    def _move(self, key: str) -> None:
        if key == "escape":
            return
        if key in ("r", "+", "-"):
            self.message = self.playback.key(key, self.stepper)
            return
        self.playback.stop()
        if key == "X":
            self.stepper.breaks = ()
            self.message = "all breaks are removed"
        elif key == "I":
            self._request_run(lambda injections: injections.remove())
        else:
            move, edge = self._moves().get(key, (None, f"no such key: {key!r}; ? shows the keys"))
            if move is None or not move():
                self.message = edge

    def _moves(self) -> dict[str, tuple[Callable[[], bool], str]]:
        """The move of each key, with the message if nothing is in that direction."""
        stepper = self.stepper
        forward, back = stepper.forward, stepper.back
        last, first = "this is the last decision of the run", "this is the first decision of the run"
        return {
            **dict.fromkeys(_FORWARD, (forward, last)),
            **dict.fromkeys(_BACK, (back, first)),
            "N": (lambda: forward(every_record=True), "this is the last record of the run"),
            "P": (lambda: back(every_record=True), "this is the first record of the run"),
            "c": (stepper.go_on, self._no_break("no further")),
            "b": (stepper.go_back, self._no_break("no earlier")),
            **dict.fromkeys(("home", "^"), (stepper.go_first, "this is the first record of the run")),
            **dict.fromkeys(("end", "$"), (self._go_last, "this is the last record of the run")),
        }

    def _go_last(self) -> bool:
        moved = self.stepper.go_last()
        self._newest = self.stepper.position
        return moved

    def _no_break(self, which: str) -> str:
        return f"{which} break" if self.stepper.breaks else "no break is set; B sets one"

    # -- time that passes ---------------------------------------------------------------------------------------

    def passed(self, elapsed: int) -> None:
        """Advance the playback by `elapsed` microseconds of real time."""
        if self.playback.playing and self.view == "step" and not self._prompt:
            self.message = self.playback.passed(elapsed, self.stepper)

    def follow(self) -> None:
        """Follow a trace that grows: the position stays at the newest record until the user moves away, and again once
        the user is back at the end.
        """
        self._follows = True
        self.grew()

    def grew(self) -> None:
        """React to records that may have been added."""
        stepper = self.stepper
        if self._follows and stepper.position == self._newest:
            stepper.go_last()
            self._newest = stepper.position

    # -- typing -------------------------------------------------------------------------------------------------

    def _type(self, key: str) -> None:
        if key == "escape":
            self._prompt = ""
        elif key in _ERASE:
            self._typed = self._typed[:-1]
        elif key in _ENTER:
            prompt, self._prompt = self._prompt, ""
            try:
                self._entered(prompt, self._typed.strip())
            except (UsageError, ValueError) as error:
                self.message = str(error)
        elif len(key) == 1:
            self._typed += key

    def _entered(self, prompt: str, text: str) -> None:
        if prompt == "g":
            self._go_to(text)
        elif prompt == "f":
            self._filter(text)
        elif prompt == "B":
            self.stepper.breaks = (*self.stepper.breaks, RecordCondition.parse(text))
            self.message = f"break at {text}: c continues to the next one"
        elif prompt == "i":
            self._inject(text)
        else:
            self._search(text, back=prompt == "\\")
        self._show("step")

    def _go_to(self, text: str) -> None:
        if not text.isdigit():
            self.stepper.go_to_time(parse_duration(text))
        elif not self.stepper.go_to(int(text)):
            self.message = f"there is no record {text}; the last one is {len(self.stepper.records)}"

    def _filter(self, text: str) -> None:
        if not text:
            self.stepper.filter = None
            return
        before, self.stepper.filter = self.stepper.filter, RecordFilter.parse(text)
        if not self.stepper.go_to_shown():
            self.stepper.filter = before
            self.message = f"no record of {text}"

    def _search(self, text: str, *, back: bool) -> None:
        """Search for a text; without one, for the last text again."""
        self._searched = text or self._searched
        if not self._searched:
            self.message = "nothing to search for"
        elif not self.stepper.search(self._searched, back=back):
            self.message = f"{self._searched!r} is not in any {'earlier' if back else 'later'} record"

    # -- faults -------------------------------------------------------------------------------------------------

    def _inject(self, text: str) -> None:
        if not text:
            self.message = "nothing to inject"
        else:
            moment = self.stepper.here.t
            self._request_run(lambda injections: injections.add(text, moment))

    def _request_run(self, play: Callable[[Injections], Stepper]) -> None:
        injections = self._injections
        if injections is None:
            self.message = "nothing can be injected here: this is not the run of a scenario file"
        else:
            self.requested_run = lambda: play(injections)

    def fulfil(self) -> None:
        """Repeat the run if requested, and continue at the same position."""
        requested_run, self.requested_run = self.requested_run, None
        if requested_run is None:
            return
        try:
            changed = requested_run()
        except UsageError as error:
            self.message = str(error)
            return
        before, self.stepper = self.stepper, changed
        changed.breaks, changed.filter = before.breaks, before.filter
        changed.has_several_nodes = before.has_several_nodes
        same = _common(before, changed)
        changed.position = min(before.position, len(changed.records) - 1)
        if same == len(changed.records) == len(before.records):
            self.message = "the run is the same as before"
        else:
            self.message = f"the run was played again: the same up to #{same}, other records follow"


def _common(one: Stepper, other: Stepper) -> int:
    """The number of leading records that are equal, apart from values from outside the simulation."""
    pairs = zip(one.records, other.records, strict=False)
    differ = (n for n, (a, b) in enumerate(pairs) if a.KIND != b.KIND or (a != b and differing_fields(a, b)))
    return next(differ, min(len(one.records), len(other.records)))
