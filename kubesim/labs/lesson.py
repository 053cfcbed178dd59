"""One lab and one learner: the text, the questions, the answers, the hints, the task and the walk inside.

Every method returns lines of text for the learner. Methods change the progress; the caller saves it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from pathlib import Path

from kubesim.labs.answers import judge, look_up_truth
from kubesim.labs.explain import answer_lines, prediction_lines, walk_lines, wrapped
from kubesim.labs.language import Moment, Question
from kubesim.labs.load import Lab, lab_text
from kubesim.labs.network import play_network
from kubesim.labs.playing import LessonRun, Play
from kubesim.labs.progress import LabProgress
from kubesim.labs.reading import letter, split_words
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.expect_items import Expect
from kubesim.scenario.load.loader import load_scenario
from kubesim.shipped import shipped
from kubesim.trace.records import Record


class Lesson:
    """`work` is the path of the learner's own copy of the scenario."""

    def __init__(self, lab: Lab, progress: LabProgress, play: Play, work: Path) -> None:
        self.lab = lab
        self.progress = progress
        self._play = play
        self._work = work
        self._runs: dict[str, LessonRun] = {}

    def run(self, profile: str = "") -> LessonRun:
        """The lab's own run, played when it is first needed; with a profile, a run under that kubelet version."""
        if profile not in self._runs:
            network = self.lab.network
            self._runs[profile] = (
                self._play(self.lab.scenario(profile)) if network is None else LessonRun(play_network(network), ())
            )
        return self._runs[profile]

    @property
    def records(self) -> tuple[Record, ...]:
        return self.run().records

    @property
    def open_question(self) -> Question | None:
        """The first question that is not done."""
        return next((q for q in self.lab.file.questions if not self.progress.of(q.id).done), None)

    @property
    def is_done(self) -> bool:
        return self.progress.is_done(self.lab)

    # -- output -------------------------------------------------------------------------------------------------

    def begin(self) -> list[str]:
        """The text of the lab, its terms and links, the path of the file, and the open question."""
        file = self.lab.file
        title, *text = self.lab.text.strip("\n").splitlines()
        lines = [title, "", f"Lab {self.lab.number}, {file.level}, about {file.minutes} minutes.", *text, ""]
        lines += ["## Terms", ""]
        for term, meaning in file.terms.items():
            lines += wrapped(meaning, f"- {term}: ", "  ")
        lines += ["", f"More terms: {shipped('glossary.md')}"]
        lines += ["", "## Read more", "", *(f"- {link}" for link in file.links), "", "## Files", ""]
        if self.lab.network is None:
            lines += ["Your copy of the scenario, which you may change (the questions are about the original):"]
            lines += [f"  {self._work}", ""]
        else:
            lines += [f"The steps of this lab: {self.lab.scenario_path}", ""]
        return lines + self.ask()

    def ask(self) -> list[str]:
        """The open question, or the task, or the end of the lab."""
        question = self.open_question
        if question is not None:
            number = self.lab.file.questions.index(question) + 1
            kind = "Predict" if question.predict else "Question"
            head = f"{kind} {number} of {len(self.lab.file.questions)}: "
            lines = wrapped(question.ask, head, "  ")
            if question.values is None:
                lines += [f"  {letter(index)}) {choice}" for index, choice in enumerate(question.choices)]
            return [*lines, f"  ({_wanted(question)}: kubesim lab check ANSWER)"]
        if not self.is_done:
            assert self.lab.file.task is not None
            return [
                *wrapped(self.lab.file.task.ask, "Task: ", "  "),
                f"  (change {self._work}, then: kubesim lab check)",
            ]
        return [
            f"Lab {self.lab.number} is done.",
            *wrapped(self.lab.file.experiment, "  Try freely: ", "  "),
            *([] if self.lab.network is not None else [f"  Your copy: {self._work}"]),
            "  kubesim lab inside   walks through the code path of the run",
            "  kubesim lab next     begins the next lab",
        ]

    def inside(self) -> list[str]:
        """The walk through the code path, with the records of the run."""
        head = [f"Inside lab {self.lab.number}: {self.lab.file.title}", ""]
        return head + walk_lines(self.records, self.lab.file.inside, str(self.lab.folder / "lab.yaml"))

    # -- answers ------------------------------------------------------------------------------------------------

    def take_words(self, words: list[str]) -> tuple[str, list[str]]:
        """The words that answer the open question, and the remaining words for the next questions."""
        return split_words([q for q in self.lab.file.questions if not self.progress.of(q.id).done], words)

    def answer(self, text: str) -> tuple[list[str], bool]:
        """Take an answer to the open question; False if it was wrong. Any prediction is accepted."""
        question = self.open_question
        assert question is not None
        run = self.run(question.profile)
        verdict = judge(run.records, question, text)
        done = self.progress.of(question.id)
        if not done.tries:
            done.first, done.right_at_first = text, verdict.right
        done.tries += 1
        done.done = verdict.right or question.predict
        kubectl = question.kubectl or self.lab.file.kubectl
        if question.predict:
            return prediction_lines(run, question, verdict, kubectl), True
        return answer_lines(run, question, verdict, kubectl), verdict.right

    def hint(self) -> list[str]:
        """The next of three hints, each more specific: an idea, the relevant records, the answer."""
        question = self.open_question
        if question is None:
            return ["This lab has nothing left to answer."] if self.is_done else self._task_hint()
        done = self.progress.of(question.id)
        done.hints += 1
        if done.hints == 1:
            return wrapped(question.hint, "Hint 1 of 3: ", "  ")
        if done.hints == 2:
            with_profile = f" --profile {question.profile}" if question.profile else ""
            steps = [f"  kubesim lab step{with_profile} --break-on '{on}'" for on in conditions(question)]
            return ["Hint 2 of 3: the run shows it at these records.", *steps]
        truth = look_up_truth(self.run(question.profile).records, question)
        return wrapped(f"{truth.text}. {question.rule}", "Hint 3 of 3: the answer is ", "  ")

    def _task_hint(self) -> list[str]:
        assert self.lab.file.task is not None
        self.progress.task_hints += 1
        number = min(self.progress.task_hints, 3)
        if number < 3:
            return wrapped(self.lab.file.task.hints[number - 1], f"Hint {number} of 3: ", "  ")
        solved = self.lab.folder / "solved.yaml"
        return [f"Hint 3 of 3: this change solves it ({solved}).", *_changes(self.lab.scenario_path, solved)]

    # -- the task -----------------------------------------------------------------------------------------------

    def prepare(self, write: Callable[[Path, str], None]) -> None:
        """Give the learner a copy of the scenario, unless there is one."""
        if self.lab.network is None and not self._work.exists():
            write(self._work, lab_text(self.lab.scenario_path))

    def check_task(self) -> tuple[list[str], bool]:
        """Run the learner's scenario with the expectations of the task."""
        failed = self.failed_expectations(load_scenario(str(self._work)))
        if failed:
            return ["Not quite. These expectations failed:", *(f"  {text}" for text in failed)], False
        self.progress.task_done = True
        return ["Correct: every expectation of the task is met."], True

    def failed_expectations(self, scenario: Scenario) -> tuple[str, ...]:
        """The expectations of the task that a scenario does not meet; expectations of the scenario itself are
        ignored."""
        assert self.lab.file.task is not None
        return self._play(expecting(scenario, self.lab.file.task.expect)).failed


def expecting(scenario: Scenario, expect: tuple[Expect, ...]) -> Scenario:
    return scenario.model_copy(update={"spec": scenario.spec.model_copy(update={"expect": expect})})


def _changes(before: Path, after: Path) -> list[str]:
    """The changed lines, as a diff."""
    old, new = (lab_text(path).splitlines() for path in (before, after))
    changed = [line for line in difflib.unified_diff(old, new, lineterm="", n=1) if line[:4] not in ("--- ", "+++ ")]
    return [f"  {line}" for line in changed if not line.startswith("@@")]


def conditions(question: Question) -> list[str]:
    """The conditions that a question uses to find its records."""
    return list(dict.fromkeys(moment.on for moment in _moments(question)))


def _moments(question: Question) -> Iterator[Moment]:
    if question.time is not None:
        yield from (moment for moment in (question.time.since, question.time.at) if moment is not None)
    elif question.count is not None:
        yield Moment(on=question.count.of)
        yield from () if question.instead is None else (question.instead,)
    elif question.order is not None:
        yield from question.order.values()
    elif question.value is not None:
        yield question.value.at
    elif question.values is not None:
        yield Moment(on=question.values.of)
        yield from () if question.instead is None else (question.instead,)
    elif question.happens is not None:
        yield question.instead or question.happens


def _wanted(question: Question) -> str:
    return {
        "time": "a duration such as 10s, or a range such as 10-15s",
        "count": "a number",
        "order": f"{', '.join(sorted(question.order or ()))} in their order",
        "value": "a letter or the words" if question.choices else "a word",
        "values": f"one or more of {', '.join(question.choices)}" if question.choices else "one or more words",
        "happens": "yes or no",
    }[question.answer_kind]
