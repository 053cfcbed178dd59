"""Prints a statement as text, and as JSON."""

from __future__ import annotations

import textwrap
from typing import Any

from kubesim.api.timestamps import SECOND, format_time
from kubesim.attach.explain.statement import Cause, NextStep, Statement, Window
from kubesim.golang.text import duration, printable

WIDTH = 100
_LABEL = 8
_MAX_FACT = 240


def page(statement: Statement, width: int = WIDTH) -> str:
    """The statement as plain text; the first cause is what blocks the pod, the others are additional."""
    name = f"{statement.namespace}/{statement.name}" if statement.namespace else statement.name
    node = f" on node {statement.node}" if statement.node else ""
    lines = [
        printable(f"Pod {name}{node}: {statement.stage}"),
        f"as of {format_time(statement.as_of)}",
    ]
    for number, cause in enumerate(statement.causes):
        lines += ["", *_cause(cause, statement.as_of, width, number)]
    return "\n".join(lines) + "\n"


def _cause(cause: Cause, now: int, width: int, number: int) -> list[str]:
    lines = _entry("Now" if number == 0 else "Also", cause.says, width)
    lines += _entry("Rule", f"{cause.rule} [{cause.ref}]", width)
    for index, step in enumerate(cause.steps):
        lines += _entry("Next" if index == 0 else "", _step(step, now), width, bullet=True)
    for index, remedy in enumerate(cause.remedies):
        lines += _entry("Change" if index == 0 else "", remedy, width, bullet=True)
    for index, fact in enumerate(cause.facts):
        value = fact.value if len(fact.value) <= _MAX_FACT else fact.value[: _MAX_FACT - 3] + "..."
        lines += _entry("Seen" if index == 0 else "", f"{fact.field} = {value}", width, bullet=True)
    for index, text in enumerate(cause.unseen):
        lines += _entry("Unseen" if index == 0 else "", text, width, bullet=True)
    return lines


def _entry(label: str, text: str, width: int, bullet: bool = False) -> list[str]:
    first = f"{label:<{_LABEL}}" + ("- " if bullet else "")
    rest = " " * (_LABEL + (2 if bullet else 0))
    flat = printable(" ".join(text.split()))
    return textwrap.wrap(flat, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def _step(step: NextStep, now: int) -> str:
    when = window_text(step.window, now)
    because = f" ({step.because})" if step.because else ""
    sure = "" if step.certain else "possible: "
    return f"{sure}{step.what}{': ' + when if when else ''}{because}"


def window_text(window: Window | None, now: int) -> str:
    """A window in words: `between 12:00:10Z (in 5s) and 12:00:25Z (in 20s)`; a past window is "due"."""
    if window is None or (window.earliest is None and window.latest is None):
        return ""
    earliest, latest = window.earliest, window.latest
    if latest is None:
        assert earliest is not None
        return f"not before {_clock(earliest, now)}" if earliest > now else "any time from now on"
    if latest <= now < latest + SECOND:
        return f"due now ({format_time(latest)[11:]})"
    if latest <= now:
        return f"due since {_clock(latest, now)}"
    if earliest is None or earliest <= now:
        return f"by {_clock(latest, now)}"
    return f"between {_clock(earliest, now)} and {_clock(latest, now)}"


def _clock(moment: int, now: int) -> str:
    away = round((moment - now) / SECOND)
    apart = f"in {duration(away * SECOND)}" if away >= 0 else f"{duration(-away * SECOND)} ago"
    text = format_time(moment)
    return f"{text[11:]} ({apart})" if abs(moment - now) < 86_400 * SECOND else f"{text} ({apart})"


def as_json(statement: Statement) -> dict[str, Any]:
    """The statement as JSON; times are RFC 3339."""
    return {
        "pod": {"namespace": statement.namespace, "name": statement.name, "uid": statement.uid, "node": statement.node},
        "asOf": format_time(statement.as_of),
        "stage": statement.stage,
        "summary": statement.summary,
        "causes": [_cause_json(cause) for cause in statement.causes],
    }


def _cause_json(cause: Cause) -> dict[str, Any]:
    out: dict[str, Any] = {"code": cause.code, "says": cause.says, "rule": cause.rule, "ref": cause.ref}
    if cause.container:
        out["container"] = cause.container
    if cause.detail:
        out["detail"] = cause.detail
    out["next"] = [_step_json(step) for step in cause.steps]
    out["wouldChange"] = list(cause.remedies)
    out["seen"] = [{"field": fact.field, "value": fact.value} for fact in cause.facts]
    out["unseen"] = list(cause.unseen)
    return out


def _step_json(step: NextStep) -> dict[str, Any]:
    out: dict[str, Any] = {"change": step.change, "what": step.what, "certain": step.certain}
    if step.container:
        out["container"] = step.container
    if step.window is not None:
        if step.window.earliest is not None:
            out["notBefore"] = format_time(step.window.earliest)
        if step.window.latest is not None:
            out["notAfter"] = format_time(step.window.latest)
    if step.because:
        out["because"] = step.because
    return out
