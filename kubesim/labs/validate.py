"""Whether a lab teaches what it says: everything it claims is held against its own run."""

from __future__ import annotations

from kubesim.errors import UsageError
from kubesim.labs.answers import judge, look_up_truth
from kubesim.labs.explain import stop_record
from kubesim.labs.lesson import Lesson, Play, expecting
from kubesim.labs.load import Lab
from kubesim.labs.progress import LabProgress
from kubesim.scenario.load.manifests import field_name
from kubesim.scenario.names.check import expectation_problems

_TEXT_PARTS = ("# ", "## What to know")


def problems(lab: Lab, play: Play) -> list[str]:
    """One line for each; empty if the lab is good."""
    lesson = Lesson(lab, LabProgress(), play, lab.folder / "solved.yaml")
    out = [f"text.md: {part.strip('# ') or 'a title'} is missing" for part in _TEXT_PARTS if part not in lab.text]
    if " ".join(lab.file.belief.split()) not in " ".join(lab.text.split()):
        out.append("text.md: does not quote the belief of lab.yaml")
    if lab.network is None:
        out += [f"scenario.yaml: not met: {text}" for text in play(lab.scenario()).failed]
    try:
        _ = lesson.records
    except UsageError as error:
        return [*out, str(error)]
    out += _questions(lab, lesson)
    for stop in lab.file.inside:
        try:
            stop_record(lesson.records, stop, "inside")
        except UsageError as error:
            out.append(str(error))
    if lab.file.task is not None:
        wished = expecting(lab.solved(), lab.file.task.expect).spec
        out += [f"task.{field_name(problem.path)}: {problem.text}" for problem in expectation_problems(wished)]
        out += [f"solved.yaml: not met: {text}" for text in lesson.failed_expectations(lab.solved())]
        if not lesson.failed_expectations(lab.scenario()):
            out.append("task: the scenario as it is meets all of it; there is nothing to do")
    return out


def _questions(lab: Lab, lesson: Lesson) -> list[str]:
    out = []
    extra = set(lab.solution.answers) - {question.id for question in lab.file.questions}
    out += [f"solution.yaml: there is no question {id!r}" for id in sorted(extra)]
    for question in lab.file.questions:
        try:
            truth = look_up_truth(lesson.records, question)
            if question.choices and truth.text not in question.choices:
                out.append(f"{question.id}: the run says {truth.text!r}, which is none of the choices")
            answer = lab.solution.answers.get(question.id)
            if answer is None:
                out.append(f"solution.yaml: no answer to {question.id}")
            elif not judge(lesson.records, question, answer).right:
                out.append(f"solution.yaml: {question.id}: {answer!r} is not what the run says: {truth.text}")
            for wrong in question.wrong:
                verdict = judge(lesson.records, question, wrong.answer)
                if verdict.right:
                    out.append(f"{question.id}: {wrong.answer!r} is listed as wrong, but the run says {truth.text}")
                elif verdict.hint != wrong.hint:
                    out.append(f"{question.id}: {wrong.answer!r} gets the hint of another wrong answer")
        except UsageError as error:
            out.append(f"{question.id}: {error}")
    return out
