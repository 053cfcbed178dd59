"""Looks up the right answer to a question in the trace of the run, and judges a learner's answer.

No right answer is stored here: a question names the records that have it. Pure functions over records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubesim.golang.regexp import compile_regexp
from kubesim.labs.language import CountLookup, Moment, Question, ValueLookup, ValuesLookup
from kubesim.labs.reading import NoAnswer, ParsedAnswer, read_answer
from kubesim.labs.waits import AnswerRange, periodic, time_text, total
from kubesim.trace.records import Record
from kubesim.trace.stepping import RecordCondition
from kubesim.trace.stepping.conditions import look_up
from kubesim.values import value_object

_NARROW = 0.5  # width of a range as a part of its time: a back-off plus jitter of up to 50 %
TOO_WIDE = "The run is inside your range, but the rule gives a narrower one."


@value_object
class Truth:
    """The answer in the run: its value, its text, and the records that show it (for an order: one for each name)."""

    value: Any
    text: str
    records: tuple[Record, ...] = ()
    origin: int = 0  # for a time: its starting point
    allowed: AnswerRange | None = None  # for a time or a count: the range that the rule allows for every seed


@value_object
class AnswerVerdict:
    """The verdict on an answer. `hint` is for a wrong answer. `difference` is the first record at which answer and run
    differ; for a right answer it is the record that shows it."""

    right: bool
    answer: str
    truth: Truth
    hint: str = ""
    difference: Record | None = None
    expected_at: int | None = None  # the learner expected it at this time, but it comes later


def find(records: Sequence[Record], moment: Moment) -> Record | None:
    """The record that a moment refers to."""
    start = 0
    if moment.after is not None:
        earlier = find(records, moment.after)
        if earlier is None:
            return None
        start = earlier.seq
    condition = RecordCondition.parse(moment.on)
    found = [record for record in records[start:] if condition.matches(record)]
    index = moment.nth - 1 if moment.nth > 0 else moment.nth
    try:
        return found[index]
    except IndexError:
        return None


def look_up_truth(records: Sequence[Record], question: Question) -> Truth:
    """Look up the right answer. Raises NoAnswer if the run has no record that the question refers to."""
    if question.time is not None:
        at = _found(records, question.time.at)
        since = None if question.time.since is None else _found(records, question.time.since)
        origin = 0 if since is None else since.t
        allowed = total(question.waits) if question.waits else None
        return Truth(at.t - origin, time_text(at.t - origin), (at,), origin, allowed)
    if question.count is not None:
        counted = _between(records, question.count)
        allowed = None if question.periodic is None else periodic(question.periodic.during, question.periodic.period)
        return Truth(len(counted), str(len(counted)), counted, allowed=allowed)
    if question.order is not None:
        ends = {name: _found(records, moment) for name, moment in question.order.items()}
        names = sorted(ends, key=lambda name: ends[name].seq)
        return Truth(tuple(names), ", ".join(names), tuple(ends[name] for name in names))
    if question.value is not None:
        record = _found(records, question.value.at)
        text = _field_text(record, question.value)
        return Truth(text, text, (record,))
    if question.values is not None:
        return _values(records, question.values)
    assert question.happens is not None
    happened = find(records, question.happens)
    return Truth(happened is not None, "no" if happened is None else "yes", () if happened is None else (happened,))


def _field_text(record: Record, lookup: ValueLookup) -> str:
    text = _field(record, lookup.field)
    if not lookup.pattern:
        return text
    part = compile_regexp(lookup.pattern, "go").search(text)
    if part is None:
        raise NoAnswer(f"{lookup.field} of record #{record.seq} has no {lookup.pattern!r}: {text!r}")
    return str(part.group(1))


def _values(records: Sequence[Record], lookup: ValuesLookup) -> Truth:
    found = _between(records, lookup)
    if not found:
        raise NoAnswer(f"the run has no record for {lookup.of!r}")
    by_value = {_field(record, lookup.field): record for record in reversed(found)}
    names = sorted(by_value, key=lambda name: by_value[name].seq)
    return Truth(tuple(sorted(names)), ", ".join(names), tuple(by_value[name] for name in names))


def _found(records: Sequence[Record], moment: Moment) -> Record:
    record = find(records, moment)
    if record is None:
        raise NoAnswer(f"the run has no record {moment.nth} for {moment.on!r}")
    return record


def _between(records: Sequence[Record], lookup: CountLookup | ValuesLookup) -> tuple[Record, ...]:
    condition = RecordCondition.parse(lookup.of)
    first = 0 if lookup.after is None else _found(records, lookup.after).seq
    last = len(records) if lookup.before is None else _found(records, lookup.before).seq - 1
    return tuple(record for record in records[first:last] if condition.matches(record))


def _field(record: Record, field: str) -> str:
    """The text of a field; a pod in the namespace default is shown without its namespace, as in kubectl."""
    text = _plain(look_up(record, field))
    return text.removeprefix("default/") if field == "pod" else text


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


# -- the verdict ------------------------------------------------------------------------------------------------


def judge(records: Sequence[Record], question: Question, answer: str) -> AnswerVerdict:
    """Judge an answer. Raises NoAnswer if it cannot be parsed."""
    given = read_answer(question, answer)
    truth = look_up_truth(records, question)
    if _is_right(question, given, truth):
        shown = truth.records[-1] if question.count is not None and truth.records else (truth.records or (None,))[0]
        return AnswerVerdict(True, answer, truth, difference=shown or _instead(records, question))
    difference, expected_at = _first_difference(records, question, given, truth)
    return AnswerVerdict(False, answer, truth, _hint(question, given, truth), difference, expected_at)


def _is_right(question: Question, given: ParsedAnswer, truth: Truth) -> bool:
    if not isinstance(given, AnswerRange):
        return bool(_folded(given) == _folded(truth.value))
    slack = question.within if question.time is not None else 0
    if given.width == 0 and not AnswerRange(truth.value, truth.value).has(given.low, slack) and _wrong(question, given):
        return False
    allowed = truth.allowed or AnswerRange(truth.value, truth.value)
    inside = allowed.has(given.low, slack) and allowed.has(given.high, slack)
    fits = given.has(truth.value) or allowed.has((given.low + given.high) // 2)
    narrow = given.width <= max(allowed.width + 4 * slack, allowed.high * _NARROW if question.time is not None else 0)
    return inside or (fits and narrow)


def _folded(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _wrong(question: Question, given: ParsedAnswer) -> str:
    """The hint of the common wrong answer that equals this answer."""
    return next((wrong.hint for wrong in question.wrong if read_answer(question, wrong.answer) == given), "")


def _hint(question: Question, given: ParsedAnswer, truth: Truth) -> str:
    """The hint of the matching common wrong answer (for a time, of the nearest one), otherwise the question's own."""
    exact = _wrong(question, given)
    if exact or not isinstance(given, AnswerRange):
        return exact or question.hint
    if given.has(truth.value):
        return TOO_WIDE
    if question.time is None:
        return question.hint
    known = [(read_answer(question, wrong.answer), wrong.hint) for wrong in question.wrong]
    near = [(abs(value.low - given.low), hint) for value, hint in known if isinstance(value, AnswerRange)]
    distance, hint = min(near, default=(question.within + 1, ""))
    return hint if distance <= question.within else question.hint


def _first_difference(
    records: Sequence[Record], question: Question, given: ParsedAnswer, truth: Truth
) -> tuple[Record | None, int | None]:
    """The record at which the run differs from the answer, or the time at which the learner expected an action too
    early."""
    if question.time is not None and isinstance(given, AnswerRange):
        expected = truth.origin + given.high
        return truth.records[0], expected if given.high < truth.value else None
    if question.order is not None and isinstance(given, tuple):
        first = next(n for n, (one, other) in enumerate(zip(given, truth.value, strict=True)) if one != other)
        return truth.records[first], None
    if question.count is not None and isinstance(given, AnswerRange):
        if given.high < len(truth.records):
            return truth.records[given.high], None  # the first record that the learner did not count
        return _instead(records, question), None
    if question.values is not None and isinstance(given, tuple):
        missing = [record for record in truth.records if _field(record, question.values.field) not in given]
        return (missing[0] if missing else _instead(records, question)), None
    return (truth.records[0] if truth.records else _instead(records, question)), None


def _instead(records: Sequence[Record], question: Question) -> Record | None:
    """The record that shows why nothing (more) happens."""
    return None if question.instead is None else _found(records, question.instead)
