"""One run in a hundred is played twice, in another process with another hash seed: its trace must be the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from kubesim.executors.executor import Lost
from kubesim.executors.same_process import SameProcess
from kubesim.explore.choice import Choice
from kubesim.explore.repeated_run import SHARE, RepeatedRuns, is_repeated
from kubesim.explore.run import Run
from kubesim.explore.search.exploration import Budget, Exploration, Settings
from kubesim.explore.subject import ExploreSubject


@pytest.fixture(scope="module")
def subject() -> ExploreSubject:
    return ExploreSubject.of_file("scenarios/hello-pod.yaml")


def test_another_process_has_the_same_traces(subject: ExploreSubject) -> None:
    runs = (Run(subject), Run(subject, (Choice("crash-kubelet", "runtime.StartContainer"),)))
    assert RepeatedRuns(runs)() == tuple(run().trace_hash for run in runs)


def test_a_process_that_fails_gives_no_hashes() -> None:
    broken = ExploreSubject("gone.yaml", "kind: [", "", "gone")
    [reported] = RepeatedRuns((Run(broken),))()
    assert reported.startswith("missing: the process ")


def test_one_run_in_a_hundred_is_chosen(subject: ExploreSubject) -> None:
    """Also of runs with the same trace, such as those whose fault never happens."""
    assert SHARE == 100
    runs = [Run(subject, (Choice("reboot", "runtime.StartContainer", nth=number),)) for number in range(5_000)]
    assert 30 <= sum(is_repeated(run, "00ff") for run in runs) <= 75
    assert not any(is_repeated(run, "") for run in runs)


class OtherTraces(SameProcess):
    """An executor whose other processes have other traces, or are lost."""

    answers: Sequence[Any] = ()

    def results(self, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        for number, task in enumerate(tasks):
            yield number, self.answers[0] if isinstance(task, RepeatedRuns) else task()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (("0123",), "played again in another process, its trace is 0123 and not "),
        (Lost("the node is gone"), "played again in another process, its trace is missing: the node is gone and not "),
    ],
)
def test_a_difference_is_a_finding(subject: ExploreSubject, answer: Any, text: str) -> None:
    executor = OtherTraces()
    executor.answers = [answer]
    result = Exploration(subject, Settings(effects=(), budget=Budget(runs=10)), executor).explore()
    assert result.played_twice == 1
    [finding] = result.findings
    assert finding.problem.rule == "not deterministic"
    assert finding.problem.text.startswith(text)


def test_the_same_traces_are_no_finding(subject: ExploreSubject) -> None:
    result = Exploration(subject, Settings(effects=(), budget=Budget(runs=10)), SameProcess()).explore()
    assert (result.played_twice, result.findings) == (1, [])
