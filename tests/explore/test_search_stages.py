"""The stages after the single faults: pairs, and random combinations with hypothesis. Outcomes of runs are given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubesim.explore.choice import Choice
from kubesim.explore.points import Point
from kubesim.explore.run import Problem, Run, RunOutcome
from kubesim.explore.search.partition import PARENTS, Partition, SearchPlan
from kubesim.explore.search.random_batch import MOST_FAULTS, MOST_SHRINKING, RandomBatch, RandomBatchOutcome
from kubesim.values import replace
from tests.support.searches import subject_of

SUBJECT = subject_of("""
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: main, image: nginx}]
""")
SINGLES = tuple(
    Choice(effect, operation)
    for effect in ("error", "lost", "hang")
    for operation in ("runtime.CreateContainer", "runtime.StartContainer", "image.PullImage", "cni.Add")
)
FIRST, SECOND = SINGLES[1], SINGLES[7]
BOTH = Problem("invariant both", "both faults", "both")


def outcome_of(run: Run) -> RunOutcome:
    """Two faults together break the run; each fault reaches a rule of its own."""
    problems = (BOTH,) if {FIRST, SECOND} <= set(run.choices) else ()
    return RunOutcome("", rules=frozenset(choice.text for choice in run.choices), problems=problems)


# -- random combinations ------------------------------------------------------------------------------------------


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Choice, ...]]:
    runs = []

    def play(self: Run) -> RunOutcome:
        runs.append(self.choices)
        return outcome_of(self)

    monkeypatch.setattr(Run, "__call__", play)
    return runs


def batch(runs: int = 150, **changes: Any) -> RandomBatch:
    return replace(RandomBatch(SUBJECT, SINGLES, frozenset(), (), seed=1, runs=runs), **changes)


def test_hypothesis_shrinks_a_random_combination_to_the_faults_that_matter(played: list[tuple[Choice, ...]]) -> None:
    outcome = batch()()
    [finding] = outcome.findings
    assert set(finding.choices) == {FIRST, SECOND}
    assert outcome.runs + outcome.shrinking == len(played) == len(set(played))  # none is played twice
    assert 0 < outcome.shrinking + outcome.runs <= 150 + MOST_SHRINKING
    assert all(2 <= len(choices) <= MOST_FAULTS for choices in played)
    assert outcome.rules == {choice.text for choices in played for choice in choices}


def test_a_batch_depends_only_on_its_seed(played: list[tuple[Choice, ...]]) -> None:
    found = []
    for seed in (1, 1, 2):
        played.clear()
        found.append((batch(seed=seed)(), list(played)))
    assert found[0] == found[1]
    assert found[0][1] != found[2][1]


def test_a_known_problem_is_no_finding(played: list[tuple[Choice, ...]]) -> None:
    outcome = batch(known=(BOTH.identity,))()
    assert outcome.findings == ()
    assert any({FIRST, SECOND} <= set(choices) for choices in played)


def test_examples_of_the_database_come_first(played: list[tuple[Choice, ...]], tmp_path: Path) -> None:
    assert batch(database=str(tmp_path))().findings
    played.clear()
    [finding] = batch(runs=1, seed=5, database=str(tmp_path))().findings
    assert set(played[0]) == set(finding.choices) == {FIRST, SECOND}
    assert not batch(runs=1, seed=5)().findings


# -- pairs --------------------------------------------------------------------------------------------------------


def point(t: int, operation: str, nth: int = 1) -> Point:
    return Point(t, operation, "before", nth)


# The points of the run without faults. With the first fault, the container is started a second time, 10 s later.
KNOWN_POINTS = tuple(point(n, operation) for n, operation in enumerate(("runtime.CreateContainer", "cni.Add")))
LATER = point(10_000_000, "runtime.StartContainer", 2)
AGAIN = LATER.choice("error")


def plays(partition: Partition, outcome_of: Callable[[Run], RunOutcome]) -> list[list[Any]]:
    """The rounds of tasks of a partition. Random combinations find nothing."""
    rounds, steps = [], partition.steps()
    asked = next(steps, None)
    while asked is not None:
        rounds.append(list(asked))
        outcomes = [
            RandomBatchOutcome(task.runs, 0, frozenset()) if isinstance(task, RandomBatch) else outcome_of(task)
            for task in asked
        ]
        try:
            asked = steps.send(outcomes)
        except StopIteration:
            asked = None
    return rounds


def with_later_points(run: Run) -> RunOutcome:
    """Only the rare rule of FIRST, and the point after it, are new. Both faults break the run."""
    rules = frozenset(("common", *("rare" for choice in run.choices if choice == FIRST)))
    points = (*KNOWN_POINTS, *((LATER,) if FIRST in run.choices else ())) if run.observed else ()
    problems = (BOTH,) if {FIRST, AGAIN} <= set(run.choices) else ()
    return RunOutcome("", rules=rules, problems=problems, points=points)


def partition(runs: int) -> Partition:
    reference = RunOutcome("", rules=frozenset(("common",)), points=KNOWN_POINTS)
    plan = SearchPlan(SUBJECT, ("error",), SINGLES, reference)
    return Partition(plan, 0, 1, runs)


def test_pairs_continue_the_runs_with_the_rarest_rules_at_points_that_are_new() -> None:
    rounds = plays(partition(len(SINGLES) + 8), with_later_points)
    singles, parents, pairs = rounds[:3]
    assert [run.choices for run in singles] == [(choice,) for choice in SINGLES]
    assert len(parents) == PARENTS
    assert parents[0].choices == (FIRST,)
    assert all(run.observed for run in parents)
    assert [run.choices for run in pairs] == [(FIRST, AGAIN)]


def test_a_problem_of_a_pair_is_found_and_keeps_both_faults() -> None:
    searched = partition(len(SINGLES) + 8)
    plays(searched, with_later_points)
    [finding] = searched.findings.values()
    assert finding.choices == (FIRST, AGAIN)
    assert searched.shrinking > 0
    assert searched.runs == len(SINGLES) + 8


def test_a_run_is_continued_only_once() -> None:
    rounds = plays(partition(200), with_later_points)
    observed = [task.choices for tasks in rounds for task in tasks if isinstance(task, Run) and task.observed]
    assert len(observed) == len(set(observed)) > PARENTS
