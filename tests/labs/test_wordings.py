"""Each lab is answered by people who understood it, in their own words, and by people who did not.

`wordings.yaml` has right and wrong answers for each question. `kubesim lab check` gets them as one text.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kubesim.labs.answers import judge
from kubesim.labs.load import Lab
from tests.support.labs import LABS, lesson

WORDINGS: dict[str, dict[str, dict[str, list[str]]]] = yaml.safe_load(
    (Path(__file__).parent / "wordings.yaml").read_text(encoding="utf-8")
)


def test_every_question_of_every_lab_has_wordings() -> None:
    assert {name: [*questions] for name, questions in WORDINGS.items()} == {
        lab.name: [question.id for question in lab.file.questions] for lab in LABS
    }
    for questions in WORDINGS.values():
        for kind in ("right", "wrong"):
            assert sum(len(answers[kind]) for answers in questions.values()) >= 6


@pytest.mark.parametrize("kind", ["right", "wrong"])
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_right_answers_are_right_in_any_words_and_wrong_ones_wrong(lab: Lab, kind: str, tmp_path: Path) -> None:
    learner = lesson(lab, tmp_path)
    misjudged = [
        (question.id, answer)
        for question in lab.file.questions
        for answer in WORDINGS[lab.name][question.id][kind]
        if judge(learner.run(question.profile).records, question, answer).right != (kind == "right")
    ]
    assert misjudged == []
