"""`Partition`: a share of a search, which selects its next runs only by the outcomes of its own runs.

A search has a fixed number of partitions, so its results do not depend on how many of them run side by side, or on
which machine. A partition first plays its share of the single faults, then pairs and random combinations in turn:

- a pair continues a run that reached rare rules, with a second fault at a later point of that run;
- random combinations come from `RandomBatch`.

Pure: generators yield tasks and receive their results; None for those that were not played, because the time was up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import field
from itertools import islice
from math import fsum
from typing import Any

from kubesim.clock import Randomness
from kubesim.explore.choice import Choice
from kubesim.explore.points import choices_of
from kubesim.explore.run import Run, RunOutcome
from kubesim.explore.search.finding import Finding, Identity, merged
from kubesim.explore.search.random_batch import RandomBatch, RandomBatchOutcome
from kubesim.explore.search.shrink import shrink
from kubesim.explore.subject import ExploreSubject
from kubesim.values import mutable, value_object

PARTITIONS = 8
ROUND = 16  # runs of one partition that are played side by side
PARENTS = 4  # runs that pairs continue, in each round of pairs

Tasks = Sequence[Any]
Steps = Generator[Tasks, Sequence[Any], None]


@value_object
class SearchPlan:
    """The data that all partitions of a search share. `singles` are all single choices."""

    subject: ExploreSubject
    effects: tuple[str, ...]
    singles: tuple[Choice, ...]
    reference: RunOutcome
    seed: int = 0
    nodes: int = 1
    database: str = ""


@mutable(eq=False)
class PlayedRun:
    """A run of this partition with the rules that it reached."""

    run: Run
    outcome: RunOutcome
    was_parent: bool = False


@mutable(eq=False)
class Partition:
    """The state of one partition. `left` is the number of runs that it may still make; None: no limit."""

    plan: SearchPlan
    number: int
    partitions: int
    left: int | None
    played: list[PlayedRun] = field(default_factory=list)
    findings: dict[Identity, Finding] = field(default_factory=dict)
    rules: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    shrinking: int = 0  # runs for shrinking
    growth: list[tuple[int, int]] = field(default_factory=list)  # number of runs, and of rules reached by then

    def steps(self) -> Steps:
        """The rounds of this partition, until its budget is used up."""
        self._count_rules(self.plan.reference)
        singles = iter(self.plan.singles[self.number :: self.partitions])
        while batch := list(islice(singles, self._affordable(ROUND))):
            yield from self._play([Run(self.plan.subject, (choice,)) for choice in batch])
        number = 0
        while self._affordable(ROUND) and self.plan.singles:
            before = self.runs
            yield from self._pairs()
            yield from self._random(number)
            number += 1
            if self.runs == before:
                return

    def _affordable(self, wanted: int) -> int:
        return wanted if self.left is None else max(0, min(wanted, self.left))

    def _count_rules(self, outcome: RunOutcome) -> None:
        self.rules.update(outcome.rules)

    # -- playing ------------------------------------------------------------------------------------------------

    def _play(self, runs: Sequence[Run]) -> Steps:
        outcomes = yield runs
        played = [(run, outcome) for run, outcome in zip(runs, outcomes, strict=True) if outcome is not None]
        self._count(len(played))
        for run, outcome in played:
            self.rules.update(outcome.rules)
            self.played.append(PlayedRun(run, outcome))
        self.growth.append((self.runs, len(self.rules)))
        yield from self._record_problems(played)

    def _count(self, runs: int) -> None:
        self.runs += runs
        if self.left is not None:
            self.left -= runs

    def _record_problems(self, outcomes: Sequence[tuple[Run, RunOutcome]]) -> Steps:
        """Count the problems of these outcomes; shrink those that are new."""
        known = {problem.identity for problem in self.plan.reference.problems}
        fresh: dict[Identity, Finding] = {}
        for run, outcome in outcomes:
            for problem in outcome.problems:
                if problem.identity in known:
                    continue
                finding = self.findings.get(problem.identity) or fresh.get(problem.identity)
                if finding is None:
                    fresh[problem.identity] = Finding(problem, run)
                else:
                    self._count_again(fresh, finding)
        self.findings.update(fresh)  # an interrupted search has them, too
        for identity, finding in fresh.items():
            self.findings[identity] = yield from self._shrunk(finding)

    def _count_again(self, fresh: dict[Identity, Finding], finding: Finding) -> None:
        again = Finding(finding.problem, finding.run, finding.count + 1)
        (fresh if finding.identity in fresh else self.findings)[finding.identity] = again

    def _shrunk(self, finding: Finding) -> Generator[Tasks, Sequence[Any], Finding]:
        shrinking, runs = shrink(finding), 0
        outcomes: Sequence[RunOutcome] | None = None
        while True:
            try:
                batch = next(shrinking) if outcomes is None else shrinking.send(outcomes)
            except StopIteration as end:
                self.shrinking += runs
                smallest: Finding = end.value
                return smallest
            runs += len(batch)
            outcomes = yield batch

    # -- pairs --------------------------------------------------------------------------------------------------

    def _pairs(self) -> Steps:
        """Continue the runs that reached the rarest rules with a second fault."""
        parents = sorted((each for each in self.played if not each.was_parent), key=self._rarity, reverse=True)
        chosen = parents[: min(PARENTS, self._affordable(ROUND) // 2)]
        if not chosen:
            return
        for each in chosen:
            each.was_parent = True
        runs = [Run(self.plan.subject, each.run.choices, observed=True) for each in chosen]
        outcomes: Sequence[RunOutcome | None] = yield runs
        self._count(sum(outcome is not None for outcome in outcomes))
        pairs = [self._continued(run, outcome) for run, outcome in zip(runs, outcomes, strict=True) if outcome]
        if not pairs:
            return
        share = self._affordable(ROUND - len(runs)) // len(pairs)
        yield from self._play([run for listed in pairs for run in islice(listed, share)])

    def _rarity(self, played: PlayedRun) -> float:
        return fsum(1 / self.rules[rule] for rule in played.outcome.rules)  # the same in any order

    def _continued(self, run: Run, outcome: RunOutcome) -> Iterator[Run]:
        """Runs with one more fault, at points that come after the first one had its effect."""
        old = {
            (point.operation, point.moment, point.pod, point.container, point.nth, point.t) for point in self._points
        }
        later = [
            point
            for point in outcome.points
            if (point.operation, point.moment, point.pod, point.container, point.nth, point.t) not in old
        ]
        choices = choices_of(later, self.plan.effects, nodes=self.plan.nodes)
        return (Run(run.subject, (*run.choices, choice)) for choice in choices)

    @property
    def _points(self) -> Sequence[Any]:
        return self.plan.reference.points

    # -- random combinations ------------------------------------------------------------------------------------

    def _random(self, number: int) -> Steps:
        runs = self._affordable(ROUND)
        if not runs:
            return
        seed = Randomness(self.plan.seed).stream("batch", str(self.number), str(number)).getrandbits(32)
        known = (*self.findings, *(problem.identity for problem in self.plan.reference.problems))
        plan = self.plan
        batch = RandomBatch(plan.subject, plan.singles, frozenset(self.rules), known, seed, runs, plan.database)
        [outcome] = yield [batch]
        if outcome is None:
            return
        assert isinstance(outcome, RandomBatchOutcome)
        self._count(outcome.runs)
        self.shrinking += outcome.shrinking
        self.rules.update(outcome.rules)
        self.growth.append((self.runs, len(self.rules)))
        self.findings.update({finding.identity: finding for finding in outcome.findings})
        for finding in outcome.findings:
            self.findings[finding.identity] = yield from self._shrunk(finding)


def findings_of(partitions: Sequence[Partition]) -> list[Finding]:
    return merged(finding for partition in partitions for finding in partition.findings.values())
