"""The truth of a question, looked up in the trace of the run, and a learner's answer held against it.

Nothing here knows the right answers: a question says where to look, and the run tells. Pure functions over records.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from kubesim.errors import UsageError
from kubesim.golang.durations import parse_duration
from kubesim.golang.regexp import compile_regexp
from kubesim.golang.text import duration
from kubesim.labs.language import CountLookup, Moment, Question
from kubesim.trace.records import Record
from kubesim.trace.stepping import RecordCondition
from kubesim.trace.stepping.conditions import look_up
from kubesim.values import value_object

_YES, _NO = ("yes", "y", "true"), ("no", "n", "false")
MILLISECOND = 1000


class NoAnswer(UsageError):
    """The run does not have what a question asks for, or an answer cannot be read."""


@value_object
class Truth:
    """What the run says: the value, in words, and the records that show it (for an order: one for each item)."""

    value: Any
    text: str
    records: tuple[Record, ...] = ()
    origin: int = 0  # for a time: the moment from which it counts


@value_object
class AnswerVerdict:
    """`hint` is for a wrong answer; `parting` the record at which answer and run part, if there is one."""

    right: bool
    answer: str
    truth: Truth
    hint: str = ""
    parting: Record | None = None
    expected_at: int | None = None  # when the learner expected something that had not come by then


def find(records: Sequence[Record], moment: Moment) -> Record | None:
    """The record that a moment is about."""
    start = 0
    if moment.after is not None:
        earlier = find(records, moment.after)
        if earlier is None:
            return None
        start = earlier.seq
    condition = RecordCondition.parse(moment.on)
    found = [record for record in records[start:] if condition.matches(record)]
    place = moment.nth - 1 if moment.nth > 0 else moment.nth
    try:
        return found[place]
    except IndexError:
        return None


def look_up_truth(records: Sequence[Record], question: Question) -> Truth:
    """Raises NoAnswer if the run does not have what is asked for."""
    if question.time is not None:
        at = _found(records, question.time.at)
        since = None if question.time.since is None else _found(records, question.time.since)
        origin = 0 if since is None else since.t
        return Truth(at.t - origin, _seconds(at.t - origin), (at,), origin)
    if question.count is not None:
        counted = tuple(_counted(records, question.count))
        return Truth(len(counted), str(len(counted)), counted)
    if question.order is not None:
        ends = {name: _found(records, moment) for name, moment in question.order.items()}
        names = sorted(ends, key=lambda name: ends[name].seq)
        return Truth(tuple(names), ", ".join(names), tuple(ends[name] for name in names))
    if question.value is not None:
        record = _found(records, question.value.at)
        text = _plain(look_up(record, question.value.field))
        if question.value.pattern:
            part = compile_regexp(question.value.pattern, "go").search(text)
            if part is None:
                raise NoAnswer(
                    f"{question.value.field} of record #{record.seq} has no {question.value.pattern!r}: {text!r}"
                )
            text = part.group(1)
        return Truth(text, text, (record,))
    assert question.happens is not None
    happened = find(records, question.happens)
    return Truth(happened is not None, "no" if happened is None else "yes", () if happened is None else (happened,))


def _found(records: Sequence[Record], moment: Moment) -> Record:
    record = find(records, moment)
    if record is None:
        raise NoAnswer(f"the run has no record {moment.nth} for {moment.on!r}")
    return record


def _counted(records: Sequence[Record], lookup: CountLookup) -> list[Record]:
    condition = RecordCondition.parse(lookup.of)
    first = 0 if lookup.after is None else _found(records, lookup.after).seq
    last = len(records) if lookup.before is None else _found(records, lookup.before).seq - 1
    return [record for record in records[first:last] if condition.matches(record)]


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def _seconds(micros: int) -> str:
    rounded = round(micros / MILLISECOND) * MILLISECOND
    return duration(rounded) if rounded else "0s"


# -- the learner's answer ---------------------------------------------------------------------------------------


def parse_answer(question: Question, answer: str) -> Any:
    """What the learner wrote as a value of the question's kind. Raises NoAnswer that says what is wanted."""
    text = " ".join(answer.split())
    if question.time is not None:
        return _parse_time(text)
    if question.count is not None:
        if not text.isdigit():
            raise NoAnswer(f"{answer!r} is not a number; answer with one such as 3")
        return int(text)
    if question.order is not None:
        return _parse_order(text, list(question.order))
    if question.happens is not None:
        if text.lower() in _YES + _NO:
            return text.lower() in _YES
        raise NoAnswer(f"{answer!r} is neither yes nor no")
    if question.choices:
        return _parse_choice(text, question.choices)
    if not text:
        raise NoAnswer("the answer is empty")
    return text


def _parse_time(text: str) -> int:
    compact = text.replace(" ", "")
    try:
        return parse_duration(compact if compact[-1:].isalpha() else f"{compact}s")
    except ValueError:
        raise NoAnswer(f"{text!r} is not a duration; answer with one such as 10s or 1m20s") from None


def _parse_order(text: str, names: list[str]) -> tuple[str, ...]:
    given = tuple(part.strip() for part in text.replace(" then ", ",").replace("<", ",").split(","))
    if sorted(given) != sorted(names):
        raise NoAnswer(f"name each of {', '.join(sorted(names))} once, in their order, with commas between them")
    return given


def _parse_choice(text: str, choices: tuple[str, ...]) -> str:
    lower = {choice.lower(): choice for choice in choices}
    if text.isdigit() and text not in lower and 1 <= int(text) <= len(choices):
        return choices[int(text) - 1]
    near = difflib.get_close_matches(text.lower(), lower, n=1, cutoff=0.85)
    if not near:
        raise NoAnswer(f"{text!r} is none of {', '.join(choices)}")
    return lower[near[0]]


def _same(question: Question, one: Any, other: Any) -> bool:
    if question.time is not None:
        return bool(abs(one - other) <= question.within)
    if isinstance(one, str) and isinstance(other, str):
        return one.lower() == other.lower()
    return bool(one == other)


def judge(records: Sequence[Record], question: Question, answer: str) -> AnswerVerdict:
    """Raises NoAnswer if the answer cannot be read."""
    given = parse_answer(question, answer)
    truth = look_up_truth(records, question)
    if _same(question, given, truth.value):
        shown = truth.records[-1] if question.count is not None and truth.records else (truth.records or (None,))[0]
        return AnswerVerdict(True, answer, truth, parting=shown)
    parting, expected_at = _part(question, given, truth)
    return AnswerVerdict(False, answer, truth, _hint(question, given), parting, expected_at)


def _hint(question: Question, given: Any) -> str:
    """That of the common wrong answer, of the nearest one if they are times; else the question's."""
    known = [(parse_answer(question, wrong.answer), wrong.hint) for wrong in question.wrong]
    alike = [(value, hint) for value, hint in known if _same(question, value, given)]
    if question.time is not None:
        alike.sort(key=lambda item: abs(item[0] - given))
    return alike[0][1] if alike else question.hint


def _part(question: Question, given: Any, truth: Truth) -> tuple[Record | None, int | None]:
    """Where answer and run part: the record at which the run does something else, or when it leaves something out."""
    if question.time is not None:
        expected = truth.origin + given
        return truth.records[0], expected if given < truth.value else None
    if question.order is not None:
        first = next(n for n, (one, other) in enumerate(zip(given, truth.value, strict=True)) if one != other)
        return truth.records[first], None
    if question.count is not None and truth.records:
        return truth.records[min(given, len(truth.records) - 1)], None
    return (truth.records[0] if truth.records else None), None
