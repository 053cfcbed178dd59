"""Words around a place in a run: the rule behind a record, a verdict, a walk from stop to stop."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from kubesim.errors import InputError
from kubesim.labs.answers import AnswerVerdict, find
from kubesim.labs.language import Question, StopItem
from kubesim.trace import records as r
from kubesim.trace.stepping import Stepper
from kubesim.trace.stepping.stepper import told

WIDTH = 78


def rule_behind(records: Sequence[r.Record], record: r.Record) -> r.Record | None:
    """The nearest decision that says why: the record, the plan of its sync, or one that led to it."""
    if record.why:
        return record
    stepper = Stepper(records)
    for cause in stepper.why(record.seq):
        if isinstance(cause, r.SyncBegin):
            stepper.place = cause.seq - 1
            plans = [each for each in stepper.follows() if isinstance(each, r.Actions) and each.seq <= record.seq]
            if plans:
                return plans[-1]
        if cause.why:
            return cause
    return None


def place(record: r.Record) -> str:
    return f"{record.t / 1_000_000:.3f}s, record #{record.seq}: {told(record)}"


def _behind(records: Sequence[r.Record], record: r.Record) -> Iterator[str]:
    rule = rule_behind(records, record)
    if rule is not None:
        number = "" if rule is record else f" (#{rule.seq})"
        yield from wrapped(f"{rule.why}{number}", "  because  ")
    ref = (rule or record).ref or record.ref
    if ref:
        yield f"  as in    {ref}"


def prediction_lines(records: Sequence[r.Record], question: Question, verdict: AnswerVerdict) -> list[str]:
    """A prediction beside the run, and the moment and rule at which they part."""
    lines = [f"Your prediction: {verdict.answer}. The run: {verdict.truth.text}."]
    if verdict.right:
        lines.append("They agree.")
        if verdict.parting is not None:
            lines += wrapped(place(verdict.parting), "  at       ")
            lines += _behind(records, verdict.parting)
    else:
        lines += _parting(records, verdict)
        lines += wrapped(verdict.hint, "  think    ")
    return [*lines, *wrapped(question.rule, "  rule     ")]


def _parting(records: Sequence[r.Record], verdict: AnswerVerdict) -> Iterator[str]:
    if verdict.expected_at is not None:
        stepper = Stepper(records)
        last = [n for n, record in enumerate(records) if record.t <= verdict.expected_at]
        stepper.place = last[-1] if last else 0
        yield f"They part at {verdict.expected_at / 1_000_000:.3f}s, where you expected it and the kubelet still waits:"
        for due in stepper.due()[:3]:
            moment = "" if due.t is None else f" at {due.t / 1_000_000:.3f}s"
            yield f"  due      {due.subject}: {due.text}{moment}"
        if verdict.parting is not None:
            yield from wrapped(place(verdict.parting), "  comes at ")
            yield from _behind(records, verdict.parting)
    elif verdict.parting is not None:
        yield from wrapped(place(verdict.parting), "They part at ")
        yield from _behind(records, verdict.parting)
    else:
        yield f"They part nowhere in particular: in {len(records)} records it never happens."


def answer_lines(records: Sequence[r.Record], question: Question, verdict: AnswerVerdict) -> list[str]:
    """A right answer is shown in the run; a wrong one gets its hint, and the run is not given away."""
    if not verdict.right:
        return wrapped(verdict.hint, f"No, not {verdict.answer}. ", "  ")
    lines = [f"Yes: {verdict.truth.text}."]
    if verdict.parting is not None:
        lines += wrapped(place(verdict.parting), "  at       ")
        lines += _behind(records, verdict.parting)
    return [*lines, *wrapped(question.rule, "  rule     ")]


def wrapped(text: str, label: str, indent: str | None = None) -> list[str]:
    """A label and the text behind it, in lines of a terminal; `indent` is for the further lines."""
    behind = " " * len(label) if indent is None else indent
    return textwrap.wrap(" ".join(text.split()), WIDTH, initial_indent=label, subsequent_indent=behind)


# -- walks ------------------------------------------------------------------------------------------------------


def walk_lines(records: Sequence[r.Record], stops: Sequence[StopItem], source: str) -> list[str]:
    """Stop by stop: what is said there, and what the run shows."""
    lines: list[str] = []
    for number, stop in enumerate(stops, start=1):
        record = stop_record(records, stop, source)
        title = f" {stop.title}" if stop.title else ""
        lines += [f"{number}.{title}" if title else f"{number}. {told(record)}"]
        lines += textwrap.wrap(" ".join(stop.say.split()), WIDTH, initial_indent="   ", subsequent_indent="   ")
        lines += ["", *(f"     {line}" for line in shown(records, record)), ""]
    return lines


def stop_record(records: Sequence[r.Record], stop: StopItem, source: str) -> r.Record:
    record = find(records, stop.at)
    if record is None:
        raise InputError(source, f"the run never comes to the stop {stop.at.on!r}")
    return record


def shown(records: Sequence[r.Record], record: r.Record) -> list[str]:
    """A record with its reason and the upstream function."""
    lines = textwrap.wrap(f"{record.t / 1_000_000:.3f}s  #{record.seq}  {told(record)}", WIDTH - 5)
    if record.why:
        lines += textwrap.wrap(record.why, WIDTH - 5, initial_indent="  because ", subsequent_indent="          ")
    if record.ref:
        lines.append(f"  as in   {record.ref}")
    return lines
