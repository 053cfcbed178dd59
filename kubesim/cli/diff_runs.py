"""The two sides of `kubesim diff`: runs and compares them, and finds the rule that differs by running again.

The rule is not guessed from a record's text. The left side runs again up to the first difference with some values of
the right side's version. The values that make it behave like the right side are the rule.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kubesim.app import Trial, run_scenario
from kubesim.cli.progress.run_progress import RunProgress
from kubesim.features import FeatureGates
from kubesim.features.comparing import DifferingValue, differing_values, mixed, needed_for
from kubesim.scenario.language.document import Scenario
from kubesim.trace import MemorySink, Record, Sink
from kubesim.trace.compare import TraceComparison, compare
from kubesim.trace.compare.first import FirstDifference
from kubesim.values import value_object

if TYPE_CHECKING:
    from kubesim.cli.pictures.report import ReportedRun

MOST_VALUES = 4  # maximum number of rules in an explanation


@value_object
class Side:
    """The flags of one side; `label` names its difference. None: as in the scenario."""

    label: str
    profile: str | None
    seed: int | None
    gates: dict[str, bool] | None


@value_object
class Played:
    """A finished run, or a saved trace, whose scenario and seed are unknown."""

    side: Side
    records: Sequence[Record]
    scenario: Scenario | None = None
    seed: int | None = None
    until: int | None = None
    reported: ReportedRun | None = None  # for --report

    @property
    def gates(self) -> FeatureGates | None:
        return None if self.scenario is None else self.scenario.gates


@value_object
class RuleFinding:
    """The rule behind a difference. `rules` were confirmed by a run; if empty, `differing` lists all differing
    rules.
    """

    rules: Sequence[DifferingValue]
    differing: Sequence[DifferingValue]


@value_object
class RunDifference:
    name: str
    left: Played
    right: Played
    comparison: TraceComparison
    finding: RuleFinding | None  # None: equal or unknown versions
    # remaining differences once earlier rules are equalized
    further: Sequence[tuple[FirstDifference, RuleFinding]] = ()


def play(
    scenario: Scenario,
    side: Side,
    until: int | None,
    *sinks: Sink,
    trial: Trial | None = None,
    report: bool = False,
) -> Played:
    sink, progress = MemorySink(), RunProgress(sys.stderr)
    reported = _reported(scenario, side) if report else None
    kept = () if reported is None else reported.sinks()
    progress.begin(until if trial is None else trial.cut)
    result = run_scenario(
        scenario, seed=side.seed, until=until, sinks=(sink, *sinks, *kept), on_progress=progress.advance, trial=trial
    )
    progress.clear()
    return Played(side, sink.records, scenario, result.seed, until, reported)


def _reported(scenario: Scenario, side: Side) -> ReportedRun:
    from kubesim.cli.flags.saving_flags import header_of
    from kubesim.cli.pictures.report import ReportedRun

    return ReportedRun(header_of(scenario, side.seed), side.label)


def difference_of(name: str, left: Played, right: Played, *, all_rules: bool = False) -> RunDifference:
    is_exact = None if left.seed is None or right.seed is None else left.seed == right.seed
    comparison = compare(left.records, right.records, is_exact=is_exact)
    first, search = comparison.first, RuleSearch(left, right)
    if first is None or not search.differing:
        return RunDifference(name, left, right, comparison, None)
    if not comparison.is_exact:
        return RunDifference(name, left, right, comparison, RuleFinding((), search.differing))
    finding = search.find(first, [])
    further = list(search.further(finding)) if all_rules else []
    return RunDifference(name, left, right, comparison, finding, further)


class RuleSearch:
    """Searches a rule by running the left side with values of the right one."""

    def __init__(self, left: Played, right: Played) -> None:
        self._left, self._right = left, right
        ours, theirs = left.gates, right.gates
        is_known = ours is not None and theirs is not None
        self._gates = ours or FeatureGates(), theirs or FeatureGates()
        self.differing = differing_values(*self._gates) if is_known else []

    def find(self, first: FirstDifference, taken: Sequence[DifferingValue]) -> RuleFinding:
        """The values that explain the next difference, in addition to those found so far."""
        moment = first.moment
        known = [record for record in self._right.records if record.t <= moment[0]]

        def is_enough(more: Sequence[DifferingValue], asked: set[str] | None = None) -> bool:
            """Whether the left side with these values matches the right side beyond this difference."""
            played = self._play([*taken, *more], moment[0] + 1, asked)
            met = compare([record for record in played if record.t <= moment[0]], known, is_exact=True).first
            return met is None or met.moment > moment

        asked: set[str] = set()
        rest = [value for value in self.differing if value not in taken]
        if not is_enough(rest, asked):
            return RuleFinding((), rest)
        found = needed_for([value for value in rest if value.kind == "rule" or value.name in asked], is_enough)
        return RuleFinding(found if len(found) <= MOST_VALUES and is_enough(found) else (), rest)

    def further(self, finding: RuleFinding) -> Iterator[tuple[FirstDifference, RuleFinding]]:
        """The remaining differences, each found after the earlier ones were equalized."""
        taken: list[DifferingValue] = []
        while finding.rules:
            taken += finding.rules
            first = compare(self._play(taken), self._right.records, is_exact=True).first
            if first is None:
                return
            finding = self.find(first, taken)
            yield first, finding

    def _play(
        self, taken: Sequence[DifferingValue], cut: int | None = None, asked: set[str] | None = None
    ) -> Sequence[Record]:
        left = self._left
        assert left.scenario is not None
        trial = Trial(mixed(*self._gates, taken, asked), cut)
        return play(left.scenario, left.side, left.until, trial=trial).records
