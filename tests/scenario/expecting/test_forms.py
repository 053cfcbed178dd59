"""Verdicts of each form of an expectation over time."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.scenario.expecting.forms import Facts, at_moment, comes_early, is_judged_last, when_over
from kubesim.scenario.language.expect_items import Expect

TRUE, FALSE = Facts(True, "yes", reached=True), Facts(False, "no", everywhere=False)
ABSENT = Facts(False, "nobody", everywhere=True, there=False, existed=False, known=False)
BETWEEN = {"between": ["1s", "2s"]}


def expect(**form: Any) -> Expect:
    question = {} if "event" in form or "restartCount" in form or "exists" in form else {"phase": "Running"}
    return Expect.model_validate({"pod": "web", **question, **form})


@pytest.mark.parametrize(
    ("form", "facts", "moment", "over"),
    [
        ({}, TRUE, True, False),
        ({}, FALSE, None, False),
        ({"by": "2s"}, TRUE, True, False),
        ({"never": True}, TRUE, False, True),
        ({"never": True}, FALSE, None, True),
        ({"never": True}, ABSENT, None, False),
        ({"never": True}, Facts(False, "no", known=False), None, False),
        ({"never": True, "exists": True}, ABSENT, None, True),
        ({"always": True}, TRUE, None, True),
        ({"always": True}, FALSE, False, True),
        ({"always": True}, ABSENT, None, False),
        ({"always": True, **BETWEEN}, ABSENT, False, False),
        ({"at": "2s"}, TRUE, None, True),
        ({"at": "2s"}, FALSE, None, False),
        ({"at": "2s", "never": True}, TRUE, None, False),
        ({"at": "2s", "never": True}, FALSE, None, True),
        ({"at": "2s", "never": True, "exists": True}, TRUE, None, False),
        ({"restartCount": 3}, TRUE, None, True),
        ({"restartCount": 3}, Facts(False, "4", broken=True), False, False),
        ({"restartCount": {"atLeast": 3}}, TRUE, True, False),
        ({"event": "Killing", "count": 2}, TRUE, None, True),
        ({"event": "Killing"}, TRUE, True, False),
    ],
)
def test_a_time_and_the_end_of_an_interval(form: dict[str, Any], facts: Facts, moment: bool | None, over: bool) -> None:
    assert at_moment(expect(**form), facts) is moment
    assert when_over(expect(**form), facts) is over


def test_a_condition_in_an_interval_must_not_be_true_before() -> None:
    assert comes_early(expect(**BETWEEN), TRUE)
    assert not comes_early(expect(**BETWEEN), FALSE)
    assert not comes_early(expect(never=True, **BETWEEN), TRUE)
    assert not comes_early(expect(event="Killing", **BETWEEN), TRUE), "what happened before does not count"


def test_exact_numbers_are_decided_at_the_end() -> None:
    assert is_judged_last(expect(restartCount=3))
    assert is_judged_last(expect(restartCount={"atMost": 3}))
    assert is_judged_last(expect(event="Killing", count=3))
    assert not is_judged_last(expect(restartCount={"atLeast": 3}))
    assert not is_judged_last(expect(restartCount=3, never=True))
    assert not is_judged_last(expect())
