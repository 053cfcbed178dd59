"""Every lab that ships is played: right answers pass, common wrong ones get their hint, the solution works."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from kubesim.labs.answers import look_up_truth
from kubesim.labs.language import Question
from kubesim.labs.load import Lab
from kubesim.labs.progress import LabProgress, QuestionProgress, write_file
from kubesim.labs.validate import problems
from tests.support.labs import LABS, lesson

ROOT = Path(__file__).parent.parent.parent
by_lab = pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
by_question = pytest.mark.parametrize(
    ("lab", "question"),
    [pytest.param(lab, question, id=f"{lab.name}-{question.id}") for lab in LABS for question in lab.file.questions],
)


def standing_at(lab: Lab, question: Question) -> LabProgress:
    """All questions before this one are done."""
    before = lab.file.questions[: lab.file.questions.index(question)]
    return LabProgress({earlier.id: QuestionProgress(done=True) for earlier in before})


def flat(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def test_the_labs_are_here() -> None:
    assert [lab.number for lab in LABS] == list(range(1, 13))


@by_lab
def test_it_keeps_what_it_promises(lab: Lab, tmp_path: Path) -> None:
    assert problems(lab, lesson(lab, tmp_path)._play) == []


@by_lab
def test_right_answers_lead_to_its_end(lab: Lab, tmp_path: Path) -> None:
    work = tmp_path / "scenario.yaml"
    learner = lesson(lab, work)
    learner.prepare(write_file)
    for question in lab.file.questions:
        assert learner.open_question is question
        told, right = learner.answer(lab.solution.answers[question.id])
        assert right
        assert " ".join(question.rule.split()) in flat(told)
    assert learner.open_question is None
    if lab.file.task is not None:
        told, right = learner.check_task()
        assert not right, "the scenario as it is solves the task"
        assert "not met" in flat(told)
        shutil.copy(lab.folder / "solved.yaml", work)
        assert learner.check_task()[1]
    assert learner.is_done


@by_question
def test_a_common_wrong_answer_gets_its_hint(lab: Lab, question: Question, tmp_path: Path) -> None:
    for wrong in question.wrong:
        learner = lesson(lab, tmp_path, standing_at(lab, question))
        told, right = learner.answer(wrong.answer)
        assert " ".join(wrong.hint.split()) in flat(told)
        if question.predict:
            assert "They part at" in flat(told) or "They part nowhere" in flat(told)
            assert look_up_truth(learner.records, question).text in flat(told)
        else:
            assert not right
            assert learner.open_question is question
            assert " ".join(question.rule.split()) not in flat(told)  # the answer is not given away


@by_question
def test_hints_say_more_each_time(lab: Lab, question: Question, tmp_path: Path) -> None:
    learner = lesson(lab, tmp_path, standing_at(lab, question))
    first, second, third = (flat(learner.hint()) for _ in range(3))
    assert first == " ".join(question.hint.split())
    assert "kubesim lab step --break-on" in second
    assert look_up_truth(learner.records, question).text in third


@by_lab
def test_it_can_be_looked_into(lab: Lab, tmp_path: Path) -> None:
    told = lesson(lab, tmp_path).inside()
    assert sum(line.lstrip().startswith("as in") for line in told) >= len(lab.file.inside) // 2
    assert all(" ".join(stop.say.split()) in flat(told) for stop in lab.file.inside)


@by_lab
def test_its_text_fits_a_terminal_and_names_a_common_belief(lab: Lab) -> None:
    assert lab.text.startswith(f"# {lab.file.title}\n")
    assert f'Common belief: "{lab.file.belief}"' in " ".join(lab.text.split())
    assert max(map(len, lab.text.splitlines())) <= 80


@pytest.mark.parametrize(
    "path",
    [*ROOT.glob("labs/*/*.yaml"), *ROOT.glob("scenarios/*.yaml")],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_yaml_reader_can_read_them(path: Path) -> None:
    """That of libyaml takes more than others, and is not everywhere."""
    text = path.read_text()
    assert list(yaml.load_all(text, yaml.SafeLoader)) == list(yaml.load_all(text, yaml.CSafeLoader))
