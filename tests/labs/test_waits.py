"""Ranges of waits are computed from the kubelet's periods; every run is inside them."""

from __future__ import annotations

import pytest

from kubesim.cli.lab import play
from kubesim.labs.answers import judge, look_up_truth
from kubesim.labs.load import Lab
from kubesim.labs.waits import AnswerRange, crash_wait, periodic, time_text, total, wait
from tests.support.labs import LABS

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("names", "low", "high"),
    [
        (("relist",), 0, 1),
        (("resync",), 60, 90),
        (("retry", "sync tick"), 10, 16),
        (("back-off 1",), 10, 16),
        (("back-off 4",), 80, 92),
        (("12s", "up to 5s"), 12, 17),
        ((), 0, 0),
    ],
)
def test_a_sum_of_waits(names: tuple[str, ...], low: int, high: int) -> None:
    assert total(names) == AnswerRange(low * SECOND, high * SECOND)


def test_the_back_off_stops_doubling_at_five_minutes() -> None:
    assert crash_wait(6).low == crash_wait(20).low == 300 * SECOND
    assert crash_wait(5).low == 160 * SECOND


@pytest.mark.parametrize("text", ["resnyc", "back-off 0", "back-off x", "up to", ""])
def test_an_unknown_wait(text: str) -> None:
    with pytest.raises(ValueError, match="is not a wait; known are relist"):
        wait(text)


def test_the_number_of_periods_in_a_time() -> None:
    assert periodic(12, 5) == AnswerRange(2, 3)
    assert periodic(10, 5) == AnswerRange(2, 2)


def test_times_have_one_format() -> None:
    assert [time_text(t) for t in (0, 80_400, SECOND, 60 * SECOND, 80_500_000, 3600 * SECOND)] == [
        "0s", "80ms", "1s", "1m", "1m20.5s", "1h0m",
    ]  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("lab", [lab for lab in LABS if lab.network is None], ids=lambda lab: lab.name)
def test_the_solution_of_a_lab_is_right_with_every_seed(lab: Lab, seed: int) -> None:
    runs = {}
    for question in lab.file.questions:
        if question.profile not in runs:
            scenario = lab.scenario(question.profile)
            spec = scenario.spec.model_copy(update={"seed": seed})
            runs[question.profile] = play(scenario.model_copy(update={"spec": spec})).records
        records = runs[question.profile]
        truth = look_up_truth(records, question)
        assert judge(records, question, lab.solution.answers[question.id]).right, (question.id, truth.text)
        if truth.allowed is not None:
            slack = question.within if question.time is not None else 0
            assert truth.allowed.has(truth.value, slack), (question.id, truth.text, truth.allowed.text)
