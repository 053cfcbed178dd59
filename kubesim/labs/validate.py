"""Checks a lab: all its statements must be true in its own run."""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.errors import UsageError
from kubesim.labs.answers import judge, look_up_truth
from kubesim.labs.explain import stop_record
from kubesim.labs.kubectl_view import kubectl_lines
from kubesim.labs.language import Question
from kubesim.labs.lesson import Lesson, expecting
from kubesim.labs.load import Lab
from kubesim.labs.playing import Play
from kubesim.labs.progress import LabProgress
from kubesim.labs.reading import read_answer
from kubesim.scenario.load.manifests import field_name
from kubesim.scenario.names.check import expectation_problems

_TEXT_PARTS = ("# ", "## What to know", "## Picture", "## What you will do")
_UPSTREAM = "https://kubernetes.io/"


def problems(lab: Lab, play: Play) -> list[str]:
    """One line for each problem; none if the lab is valid."""
    lesson = Lesson(lab, LabProgress(), play, lab.folder / "solved.yaml")
    out = [f"text.md: {part.strip('# ') or 'a title'} is missing" for part in _TEXT_PARTS if part not in lab.text]
    if " ".join(lab.file.belief.split()) not in " ".join(lab.text.split()):
        out.append("text.md: does not quote the belief of lab.yaml")
    if lab.network is None and not any(link.startswith(_UPSTREAM) for link in lab.file.links):
        out.append(f"lab.yaml: links: none leads to {_UPSTREAM}")
    if lab.network is None:
        out += [f"scenario.yaml: failed: {text}" for text in play(lab.scenario()).failed]
    try:
        history = lesson.run().history
        if history is not None:
            kubectl_lines(history, lab.file.kubectl, 0)
    except UsageError as error:
        return [*out, str(error)]
    out += _questions(lab, lesson)
    for stop in lab.file.inside:
        try:
            stop_record(lesson.records, stop, "inside")
        except UsageError as error:
            out.append(str(error))
    if lab.file.task is not None:
        required = expecting(lab.solved(), lab.file.task.expect).spec
        out += [f"task.{field_name(problem.path)}: {problem.text}" for problem in expectation_problems(required)]
        out += [f"solved.yaml: failed: {text}" for text in lesson.failed_expectations(lab.solved())]
        if not lesson.failed_expectations(lab.scenario()):
            out.append("task: the scenario already meets all of its expectations")
    return out


def _questions(lab: Lab, lesson: Lesson) -> list[str]:
    out = []
    extra = set(lab.solution.answers) - {question.id for question in lab.file.questions}
    out += [f"solution.yaml: there is no question {id!r}" for id in sorted(extra)]
    for question in lab.file.questions:
        answer = lab.solution.answers.get(question.id)
        if answer is None:
            out.append(f"solution.yaml: no answer to {question.id}")
        try:
            for problem in _question(lesson, question, answer):
                out.append(problem)
        except UsageError as error:
            out.append(f"{question.id}: {error}")
    return out


def _question(lesson: Lesson, question: Question, answer: str | None) -> Iterator[str]:
    run = lesson.run(question.profile)
    truth = look_up_truth(run.records, question)
    for text in truth.value if question.values is not None else (truth.text,):
        if question.choices and text not in question.choices:
            yield f"{question.id}: the run has {text!r}, which is none of the choices"
    if truth.allowed is not None and not truth.allowed.has(truth.value, question.within if question.time else 0):
        limits = truth.allowed.text if question.time else f"{truth.allowed.low} to {truth.allowed.high}"
        yield f"{question.id}: the run has {truth.text}, which is outside of its range: {limits}"
    for meaning in question.accept:
        read_answer(question, meaning)  # raises NoAnswer if it is invalid
    if answer is not None and not judge(run.records, question, answer).right:
        yield f"solution.yaml: {question.id}: {answer!r} is wrong: the run has {truth.text}"
    for wrong in question.wrong:
        verdict = judge(run.records, question, wrong.answer)
        if verdict.right:
            yield f"{question.id}: {wrong.answer!r} is listed as wrong, but the run has {truth.text}"
        elif verdict.hint != wrong.hint:
            yield f"{question.id}: {wrong.answer!r} gets the hint of another wrong answer"
    if question.kubectl and run.history is not None:
        kubectl_lines(run.history, question.kubectl, 0)
