"""`Failure`: a failed expectation or step of a run, with all that a reader needs to find out why."""

from __future__ import annotations

from typing import Any, Literal

from kubesim.values import value_object

FailureKind = Literal["expectation", "step", "invariant", "convergence", "deadlock"]


@value_object
class Failure:
    """A failed expectation or step. `text` is what was expected, `why` is what was seen instead and when."""

    kind: FailureKind
    text: str  # `pod web must have phase Running by 20s`
    why: str  # `the phase is Pending at 20s`
    file: str = ""
    line: int = 0  # the line of the expectation or step; 0: it is in no file
    pod: str = ""  # namespace/name of the pod concerned, if any
    at: int | None = None  # the time of the decision, in microseconds after the start
    closest: str = ""  # the closest observation
    records: tuple[str, ...] = ()  # the last lines of the pod's timeline
    log: tuple[str, ...] = ()  # the last lines of the pod's log

    @property
    def where(self) -> str:
        """`FILE:LINE: `; empty if it is in no file."""
        return f"{self.file}:{self.line}: " if self.line else ""

    @property
    def sentence(self) -> str:
        """`TEXT, but WHY` of an expectation, otherwise `TEXT: WHY`."""
        return f"{self.text}{', but ' if self.kind in ('expectation', 'convergence') else ': '}{self.why}"

    def lines(self) -> list[str]:
        """`FILE:LINE: SENTENCE`, and indented details."""
        lines = [f"{self.where}{self.sentence}"]
        if self.closest:
            lines.append(f"  closest: {self.closest}")
        lines += [f"  {line}" for line in self.records]
        return lines + [f"  {line}" for line in self.log]

    def to_json(self) -> dict[str, Any]:
        shown = {
            "kind": self.kind,
            "text": self.text,
            "why": self.why,
            "file": self.file,
            "line": self.line,
            "pod": self.pod,
            "at": None if self.at is None else self.at / 1_000_000,
            "closest": self.closest,
            "records": list(self.records),
            "log": list(self.log),
        }
        return {key: value for key, value in shown.items() if value or key in ("at", "text", "why")}
