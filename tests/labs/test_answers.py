"""Answers are looked up in the run and compared with what a learner wrote."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.labs.answers import NoAnswer, find, judge, look_up_truth
from kubesim.labs.language import Moment, Question
from kubesim.trace.records import ApiWrite, CriCall, Note, Record

SECOND = 1_000_000


def trace(*records: tuple[float, Record]) -> list[Record]:
    for seq, (t, record) in enumerate(records, start=1):
        record.seq, record.t = seq, round(t * SECOND)
    return [record for _, record in records]


RUN = trace(
    (0, CriCall(call="StartContainer", container="a")),
    (1, CriCall(call="StartContainer", container="b")),
    (3, Note(text="b ended")),
    (4, CriCall(call="StartContainer", container="b")),
    (5, ApiWrite(resource="pods/status", summary={"phase": "Running", "ready": True, "note": "back-off 20s now"})),
)


def question(**fields: Any) -> Question:
    given = {"id": "q", "ask": "?", "wrong": [{"answer": "9", "hint": "nine is wrong"}], "hint": "think", "rule": "so"}
    return Question.model_validate({**given, **fields})


AGAIN = question(
    time={"at": {"on": "StartContainer container=b", "nth": 2}, "since": "note"},
    wrong=[{"answer": "3s", "hint": "three"}, {"answer": "4s", "hint": "four"}],
    within="600ms",
)


def test_a_moment_is_the_nth_record_from_the_beginning_the_end_or_another_moment() -> None:
    assert find(RUN, Moment(on="StartContainer", nth=2)) is RUN[1]
    assert find(RUN, Moment(on="StartContainer", nth=-1)) is RUN[3]
    assert find(RUN, Moment(on="StartContainer", after=Moment(on="note"))) is RUN[3]
    assert find(RUN, Moment(on="StartContainer", nth=4)) is None
    assert find(RUN, Moment(on="StartContainer", after=Moment(on="event"))) is None


@pytest.mark.parametrize("answer", ["1s", "1", "1000ms", "1.5s", "0.4s"])
def test_a_time_may_be_off_by_so_much(answer: str) -> None:
    verdict = judge(RUN, AGAIN, answer)
    assert verdict.right
    assert (verdict.truth.text, verdict.parting) == ("1s", RUN[3])


def test_a_time_that_is_too_late_parts_from_the_run_where_the_run_acts() -> None:
    verdict = judge(RUN, AGAIN, "10s")
    assert not verdict.right
    assert (verdict.parting, verdict.expected_at, verdict.hint) == (RUN[3], None, "think")


def test_a_time_that_is_too_early_parts_where_the_run_still_waits() -> None:
    verdict = judge(RUN, AGAIN, "200ms")
    assert (verdict.parting, verdict.expected_at) == (RUN[3], 3_200_000)


def test_of_several_common_wrong_times_the_nearest_gives_the_hint() -> None:
    assert judge(RUN, AGAIN, "3.55s").hint == "four"
    assert judge(RUN, AGAIN, "3.4s").hint == "three"


def test_a_count() -> None:
    asked = question(count={"of": "StartContainer", "after": "container=a"})
    assert judge(RUN, asked, "2").right
    assert judge(RUN, asked, "1").parting is RUN[3]  # the first one that was not counted
    assert judge(RUN, asked, "9").hint == "nine is wrong"


def test_an_order_parts_at_the_first_difference() -> None:
    moments = {"b": "StartContainer container=b", "a": "container=a", "end": "note"}
    asked = question(order=moments, wrong=[{"answer": "b, a, end", "hint": "no"}])
    assert judge(RUN, asked, "a, b, end").right
    assert judge(RUN, asked, "a then b then end").right
    verdict = judge(RUN, asked, "a, end, b")
    assert (verdict.right, verdict.parting) == (False, RUN[1])


def test_a_value_with_choices_may_be_answered_by_number_and_in_any_case() -> None:
    asked = question(
        value={"at": "api.write", "field": "summary.phase"}, choices=["Pending", "Running"], wrong=[_wrong("Pending")]
    )
    assert judge(RUN, asked, "running").right
    assert judge(RUN, asked, "2").right
    assert judge(RUN, asked, "1").hint == "no"


def test_a_part_of_a_value() -> None:
    asked = question(value={"at": "api.write", "field": "summary.note", "pattern": r"back-off (\S+)"})
    assert look_up_truth(RUN, asked).value == "20s"


def test_whether_something_happens() -> None:
    assert judge(RUN, question(happens="note text~ended", wrong=[_wrong("no")]), "yes").right
    assert judge(RUN, question(happens="event", wrong=[_wrong("yes")]), "no").right


def _wrong(answer: str) -> dict[str, str]:
    return {"answer": answer, "hint": "no"}


@pytest.mark.parametrize(
    ("fields", "answer", "problem"),
    [
        ({"time": "note"}, "soon", "is not a duration"),
        ({"count": "note"}, "many", "is not a number"),
        ({"happens": "note"}, "perhaps", "neither yes nor no"),
        ({"order": {"a": "container=a", "b": "container=b"}}, "a", "name each of a, b once"),
        ({"value": {"at": "note", "field": "text"}, "choices": ["x", "y"]}, "z", "none of x, y"),
        ({"value": {"at": "note", "field": "text"}}, " ", "empty"),
    ],
)
def test_an_answer_that_cannot_be_read_is_no_try(fields: dict[str, Any], answer: str, problem: str) -> None:
    with pytest.raises(NoAnswer, match=problem):
        judge(RUN, question(**fields), answer)


def test_a_run_without_what_is_asked_for_is_told() -> None:
    with pytest.raises(NoAnswer, match="no record 1 for 'event'"):
        look_up_truth(RUN, question(time="event"))
