"""Text about one record of a run: the rule behind it, a verdict on an answer, a walk."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from kubesim.errors import InputError
from kubesim.labs.answers import AnswerVerdict, Truth, find
from kubesim.labs.kubectl_view import kubectl_lines
from kubesim.labs.language import Question, StopItem
from kubesim.labs.playing import LessonRun
from kubesim.labs.waits import time_text
from kubesim.trace import records as r
from kubesim.trace.stepping import Stepper
from kubesim.trace.stepping.stepper import Due, record_text

WIDTH = 78


def rule_behind(records: Sequence[r.Record], record: r.Record) -> r.Record | None:
    """The nearest record with a reason: the record itself, the plan of its sync, or one of its causes."""
    if record.why:
        return record
    stepper = Stepper(records)
    for cause in stepper.why(record.seq):
        if isinstance(cause, r.SyncBegin):
            stepper.position = cause.seq - 1
            plans = [each for each in stepper.follows() if isinstance(each, r.Actions) and each.seq <= record.seq]
            if plans:
                return plans[-1]
        if cause.why:
            return cause
    return None


def moment_text(record: r.Record) -> str:
    return f"{time_text(record.t)}, record #{record.seq}: {record_text(record)}"


def _behind(records: Sequence[r.Record], record: r.Record) -> Iterator[str]:
    rule = rule_behind(records, record)
    if rule is not None:
        number = "" if rule is record else f" (#{rule.seq})"
        yield from wrapped(f"{rule.why}{number}", "  because  ")
    ref = (rule or record).ref or record.ref
    if ref:
        yield f"  as in    {ref}"


def prediction_lines(run: LessonRun, question: Question, verdict: AnswerVerdict, kubectl: str) -> list[str]:
    """A prediction beside the run: the first difference, and the rule."""
    lines = wrapped(f"{verdict.answer}. The run: {_truth_text(question, verdict.truth)}.", "Your prediction: ", "  ")
    if verdict.right:
        lines += ["Correct.", *_shown_at(run, verdict)]
    else:
        lines += ["Not quite.", *_difference(run.records, verdict), *wrapped(verdict.hint, "  hint     ")]
    return [*lines, *_kubectl(run, verdict, kubectl), *wrapped(question.rule, "  rule     ")]


def _truth_text(question: Question, truth: Truth) -> str:
    if truth.allowed is None or question.time is None:
        return truth.text
    return f"{truth.text} (with another seed: {truth.allowed.text})"


def _shown_at(run: LessonRun, verdict: AnswerVerdict) -> Iterator[str]:
    if verdict.difference is not None:
        yield from wrapped(moment_text(verdict.difference), "  at       ")
        yield from _behind(run.records, verdict.difference)


def _difference(records: Sequence[r.Record], verdict: AnswerVerdict) -> Iterator[str]:
    record, expected_at = verdict.difference, verdict.expected_at
    if expected_at is not None and record is not None:
        yield f"  At {time_text(expected_at)}, where you expected it, it has not happened yet."
        for due in _due_at(records, expected_at, record):
            moment = "" if due.t is None else f" at {time_text(due.t)}"
            yield f"  due      {due.subject}: {due.text}{moment}"
        yield from wrapped(moment_text(record), "  happens  ")
        yield from _behind(records, record)
    elif record is not None:
        yield from wrapped(moment_text(record), "  The first difference is at ", "           ")
        yield from _behind(records, record)
    else:
        yield f"  It never happens in the {len(records)} records of the run."


def _due_at(records: Sequence[r.Record], t: int, record: r.Record) -> list[Due]:
    """What the pod of a record waits for at a time, in words."""
    stepper = Stepper(records)
    earlier = [n for n, each in enumerate(records) if each.t <= t]
    stepper.position = earlier[-1] if earlier else 0
    pod = record.pod.removeprefix("default/")
    return [due for due in stepper.due() if due.subject.partition(":")[0] == pod and (due.t is None or due.t > t)][:3]


def answer_lines(run: LessonRun, question: Question, verdict: AnswerVerdict, kubectl: str) -> list[str]:
    """A right answer with the record that shows it, or a wrong one with its hint, which does not reveal the answer."""
    if not verdict.right:
        return wrapped(verdict.hint, f'Not quite: "{verdict.answer}" is wrong. ', "  ")
    lines = [f"Correct: {_truth_text(question, verdict.truth)}.", *_shown_at(run, verdict)]
    return [*lines, *_kubectl(run, verdict, kubectl), *wrapped(question.rule, "  rule     ")]


def _kubectl(run: LessonRun, verdict: AnswerVerdict, command: str) -> Iterator[str]:
    """The output of kubectl at that time."""
    record = verdict.difference
    t = verdict.expected_at if verdict.expected_at is not None else None if record is None else record.t
    if t is None or run.history is None:
        return
    yield f"  At {time_text(t)} `kubectl {command.partition(' -o ')[0]}` shows:"
    yield from (f"    {line}" for line in kubectl_lines(run.history, command, t))


def wrapped(text: str, label: str, indent: str | None = None) -> list[str]:
    """A label and its text, wrapped for a terminal; `indent` starts all lines but the first."""
    behind = " " * len(label) if indent is None else indent
    flat = " ".join(text.split())
    return textwrap.wrap(flat, WIDTH, initial_indent=label, subsequent_indent=behind, break_on_hyphens=False)


# -- walks ------------------------------------------------------------------------------------------------------


def walk_lines(records: Sequence[r.Record], stops: Sequence[StopItem], source: str) -> list[str]:
    """The text and the record of each stop."""
    lines: list[str] = []
    for number, stop in enumerate(stops, start=1):
        record = stop_record(records, stop, source)
        title = f" {stop.title}" if stop.title else ""
        lines += [f"{number}.{title}" if title else f"{number}. {record_text(record)}"]
        lines += textwrap.wrap(" ".join(stop.say.split()), WIDTH, initial_indent="   ", subsequent_indent="   ")
        lines += ["", *(f"     {line}" for line in shown(records, record)), ""]
    return lines


def stop_record(records: Sequence[r.Record], stop: StopItem, source: str) -> r.Record:
    record = find(records, stop.at)
    if record is None:
        raise InputError(source, f"the run has no record for the stop {stop.at.on!r}")
    return record


def shown(records: Sequence[r.Record], record: r.Record) -> list[str]:
    """A record with its reason and the upstream function."""
    lines = textwrap.wrap(f"{time_text(record.t)}  #{record.seq}  {record_text(record)}", WIDTH - 5)
    if record.why:
        lines += textwrap.wrap(record.why, WIDTH - 5, initial_indent="  because ", subsequent_indent="          ")
    if record.ref:
        lines.append(f"  as in   {record.ref}")
    return lines
