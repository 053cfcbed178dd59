"""Parsing answers in the forms people use."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.labs.language import Question
from kubesim.labs.reading import NoAnswer, read_answer, split_words
from kubesim.labs.waits import AnswerRange

SECOND = 1_000_000


def question(**fields: Any) -> Question:
    given = {"id": "q", "ask": "?", "wrong": [{"answer": "1", "hint": "no"}], "hint": "think", "rule": "so"}
    return Question.model_validate({**given, **fields})


TIME, COUNT, HAPPENS = question(time="note"), question(count="note"), question(happens="note")
ORDER = question(order={"app": "note", "proxy": "event", "logger": "note"})
VALUES = question(values={"of": "note", "field": "text"}, choices=["ADD", "UPDATE", "REMOVE"])


def choosing(*choices: str) -> Question:
    return question(value={"at": "note", "field": "text"}, choices=list(choices))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10), ("10", 10), ("10 s", 10), ("10 seconds", 10),
        ("10.5s", 10.5),
        ("1m20s", 80), ("1m 20s", 80), ("1 min 20 sec", 80), ("1 minute and 20 seconds", 80), ("80ms", 0.08),
        ("2h", 7200),
        ("a minute", 60), ("a minute and a half", 90), ("one and a half minutes", 90), ("half a minute", 30),
        ("ten seconds", 10), ("exactly 5s.", 5), ("more than 10s", 10), ("a bit more than 10 s", 10), ("0", 0),
        ("at once", 0), ("immediately", 0), ("none", 0), ("no back-off", 0), ("it does not wait", 0),
        ("16s later", 16),
        ("30 seconds (the grace period)", 30), ('"30s"', 30), ("twenty-five seconds", 25), ("3:00", 180),
        ("10 + 3", 13),
        ("2 x 10s", 20), ("10s + 3s = 13s", 13), ("when the hook ends, after 10s", 10), ("back to 10s", 10),
        ("it restarts immediately", 0), ("there is no back-off yet, so at once", 0), ("10 or more seconds", 10),
        ("20s, not 10s", 20),
    ],
)  # fmt: skip
def test_a_duration(text: str, seconds: float) -> None:
    assert read_answer(TIME, text) == AnswerRange(round(seconds * SECOND), round(seconds * SECOND))


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("60-90s", 60, 90), ("60 - 90 s", 60, 90), ("60 to 90 seconds", 60, 90), ("between 60 and 90s", 60, 90),
        ("from 1m to 1m30s", 60, 90), ("1m–1m30s", 60, 90), ("1-2 minutes", 60, 120), ("60s..90s", 60, 90),
        ("a minute to a minute and a half", 60, 90), ("at most 1s", 0, 1), ("up to a second", 0, 1), ("< 1s", 0, 1),
        ("about 10 to about 15 seconds", 10, 15), ("less than a second", 0, 1), ("about 10 seconds", 9, 11),
        ("~10s", 9, 11), ("10s plus jitter", 10, 15), ("12s plus up to 5s", 12, 17), ("4 x 10-15s", 40, 60),
        ("a second at most", 0, 1), ("with the next resync, 60-90s", 60, 90),
    ],
)  # fmt: skip
def test_a_range_of_durations(text: str, low: int, high: int) -> None:
    assert read_answer(TIME, text) == AnswerRange(low * SECOND, high * SECOND)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("3", 3, 3), ("three", 3, 3), ("3 times", 3, 3), ("3x", 3, 3), ("once", 1, 1), ("twice", 2, 2),
        ("never", 0, 0),
        ("none", 0, 0), ("not once", 0, 0), ("zero", 0, 0), ("5 pods", 5, 5), ("2-3", 2, 3), ("two or three", 2, 3),
        ("2 or 3 times", 2, 3), ("at most 3", 0, 3), ("about 5", 5, 5), ("five of the six", 5, 5), ("5/6", 5, 5),
        ("it fails 3 times", 3, 3), ("1 start + 5 restarts = 6", 6, 6), ("it never ends", 0, 0), ("no events", 0, 0),
        ("one per container, so 3", 3, 3), ("just once", 1, 1),
    ],
)  # fmt: skip
def test_a_number(text: str, low: int, high: int) -> None:
    assert read_answer(COUNT, text) == AnswerRange(low, high)


@pytest.mark.parametrize(
    "text",
    [
        "app, proxy, logger", "app proxy logger", "app -> proxy -> logger", "app then proxy then logger",
        "app < proxy < logger",
        "App, Proxy and Logger", "1. app 2. proxy 3. logger", "first app, then proxy, finally logger",
        "[app, proxy, logger]",
        "app > proxy > logger",
    ],
)  # fmt: skip
def test_an_order(text: str) -> None:
    assert read_answer(ORDER, text) == ("app", "proxy", "logger")


@pytest.mark.parametrize("text", ["REMOVE, ADD", "remove and add", "ADD + REMOVE", "add remove", "both ADD and REMOVE"])
def test_several_values(text: str) -> None:
    assert read_answer(VALUES, text) == ("ADD", "REMOVE")


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        ("yes", True), ("Y", True), ("true", True), ("yes, it does", True), ("it does", True), ("no", False),
        ("N", False),
        ("no, because the file is there", False), ("no because of that", False), ("nope", False), ("never", False),
        ("it does not", False), ("No.", False), ("yes there is", True), ("there is none", False), ("neither", False),
        ("it doesn't wait", False),
    ],
)  # fmt: skip
def test_yes_and_no(text: str, yes: bool) -> None:
    assert read_answer(HAPPENS, text) is yes


@pytest.mark.parametrize(
    ("choices", "text", "chosen"),
    [
        (("30", "25", "5"), "25", "25"), (("30", "25", "5"), "b", "25"), (("30", "25", "5"), "25 seconds", "25"),
        (("30", "25", "5"), "(b)", "25"), (("0", "1", "2"), "2", "2"), (("0", "1", "2"), "2s", "2"),
        (("10s", "40s", "5m0s"), "40", "40s"), (("10s", "40s", "5m0s"), "5m", "5m0s"),
        (("10s", "5m0s"), "300 s", "5m0s"),
        (("waiting/ContainerCreating", "terminated/1/Error"), "ContainerCreating", "waiting/ContainerCreating"),
        (("waiting/ContainerCreating", "terminated/1/Error"), "containercreating", "waiting/ContainerCreating"),
        (("waiting/ContainerCreating", "terminated/1/Error"), "Error", "terminated/1/Error"),
        (("waiting/CrashLoopBackOff", "Running"), "crashloop", "waiting/CrashLoopBackOff"),
        (("10.88.0.2/29", "10.88.0.6/29"), "10.88.0.2", "10.88.0.2/29"),
        (("10.88.0.2/29", "10.88.0.6/29"), ".2", "10.88.0.2/29"),
        (("Pending", "Running"), "running", "Running"), (("Pending", "Running"), "Runing", "Running"),
        (("True", "False"), "true", "True"), (("10s", "40s"), "c) 40s", "40s"),
        (("10s", "40s"), "forty seconds", "40s"),
        (("Pending", "Running"), "it is still Pending", "Pending"), (("0", "1"), "just once", "1"),
        (("Failed", "Running"), "Failed, not Running", "Failed"),
        (("bridge", "label"), "bridge, with the text of label", "bridge"),
        (("30", "25", "5"), "30 - 5 = 25", "25"), (("ResizeDeferred", "Evicted"), "deferred", "ResizeDeferred"),
    ],
)  # fmt: skip
def test_a_choice(choices: tuple[str, ...], text: str, chosen: str) -> None:
    assert read_answer(choosing(*choices), text) == chosen


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (TIME, "soon"), (TIME, "10s 11s"), (TIME, "90-60s"), (TIME, "10 apples"), (TIME, ""), (TIME, "-"),
        (TIME, "1e99h"),
        (COUNT, "many"), (COUNT, "-1"), (COUNT, "3.5"), (COUNT, "9" * 40), (HAPPENS, "perhaps"),
        (HAPPENS, "yes and no"),
        (TIME, "no idea"), (COUNT, "a lot"), (COUNT, "not sure"), (HAPPENS, "no idea"),
        (choosing("Failed"), "not Failed"),
        (choosing("Pending", "Running"), "Pending or Running"),
        (ORDER, "app, proxy"), (ORDER, "app, proxy, logger, app"), (ORDER, "app, proxy, other"),
        (VALUES, "ADD, OTHER"),
        (VALUES, ""), (choosing("30", "25"), "3"), (choosing("30", "25"), "c"),
        (choosing("Pending", "Running"), "Failed"),
        (choosing("10.88.0.2/29", "10.88.0.6/29"), "29"),
    ],
)  # fmt: skip
def test_an_invalid_answer(asked: Question, text: str) -> None:
    with pytest.raises(NoAnswer):
        read_answer(asked, text)


@pytest.mark.parametrize(
    ("asked", "words", "answer", "left"),
    [
        ([TIME, TIME], "10s 11s", "10s", "11s"),
        ([TIME, COUNT], "10 seconds 5", "10 seconds", "5"),
        ([TIME, HAPPENS], "at once no", "at once", "no"),
        ([TIME, COUNT], "60 to 90s", "60 to 90s", ""),
        ([TIME, TIME], "2 minutes 50 seconds", "2 minutes 50 seconds", ""),
        ([COUNT, choosing("bridge", "label")], "5 label", "5", "label"),
        ([COUNT, HAPPENS], "2 or 3 yes", "2 or 3", "yes"),
        ([HAPPENS, HAPPENS], "it does not", "it does not", ""),
        ([HAPPENS, COUNT], "no, the file is still there", "no, the file is still there", ""),
        ([ORDER, TIME], "app, proxy, logger 5s", "app, proxy, logger", "5s"),
        ([ORDER], "app proxy logger", "app proxy logger", ""),
        ([VALUES, HAPPENS], "REMOVE and ADD no", "REMOVE and ADD", "no"),
        ([TIME, TIME], "soon 10s", "soon 10s", ""),
    ],
)
def test_command_line_words_need_no_quotes(asked: list[Question], words: str, answer: str, left: str) -> None:
    assert split_words(asked, words.split()) == (answer, left.split())


def test_a_lab_may_accept_synonyms() -> None:
    asked = question(happens="note", accept={"no": ["keeps running"]})
    assert read_answer(asked, "it keeps running") is False
    assert read_answer(asked, "yes, but it keeps running") is True
