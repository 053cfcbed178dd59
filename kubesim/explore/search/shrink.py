"""Shrinking: the fewest choices with which a run still has its problem, then the fewest steps, objects and containers.

Pure: a generator yields the runs whose outcomes it needs, so that an executor plays those of one round side by side.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import combinations

from kubesim.errors import UsageError
from kubesim.explore.removal import removable, without
from kubesim.explore.run import Problem, Run, RunOutcome
from kubesim.explore.search.finding import Finding, Identity
from kubesim.explore.subject import ExploreSubject
from kubesim.values import replace

Rounds = Generator[Sequence[Run], Sequence[RunOutcome | None], Finding]
MOST_SUBSETS = 64


def shrink(finding: Finding) -> Rounds:
    """The same problem with fewer choices, and with less of the scenario."""
    finding = yield from _fewer_choices(finding)
    return (yield from _less_scenario(finding))


def _fewer_choices(finding: Finding) -> Rounds:
    choices = finding.choices
    for size in range(len(choices)):
        subsets = list(combinations(choices, size))[:MOST_SUBSETS]
        runs = [replace(finding.run, choices=subset) for subset in subsets]
        smaller = _first(finding, runs, (yield runs))
        if smaller is not None:
            return smaller
    return finding


def _less_scenario(finding: Finding) -> Rounds:
    """Remove one part after the other, as long as the problem stays."""
    tried: set[str] = set()
    while True:
        subject = finding.run.subject
        runs = []
        for path in removable(subject):
            less = _without(subject, path)
            if less is not None and less.text not in tried:
                tried.add(less.text)
                runs.append(replace(finding.run, subject=less))
        smaller = _first(finding, runs, (yield runs)) if runs else None
        if smaller is None:
            return finding
        finding = smaller


def _without(subject: ExploreSubject, path: tuple[str | int, ...]) -> ExploreSubject | None:
    try:
        less = without(subject, path)
        less.check()
    except UsageError:
        return None  # something else refers to the part
    return less


def _first(finding: Finding, runs: Sequence[Run], outcomes: Sequence[RunOutcome | None]) -> Finding | None:
    """The first of these runs that has the problem."""
    for run, outcome in zip(runs, outcomes, strict=True):
        problem = problem_of(outcome, finding.identity) if outcome is not None else None
        if problem is not None:
            return replace(finding, run=run, problem=problem)
    return None


def problem_of(outcome: RunOutcome, identity: Identity) -> Problem | None:
    return next((problem for problem in outcome.problems if problem.identity == identity), None)
