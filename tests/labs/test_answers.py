"""The right answer is read from the run and compared with the learner's."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.labs.answers import TOO_WIDE, find, judge, look_up_truth
from kubesim.labs.language import Moment, Question
from kubesim.labs.reading import NoAnswer
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


def test_a_time_refers_to_the_nth_record_from_the_start_the_end_or_another_record() -> None:
    assert find(RUN, Moment(on="StartContainer", nth=2)) is RUN[1]
    assert find(RUN, Moment(on="StartContainer", nth=-1)) is RUN[3]
    assert find(RUN, Moment(on="StartContainer", after=Moment(on="note"))) is RUN[3]
    assert find(RUN, Moment(on="StartContainer", nth=4)) is None
    assert find(RUN, Moment(on="StartContainer", after=Moment(on="event"))) is None


@pytest.mark.parametrize("answer", ["1s", "1", "1000ms", "1.5s", "0.4s", "1-2s", "about a second"])
def test_a_time_has_a_tolerance(answer: str) -> None:
    verdict = judge(RUN, AGAIN, answer)
    assert verdict.right
    assert (verdict.truth.text, verdict.difference) == ("1s", RUN[3])


def test_the_first_difference_of_a_late_time_is_the_action_in_the_run() -> None:
    verdict = judge(RUN, AGAIN, "10s")
    assert not verdict.right
    assert (verdict.difference, verdict.expected_at, verdict.hint) == (RUN[3], None, "think")


def test_the_first_difference_of_an_early_time_is_the_expected_time() -> None:
    verdict = judge(RUN, AGAIN, "200ms")
    assert (verdict.difference, verdict.expected_at) == (RUN[3], 3_200_000)


RESYNC = question(
    time={"at": {"on": "StartContainer container=b", "nth": 2}},
    waits=["3s", "up to 2s"],
    wrong=[{"answer": "5s", "hint": "five"}, {"answer": "1s", "hint": "one"}],
)


@pytest.mark.parametrize("answer", ["4s", "3s", "3-5s", "3 to 5 seconds", "between 3 and 5 s", "4.5", "3.2s"])
def test_a_time_that_depends_on_the_seed_has_a_range(answer: str) -> None:
    assert judge(RUN, RESYNC, answer).right


@pytest.mark.parametrize(("answer", "hint"), [("5s", "five"), ("1s", "one"), ("7s", "think"), ("0-20s", TOO_WIDE)])
def test_a_common_wrong_answer_is_wrong_even_inside_the_range(answer: str, hint: str) -> None:
    verdict = judge(RUN, RESYNC, answer)
    assert (verdict.right, verdict.hint) == (False, hint)


def test_a_count_that_depends_on_the_phase_of_a_period_has_a_range() -> None:
    asked = question(count="StartContainer", periodic={"during": "12s", "period": "5s"})
    assert [judge(RUN, asked, answer).right for answer in ("1", "2", "3", "2 or 3", "4")] == [
        False, True, True, True, False,
    ]  # fmt: skip


def test_the_nearest_common_wrong_time_gives_the_hint() -> None:
    assert judge(RUN, AGAIN, "3.55s").hint == "four"
    assert judge(RUN, AGAIN, "3.4s").hint == "three"


def test_a_count() -> None:
    asked = question(count={"of": "StartContainer", "after": "container=a"})
    assert judge(RUN, asked, "2").right
    assert judge(RUN, asked, "1").difference is RUN[3]  # the first one that is beyond the answer
    assert judge(RUN, asked, "9").hint == "nine is wrong"
    assert judge(RUN, asked, "9").difference is None


def test_a_count_above_the_runs_differs_where_the_lab_defines_it() -> None:
    asked = question(count="StartContainer container=b", instead="api.write")
    assert judge(RUN, asked, "3").difference is RUN[4]
    assert judge(RUN, asked, "1").difference is RUN[3]
    never = question(happens="event", instead="note", wrong=[_wrong("yes")])
    assert judge(RUN, never, "yes").difference is RUN[2]
    assert judge(RUN, never, "no").difference is RUN[2]


def test_values_in_any_order() -> None:
    fields = {"of": "StartContainer", "field": "container"}
    asked = question(values=fields, choices=["a", "b", "c"], instead="note", wrong=[_wrong("c")])
    assert all(judge(RUN, asked, answer).right for answer in ("a, b", "b and a", "A B", "b, a, b"))
    assert judge(RUN, asked, "a").difference is RUN[1]  # the first record missing from the answer
    assert judge(RUN, asked, "a b c").difference is RUN[2]
    assert judge(RUN, asked, "c").hint == "no"


def test_an_order_names_the_first_difference() -> None:
    moments = {"b": "StartContainer container=b", "a": "container=a", "end": "note"}
    asked = question(order=moments, wrong=[{"answer": "b, a, end", "hint": "no"}])
    assert judge(RUN, asked, "a, b, end").right
    assert judge(RUN, asked, "a then b then end").right
    verdict = judge(RUN, asked, "a, end, b")
    assert (verdict.right, verdict.difference) == (False, RUN[1])


def test_a_choice_can_be_answered_by_letter_in_any_case() -> None:
    asked = question(
        value={"at": "api.write", "field": "summary.phase"}, choices=["Pending", "Running"], wrong=[_wrong("Pending")]
    )
    assert judge(RUN, asked, "running").right
    assert judge(RUN, asked, "b").right
    assert judge(RUN, asked, "a)").hint == "no"


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
        ({"values": {"of": "note", "field": "text"}, "choices": ["x", "y"]}, "x, z", "name one or more of x, y"),
    ],
)
def test_an_invalid_answer_is_not_an_attempt(fields: dict[str, Any], answer: str, problem: str) -> None:
    with pytest.raises(NoAnswer, match=problem):
        judge(RUN, question(**fields), answer)


def test_a_run_without_the_record_is_an_error() -> None:
    with pytest.raises(NoAnswer, match="no record 1 for 'event'"):
        look_up_truth(RUN, question(time="event"))
    with pytest.raises(NoAnswer, match="no record for 'event'"):
        look_up_truth(RUN, question(values={"of": "event", "field": "reason"}))
