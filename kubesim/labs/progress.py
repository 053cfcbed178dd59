"""The progress of a learner, stored in one small file, and the results for a teacher.

The file is in the state directory (XDG_STATE_HOME, by default ~/.local/state/kubesim). A crash leaves either the old
file or the new one.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from kubesim.errors import UsageError
from kubesim.labs.load import Lab
from kubesim.values import mutable


@mutable
class QuestionProgress:
    """The progress in one question. `first` is the first answer; for a prediction, the prediction."""

    first: str = ""
    right_at_first: bool = False
    done: bool = False
    tries: int = 0
    hints: int = 0


@mutable
class LabProgress:
    questions: dict[str, QuestionProgress] = field(default_factory=dict)
    task_done: bool = False
    task_hints: int = 0

    def of(self, question: str) -> QuestionProgress:
        return self.questions.setdefault(question, QuestionProgress())

    def answered(self, lab: Lab) -> int:
        return sum(self.questions[q.id].done for q in lab.file.questions if q.id in self.questions)

    def is_done(self, lab: Lab) -> bool:
        return self.answered(lab) == len(lab.file.questions) and (lab.file.task is None or self.task_done)


def _question(item: dict[str, Any]) -> QuestionProgress:
    """Raises TypeError for unknown fields and for values of another type."""
    read = QuestionProgress(**item)
    if any(type(value) is not type(getattr(QuestionProgress(), name)) for name, value in item.items()):
        raise TypeError
    return read


def _number(value: Any) -> int:
    """A number from JSON. Raises TypeError for any other value."""
    if type(value) is not int:
        raise TypeError
    return value


class Progress:
    """The progress in all labs. It is read once, changed, and saved."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._path = directory / "labs.json"
        self.current = ""
        self.labs: dict[str, LabProgress] = {}
        self._read()

    def _read(self) -> None:
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            self.current = str(content["current"])
            for name, lab in content["labs"].items():
                questions = {id: _question(item) for id, item in lab["questions"].items()}
                self.labs[name] = LabProgress(questions, bool(lab["task_done"]), _number(lab.get("task_hints", 0)))
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            problem = "cannot be read as progress of labs; remove it to start from scratch"
            raise UsageError(f"{self._path}: {problem}") from None

    def of(self, lab: Lab) -> LabProgress:
        return self.labs.setdefault(lab.name, LabProgress())

    def working_copy(self, lab: Lab) -> Path:
        """The path of the learner's own copy of a lab's scenario."""
        return self.directory / "labs" / lab.name / "scenario.yaml"

    def save(self) -> None:
        labs = {name: asdict(lab) for name, lab in self.labs.items()}
        write_file(self._path, json.dumps({"current": self.current, "labs": labs}, indent=1) + "\n")


def state_directory(given: str | None) -> Path:
    if given:
        return Path(given)
    base = os.environ.get("XDG_STATE_HOME", "")
    return (Path(base) if base else Path.home() / ".local" / "state") / "kubesim"


def write_file(path: Path, text: str) -> None:
    """Write a file so that a crash leaves either the old content or the new."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(path.name + ".new")
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


# -- a class ----------------------------------------------------------------------------------------------------


def class_results(learner: str, labs: list[Lab], progress: Progress) -> dict[str, Any]:
    """The results of one learner: all questions of every lab with an answer or a hint."""
    begun = []
    for lab in labs:
        done = progress.labs.get(lab.name)
        if done is None or not any(question.tries or question.hints for question in done.questions.values()):
            continue
        questions = [{"id": q.id, "predict": q.predict, **asdict(done.of(q.id))} for q in lab.file.questions]
        entry: dict[str, Any] = {"lab": lab.name, "title": lab.file.title, "done": done.is_done(lab)}
        if lab.file.task is not None:
            entry["taskDone"] = done.task_done
        begun.append({**entry, "questions": questions})
    return {"learner": learner, "labs": begun}


def class_table(results: list[dict[str, Any]]) -> list[str]:
    """One line per learner and lab."""
    lines = [f"{'LEARNER':<16} {'LAB':<28} {'DONE':<5} {'ANSWERED':>8} {'AT FIRST':>8} {'TRIES':>6} {'HINTS':>6}"]
    for result in sorted(results, key=lambda result: str(result["learner"])):
        for lab in result["labs"]:
            questions = lab["questions"]
            done, first = sum(q["done"] for q in questions), sum(q["right_at_first"] for q in questions)
            tries, hints = sum(q["tries"] for q in questions), sum(q["hints"] for q in questions)
            answered = f"{done}/{len(questions)}"
            lines.append(
                f"{result['learner']:<16} {lab['lab']:<28} {'yes' if lab['done'] else 'no':<5} {answered:>8} "
                f"{first:>8} {tries:>6} {hints:>6}"
            )
    return lines
