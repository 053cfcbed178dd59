"""Differently worded answers to each lab, right and wrong.

`wordings.yaml` has right and wrong answers for each question. A wrong answer gets "Not quite", or a request for an
answer of another form. Each right one is also given as words without quotes, as people type it in a shell.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kubesim.labs.answers import judge
from kubesim.labs.language import Question
from kubesim.labs.lesson import Lesson
from kubesim.labs.load import Lab
from kubesim.labs.reading import NoAnswer, split_words
from tests.support.labs import LABS, lesson

WORDINGS: dict[str, dict[str, dict[str, list[str]]]] = yaml.safe_load(
    (Path(__file__).parent / "wordings.yaml").read_text(encoding="utf-8")
)


def test_every_question_of_every_lab_has_wordings() -> None:
    assert {name: [*questions] for name, questions in WORDINGS.items()} == {
        lab.name: [question.id for question in lab.file.questions] for lab in LABS
    }
    for questions in WORDINGS.values():
        for answers in questions.values():
            assert len(answers["right"]) >= 8
            assert len(answers["wrong"]) >= 6


def is_right(learner: Lesson, question: Question, answer: str) -> bool:
    try:
        return judge(learner.run(question.profile).records, question, answer).right
    except NoAnswer:
        return False


@pytest.mark.parametrize("kind", ["right", "wrong"])
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_right_answers_are_right_in_any_words_and_wrong_ones_wrong(lab: Lab, kind: str, tmp_path: Path) -> None:
    learner = lesson(lab, tmp_path)
    misjudged = [
        (question.id, answer)
        for question in lab.file.questions
        for answer in WORDINGS[lab.name][question.id][kind]
        if is_right(learner, question, answer) != (kind == "right")
    ]
    assert misjudged == []


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_unquoted_words_are_one_answer(lab: Lab) -> None:
    """No word is taken as the answer to the next question."""
    questions = lab.file.questions
    divided = [
        (question.id, answer)
        for number, question in enumerate(questions)
        for answer in WORDINGS[lab.name][question.id]["right"]
        if split_words(questions[number:], answer.split()) != (" ".join(answer.split()), [])
    ]
    assert divided == []
