"""The two sides of `kubesim diff`: played, compared, and played again in part to find the rule that differs.

The rule is not guessed from the text of a record. The left side is played again up to the first difference, with some
values of the right side's version: the values with which it then does as the right side does are the rule.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kubesim.app import Trial, run_scenario
from kubesim.cli.output.run_progress import RunProgress
from kubesim.features import FeatureGates
from kubesim.features.comparing import DifferingValue, differing_values, mixed, needed_for
from kubesim.scenario.language.document import Scenario
from kubesim.trace import MemorySink, Record, Sink
from kubesim.trace.compare import TraceComparison, compare
from kubesim.values import value_object

MOST_VALUES = 4  # that together are still an explanation


@value_object
class Side:
    """What the flags say of a side; `label` is what is different about it. None: as the scenario says."""

    label: str
    profile: str | None
    seed: int | None
    gates: dict[str, bool] | None


@value_object
class Played:
    """A run or a saved trace, of which neither scenario nor seed is known."""

    side: Side
    records: Sequence[Record]
    scenario: Scenario | None = None
    seed: int | None = None
    until: int | None = None

    @property
    def gates(self) -> FeatureGates | None:
        return None if self.scenario is None else self.scenario.gates


@value_object
class RuleFinding:
    """`rules` make the first difference, which was tried; none: `differing` is all that is known."""

    rules: Sequence[DifferingValue]
    differing: Sequence[DifferingValue]


@value_object
class RunDifference:
    name: str
    left: Played
    right: Played
    comparison: TraceComparison
    finding: RuleFinding | None  # None: the sides have the same version, or it is not known


def play(scenario: Scenario, side: Side, until: int | None, *sinks: Sink, trial: Trial | None = None) -> Played:
    sink, progress = MemorySink(), RunProgress(sys.stderr)
    progress.begin(until if trial is None else trial.cut)
    result = run_scenario(
        scenario, seed=side.seed, until=until, sinks=(sink, *sinks), on_progress=progress.advance, trial=trial
    )
    progress.clear()
    return Played(side, sink.records, scenario, result.seed, until)


def difference_of(name: str, left: Played, right: Played) -> RunDifference:
    is_exact = None if left.seed is None or right.seed is None else left.seed == right.seed
    comparison = compare(left.records, right.records, is_exact=is_exact)
    return RunDifference(name, left, right, comparison, _find_rules(left, right, comparison))


def _find_rules(left: Played, right: Played, comparison: TraceComparison) -> RuleFinding | None:
    first, ours, theirs = comparison.first, left.gates, right.gates
    if first is None or ours is None or theirs is None:
        return None
    differing = differing_values(ours, theirs)
    if not differing:
        return None
    if not comparison.is_exact:
        return RuleFinding((), differing)
    moment = first.moment
    known = [record for record in right.records if record.t <= moment[0]]

    def is_enough(taken: Sequence[DifferingValue], asked: set[str] | None = None) -> bool:
        """Does the left side with these values do as the right side does, past the first difference?"""
        assert left.scenario is not None
        trial = Trial(mixed(ours, theirs, taken, asked), moment[0] + 1)
        records = play(left.scenario, left.side, left.until, trial=trial).records
        met = compare([record for record in records if record.t <= moment[0]], known, is_exact=True).first
        return met is None or met.moment > moment

    asked: set[str] = set()
    if not is_enough(differing, asked):
        return RuleFinding((), differing)
    candidates = [value for value in differing if value.kind == "rule" or value.name in asked]
    found = needed_for(candidates, is_enough)
    return RuleFinding(found if len(found) <= MOST_VALUES and is_enough(found) else (), differing)
