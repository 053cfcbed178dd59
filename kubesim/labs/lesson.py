"""One lab and one learner: what is asked, how an answer is taken, hints, the task, and the look inside.

Every method answers lines of text for the learner; the progress is changed, and saved by whoever calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

from kubesim.labs.answers import judge, look_up_truth
from kubesim.labs.explain import answer_lines, prediction_lines, walk_lines, wrapped
from kubesim.labs.language import Moment, Question
from kubesim.labs.load import Lab
from kubesim.labs.network import play_network
from kubesim.labs.progress import LabProgress
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.expect_items import Expect
from kubesim.scenario.load.loader import load_scenario
from kubesim.trace.records import Record
from kubesim.values import value_object


@value_object
class LessonRun:
    """What a played scenario left."""

    records: tuple[Record, ...]
    failed: tuple[str, ...]  # expectations that were not met


Play = Callable[[Scenario], LessonRun]


class Lesson:
    """`work` is the learner's own copy of the scenario, for the task."""

    def __init__(self, lab: Lab, progress: LabProgress, play: Play, work: Path) -> None:
        self.lab = lab
        self.progress = progress
        self._play = play
        self._work = work

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """Of the lab's own run, which is played when it is first needed."""
        if self.lab.network is not None:
            return play_network(self.lab.network)
        return self._play(self.lab.scenario()).records

    @property
    def open_question(self) -> Question | None:
        """The first one that is not done."""
        return next((q for q in self.lab.file.questions if not self.progress.of(q.id).done), None)

    @property
    def is_done(self) -> bool:
        return self.progress.is_done(self.lab)

    # -- telling ------------------------------------------------------------------------------------------------

    def begin(self) -> list[str]:
        lines = [*self.lab.text.rstrip("\n").splitlines(), ""]
        lines += [f"The scenario: {self.lab.scenario_path}", ""]
        return lines + self.ask()

    def ask(self) -> list[str]:
        """The open question, or the task, or that all is done."""
        question = self.open_question
        if question is not None:
            number = self.lab.file.questions.index(question) + 1
            kind = "Predict" if question.predict else "Question"
            head = f"{kind} {number} of {len(self.lab.file.questions)}: "
            lines = wrapped(question.ask, head, "  ")
            lines += [f"  {n}. {choice}" for n, choice in enumerate(question.choices, start=1)]
            return [*lines, f"  ({_wanted(question)}: kubesim lab check ANSWER)"]
        if not self.is_done:
            assert self.lab.file.task is not None
            return [
                *wrapped(self.lab.file.task.ask, "Task: ", "  "),
                f"  (change {self._work}, then: kubesim lab check)",
            ]
        return [
            f"Lab {self.lab.number} is done.",
            "  kubesim lab inside   walks through the code path of what you saw",
            "  kubesim lab next     begins the next lab",
        ]

    def inside(self) -> list[str]:
        """The walk through the code path, with the trace."""
        head = [f"Look inside: {self.lab.file.title}", ""]
        return head + walk_lines(self.records, self.lab.file.inside, str(self.lab.folder / "lab.yaml"))

    # -- taking answers -----------------------------------------------------------------------------------------

    def answer(self, text: str) -> tuple[list[str], bool]:
        """Take an answer to the open question; False if it was wrong. A prediction is taken whatever it is."""
        question = self.open_question
        assert question is not None
        verdict = judge(self.records, question, text)
        done = self.progress.of(question.id)
        if not done.tries:
            done.first, done.right_at_first = text, verdict.right
        done.tries += 1
        done.done = verdict.right or question.predict
        if question.predict:
            return prediction_lines(self.records, question, verdict), True
        return answer_lines(self.records, question, verdict), verdict.right

    def hint(self) -> list[str]:
        """More with each time: the hint, where to look, the answer."""
        question = self.open_question
        if question is None:
            return ["There is nothing left to hint at."] if self.is_done else self._task_hint()
        done = self.progress.of(question.id)
        done.hints += 1
        if done.hints == 1:
            return wrapped(question.hint, "", "")
        if done.hints == 2:
            return ["Look at the run there:", *(f"  kubesim lab step --break-on '{on}'" for on in conditions(question))]
        truth = look_up_truth(self.records, question)
        return wrapped(f"The run says: {truth.text}. {question.rule}", "", "")

    def _task_hint(self) -> list[str]:
        return ["A scenario that does it:", f"  {self.lab.folder / 'solved.yaml'}"]

    # -- the task -----------------------------------------------------------------------------------------------

    def prepare(self, write: Callable[[Path, str], None]) -> None:
        """Give the learner a copy of the scenario, once."""
        if self.lab.file.task is not None and not self._work.exists():
            write(self._work, self.lab.scenario_path.read_text(encoding="utf-8"))

    def check_task(self) -> tuple[list[str], bool]:
        """Play the learner's scenario and hold it against the task."""
        failed = self.failed_expectations(load_scenario(str(self._work)))
        if failed:
            return ["Not yet:", *(f"  not met: {text}" for text in failed)], False
        self.progress.task_done = True
        return ["The task is solved: every expectation is met."], True

    def failed_expectations(self, scenario: Scenario) -> tuple[str, ...]:
        """What of the task a scenario does not meet; its own expectations do not count."""
        assert self.lab.file.task is not None
        return self._play(expecting(scenario, self.lab.file.task.expect)).failed


def expecting(scenario: Scenario, expect: tuple[Expect, ...]) -> Scenario:
    return scenario.model_copy(update={"spec": scenario.spec.model_copy(update={"expect": expect})})


def conditions(question: Question) -> list[str]:
    """Where in the run a question looks."""
    return list(dict.fromkeys(moment.on for moment in _moments(question)))


def _moments(question: Question) -> Iterator[Moment]:
    if question.time is not None:
        yield from (moment for moment in (question.time.since, question.time.at) if moment is not None)
    elif question.count is not None:
        yield Moment(on=question.count.of)
    elif question.order is not None:
        yield from question.order.values()
    elif question.value is not None:
        yield question.value.at
    elif question.happens is not None:
        yield question.happens


def _wanted(question: Question) -> str:
    return {
        "time": "a duration such as 10s",
        "count": "a number",
        "order": f"{', '.join(sorted(question.order or ()))} in their order",
        "value": "one of these" if question.choices else "a word",
        "happens": "yes or no",
    }[question.way]
