"""Every shipped lab from start to end: answers, hints, the task, stepping."""

from __future__ import annotations

import re
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
    """The progress with all questions before this one answered."""
    before = lab.file.questions[: lab.file.questions.index(question)]
    return LabProgress({earlier.id: QuestionProgress(done=True) for earlier in before})


def flat(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def test_all_labs_are_shipped() -> None:
    assert [lab.number for lab in LABS] == list(range(1, 17))


@by_lab
def test_its_claims_are_true(lab: Lab, tmp_path: Path) -> None:
    assert problems(lab, lesson(lab, tmp_path)._play) == []


@by_lab
def test_right_answers_finish_it(lab: Lab, tmp_path: Path) -> None:
    work = tmp_path / "scenario.yaml"
    learner = lesson(lab, work)
    learner.prepare(write_file)
    for question in lab.file.questions:
        assert learner.open_question is question
        reported, right = learner.answer(lab.solution.answers[question.id])
        assert right
        assert " ".join(question.rule.split()) in flat(reported)
    assert learner.open_question is None
    if lab.file.task is not None:
        reported, right = learner.check_task()
        assert not right, "the unchanged scenario solves the task"
        assert "Not quite. These expectations failed" in flat(reported)
        shutil.copy(lab.folder / "solved.yaml", work)
        assert learner.check_task()[1]
    assert learner.is_done


@by_question
def test_a_common_wrong_answer_gets_its_hint(lab: Lab, question: Question, tmp_path: Path) -> None:
    for wrong in question.wrong:
        learner = lesson(lab, tmp_path, standing_at(lab, question))
        reported, right = learner.answer(wrong.answer)
        assert " ".join(wrong.hint.split()) in flat(reported)
        if question.predict:
            assert "Not quite. The first difference is at" in flat(reported) or "it has not happened yet" in flat(
                reported
            )
            assert look_up_truth(learner.records, question).text in flat(reported)
        else:
            assert not right
            assert flat(reported).startswith(f'Not quite: "{wrong.answer}" is wrong.')
            assert learner.open_question is question
            assert " ".join(question.rule.split()) not in flat(reported)  # the hint does not contain the answer


@by_question
def test_hints_become_more_specific(lab: Lab, question: Question, tmp_path: Path) -> None:
    learner = lesson(lab, tmp_path, standing_at(lab, question))
    first, second, third = (flat(learner.hint()) for _ in range(3))
    assert first == f"Hint 1 of 3: {' '.join(question.hint.split())}"
    assert "kubesim lab step" in second
    assert "--break-on" in second
    assert f"the answer is {look_up_truth(learner.run(question.profile).records, question).text}." in third


@pytest.mark.parametrize("lab", [lab for lab in LABS if lab.file.task is not None], ids=lambda lab: lab.name)
def test_the_solution_of_a_task_is_its_third_hint(lab: Lab, tmp_path: Path) -> None:
    progress = LabProgress({question.id: QuestionProgress(done=True) for question in lab.file.questions})
    learner = lesson(lab, tmp_path, progress)
    first, second, third, again = ("\n".join(learner.hint()) for _ in range(4))
    assert third == again
    changed = {*(lab.folder / "solved.yaml").read_text().splitlines()} - {*lab.scenario_path.read_text().splitlines()}
    assert all(line in third for line in changed)
    assert not any(line.strip() in first + second for line in changed)


@by_lab
def test_a_right_answer_is_followed_by_kubectl_output(lab: Lab, tmp_path: Path) -> None:
    for question in lab.file.questions:
        reported, _ = lesson(lab, tmp_path, standing_at(lab, question)).answer(lab.solution.answers[question.id])
        assert flat(reported).startswith("Your prediction:" if question.predict else "Correct:")
        has_record = any(line.startswith("  at  ") for line in reported)
        assert sum("`kubectl get" in line for line in reported) == (has_record and lab.network is None)


@by_lab
def test_the_stepper_works(lab: Lab, tmp_path: Path) -> None:
    reported = lesson(lab, tmp_path).inside()
    assert sum(line.lstrip().startswith("as in") for line in reported) >= len(lab.file.inside) // 3
    assert all(" ".join(stop.say.split()) in flat(reported) for stop in lab.file.inside)


@by_lab
def test_its_text_fits_a_terminal_and_names_a_common_belief(lab: Lab) -> None:
    assert lab.text.startswith(f"# {lab.file.title}\n")
    assert f'Common belief: "{lab.file.belief}"' in " ".join(lab.text.split())
    assert max(map(len, lab.text.splitlines())) <= 80


@by_lab
def test_it_starts_with_time_level_terms_and_links_and_names_one_file(lab: Lab, tmp_path: Path) -> None:
    work = tmp_path / "scenario.yaml"
    reported = "\n".join(lesson(lab, work).begin())
    assert f"Lab {lab.number}, {lab.file.level}, about {lab.file.minutes} minutes." in reported
    assert all(part in reported for part in ("## What to know", "## Picture", "## Terms", "## Read more"))
    assert "More terms: " in reported
    assert all(link in reported for link in lab.file.links)
    assert any(link.startswith("https://kubernetes.io/") for link in lab.file.links)
    assert reported.count(".yaml\n") == 1
    assert str(work if lab.network is None else lab.scenario_path) in reported


@by_lab
def test_it_ends_with_an_experiment(lab: Lab, tmp_path: Path) -> None:
    progress = LabProgress({question.id: QuestionProgress(done=True) for question in lab.file.questions}, True)
    reported = flat(lesson(lab, tmp_path / "scenario.yaml", progress).ask())
    assert f"Try freely: {' '.join(lab.file.experiment.split())}" in reported


@pytest.mark.parametrize("lab", LABS[12:], ids=lambda lab: lab.name)
def test_the_belief_has_a_published_example(lab: Lab) -> None:
    found = re.search(r'^Common belief: "[^"]+"\n\nExample: (https://\S+)$', lab.text, re.MULTILINE)
    assert found is not None
    assert found[1] in lab.file.links


_OTHER_TIMES = re.compile(r"\b\d+(\.\d+)? (s|sec|seconds|min|minutes|m|h)\b")


@by_lab
def test_times_have_one_format(lab: Lab) -> None:
    """`10s` and `1m30s`, as Kubernetes does; not `10 s` or `90 seconds`."""
    assert [found[0] for found in _OTHER_TIMES.finditer(lab.text + (lab.folder / "lab.yaml").read_text())] == []


@pytest.mark.parametrize(
    "path",
    [*ROOT.glob("labs/*/*.yaml"), *ROOT.glob("scenarios/*.yaml")],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_yaml_parser_can_read_it(path: Path) -> None:
    """libyaml's parser accepts more than others, and is not available everywhere."""
    text = path.read_text()
    assert list(yaml.load_all(text, yaml.SafeLoader)) == list(yaml.load_all(text, yaml.CSafeLoader))
