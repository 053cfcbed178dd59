"""What the keys of the stepper do. A terminal, a script and a test drive the same object.

Keys are characters, and the names `home`, `end`, `escape`, `page up` and `page down`.
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.errors import UsageError
from kubesim.golang.durations import parse_duration
from kubesim.trace.stepping.conditions import RecordCondition
from kubesim.trace.stepping.filters import RecordFilter
from kubesim.trace.stepping.screen import render
from kubesim.trace.stepping.stepper import Stepper

_VIEWS = {"w": "why", "x": "next", "s": "node", "?": "help"}
_ENTER, _ERASE = ("\n", "\r"), ("\x7f", "\b")
_FORWARD = ("n", " ", "\n", "page down")
# Keys after which something is typed, up to a line break.
PROMPTS = {
    "g": "go to (a number or a time)",
    "/": "search",
    "\\": "search backwards",
    "f": "filter (web, pod=NAME, node=NAME; empty: all)",
    "B": "break at (a condition, such as pleg.event ContainerDied)",
}


class StepSession:
    """`key` answers False when the user has had enough."""

    def __init__(self, stepper: Stepper, title: str) -> None:
        self.stepper = stepper
        self._title = title
        self._view = "step"
        self._page = 0
        self._message = ""
        self._prompt = ""  # the key after which something is being typed
        self._typed = ""
        self._searched = ""

    def screen(self, width: int, height: int) -> list[str]:
        message = f"{PROMPTS[self._prompt]}: {self._typed}" if self._prompt else self._message
        shown = self.stepper.filter
        title = self._title if shown is None else f"{self._title}, only {shown.text}"
        return render(self.stepper, self._view, title, width, height, page=self._page, message=message)

    def key(self, key: str) -> bool:
        self._message = ""
        if self._prompt:
            self._type(key)
        elif key == "q":
            return False
        elif key in PROMPTS:
            self._prompt, self._typed = key, ""
        elif key in _VIEWS:
            self._show("step" if self._view == _VIEWS[key] else _VIEWS[key])
        elif self._view == "step":
            self._move(key)
        elif key in _FORWARD:
            self._page += 1
        elif key in ("p", "page up"):
            self._page = max(0, self._page - 1)
        else:
            self._show("step")
        return True

    def _show(self, view: str) -> None:
        """Another view begins with its first page."""
        self._view, self._page = view, 0

    def _move(self, key: str) -> None:
        if key == "escape":
            return
        if key == "X":
            self.stepper.breaks = ()
            self._message = "all breaks are removed"
            return
        move, edge = self._moves().get(key, (None, f"no such key: {key!r}; ? shows the keys"))
        if move is None or not move():
            self._message = edge

    def _moves(self) -> dict[str, tuple[Callable[[], bool], str]]:
        """What a key does, and what is said if there is nothing in that direction."""
        stepper = self.stepper
        forward, back = stepper.forward, stepper.back
        last, first = "this is the last decision of the run", "this is the first decision of the run"
        return {
            **dict.fromkeys(_FORWARD, (forward, last)),
            **dict.fromkeys(("p", "page up"), (back, first)),
            "N": (lambda: forward(every_record=True), "this is the last record of the run"),
            "P": (lambda: back(every_record=True), "this is the first record of the run"),
            "c": (stepper.go_on, self._no_break("no further")),
            "b": (stepper.go_back, self._no_break("no earlier")),
            **dict.fromkeys(("home", "^"), (stepper.go_first, "this is the first record of the run")),
            **dict.fromkeys(("end", "$"), (stepper.go_last, "this is the last record of the run")),
        }

    def _no_break(self, which: str) -> str:
        return f"{which} break" if self.stepper.breaks else "no break is set; B sets one"

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
                self._message = str(error)
        elif len(key) == 1:
            self._typed += key

    def _entered(self, prompt: str, text: str) -> None:
        if prompt == "g":
            self._go_to(text)
        elif prompt == "f":
            self._filter(text)
        elif prompt == "B":
            self.stepper.breaks = (*self.stepper.breaks, RecordCondition.parse(text))
            self._message = f"break at {text}: c continues to the next one"
        else:
            self._search(text, back=prompt == "\\")
        self._show("step")

    def _go_to(self, text: str) -> None:
        if not text.isdigit():
            self.stepper.go_to_time(parse_duration(text))
        elif not self.stepper.go_to(int(text)):
            self._message = f"there is no record {text}; the last one is {len(self.stepper.records)}"

    def _filter(self, text: str) -> None:
        if not text:
            self.stepper.filter = None
            return
        before, self.stepper.filter = self.stepper.filter, RecordFilter.parse(text)
        if not self.stepper.go_to_shown():
            self.stepper.filter = before
            self._message = f"no record of {text}"

    def _search(self, text: str, *, back: bool) -> None:
        """Without a text, for the last one again."""
        self._searched = text or self._searched
        if not self._searched:
            self._message = "nothing to search for"
        elif not self.stepper.search(self._searched, back=back):
            self._message = f"{self._searched!r} is not in any {'earlier' if back else 'later'} record"
