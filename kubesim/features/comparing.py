"""Comparison of two kubelet versions: the gates and rules that differ, and which of them matter for a run.

`mixed` builds a kubelet with some values of another one. `needed_for` finds by trial the values that change the result;
nothing else differs between the trials.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from typing import Any, Literal, NamedTuple

from kubesim.features import FeatureGates
from kubesim.features.differences import DIFFERENCES
from kubesim.features.rules import Rules
from kubesim.features.table import TABLE

_ROWS = {row.rule: row for row in DIFFERENCES}


class DifferingValue(NamedTuple):
    """A gate or rule with its values in two kubelets. For a rule, `what` describes the difference that a user sees."""

    kind: Literal["gate", "rule"]
    name: str
    left: Any
    right: Any
    what: str = ""
    upstream: str = ""
    scenario: str = ""


def differing_values(left: FeatureGates, right: FeatureGates) -> list[DifferingValue]:
    """The gates and rules that differ; rules first, because there are fewer of them and each affects the simulation."""
    found = []
    for rule in (each.name for each in fields(Rules)):
        ours, theirs = getattr(left.rules, rule), getattr(right.rules, rule)
        if ours != theirs:
            row = _ROWS[rule]
            found.append(DifferingValue("rule", rule, ours, theirs, row.what, row.upstream, row.scenario))
    for gate in (line.split()[0] for line in TABLE.splitlines()):
        if left.enabled(gate) != right.enabled(gate):
            found.append(DifferingValue("gate", gate, left.enabled(gate), right.enabled(gate)))
    return found


def mixed(
    base: FeatureGates, other: FeatureGates, taken: Collection[DifferingValue], asked: set[str] | None = None
) -> FeatureGates:
    """The base with these values of the other kubelet. The names of queried gates are added to `asked`."""
    gates = FeatureGates(base.overrides, base.profile)
    values = {each.name: other.enabled(each.name) for each in taken if each.kind == "gate"}
    seen = set() if asked is None else asked

    def enabled(name: str) -> bool:
        seen.add(name)
        return values[name] if name in values else base.enabled(name)

    switched = {each.name for each in taken if each.kind == "rule"}
    names = [each.name for each in fields(Rules)]
    rules = {name: getattr(other.rules if name in switched else base.rules, name) for name in names}
    object.__setattr__(gates, "enabled", enabled)
    object.__setattr__(gates, "rules", Rules(**rules))
    return gates


def needed_for(
    values: Sequence[DifferingValue], is_enough: Callable[[Sequence[DifferingValue]], bool]
) -> list[DifferingValue]:
    """A minimal set of values that is enough, provided that all of them are: mostly one. Tries about log2(n) sets for
    each.
    """
    needed: list[DifferingValue] = []
    rest = list(values)
    while rest:
        low, high = 1, len(rest)  # the smallest number of further values that is enough
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if is_enough([*needed, *rest[:middle]]) else (middle + 1, high)
        needed.append(rest[low - 1])
        rest = rest[: low - 1]
        if rest and is_enough(needed):
            break
    return needed
