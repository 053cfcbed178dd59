"""Feature gates and named rules of a kubelet version, as a value.

A set of gates is immutable and passed to the functions that decide; there is no global set. `configured_gates` accepts
and rejects settings like the kubelet; the tables are in `table.py`.

Mirrors: component-base/featuregate feature_gate.go SetFromMap
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cache
from typing import Final, NamedTuple

from kubesim.errors import GateError
from kubesim.features.rules import Rules, rules_of
from kubesim.features.table import DEPENDENCIES, PROFILES, TABLE
from kubesim.values import value_object

DEFAULT_PROFILE: Final = "v1.36"
_ALL_OF_STAGE = {"AllAlpha": "A", "AllBeta": "B"}
_UNKNOWN = {".": False, "+": True}  # states of gates that a kubelet does not know, with their effective value


class Gate(NamedTuple):
    stage: str  # A, B, G or D
    default: bool
    locked: bool


@cache
def known_gates(profile: str = DEFAULT_PROFILE) -> Mapping[str, Gate]:
    """The feature gates of this profile's kubelet."""
    column = 1 + PROFILES.index(profile)
    gates = {}
    for row in TABLE.splitlines():
        words = row.split()
        state = words[column]
        if state not in _UNKNOWN:
            gates[words[0]] = Gate(state[0], "+" in state, "!" in state)
    return gates


def profiles_with(gate: str) -> list[str]:
    """The versions that know this gate."""
    return [profile for profile in PROFILES if gate in known_gates(profile)]


@cache
def _defaults(profile: str) -> Mapping[str, bool]:
    """The default of every gate, also of gates that only other profiles have: a gate that does not exist yet is off."""
    column = 1 + PROFILES.index(profile)
    anywhere = {row.split()[0]: _UNKNOWN.get(row.split()[column], False) for row in TABLE.splitlines()}
    return {**anywhere, **{name: gate.default for name, gate in known_gates(profile).items()}}


@value_object
class FeatureGates:
    """`gates.enabled("PodLevelResources")`. Any known gate can be overridden; users go through `configured_gates`."""

    overrides: Mapping[str, bool] = field(default_factory=dict)
    profile: str = DEFAULT_PROFILE
    enabled: Callable[[str], bool] = field(init=False, repr=False, compare=False)
    rules: Rules = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in self.overrides:
            _check_known(name, self.profile)
        # called a thousand times in the life of a pod, so it must cost no more than a dict lookup
        object.__setattr__(self, "enabled", {**_defaults(self.profile), **self.overrides}.__getitem__)
        object.__setattr__(self, "rules", Rules() if self.profile == DEFAULT_PROFILE else rules_of(self.profile))


DEFAULT_GATES = FeatureGates()


def configured_gates(settings: Mapping[str, bool], profile: str = DEFAULT_PROFILE) -> FeatureGates:
    """The gates of a kubelet that is started with these settings. Raises GateError if it would not start."""
    known = known_gates(profile)
    values: dict[str, bool] = {}
    for name, value in settings.items():
        if name in _ALL_OF_STAGE:
            continue
        _check_known(name, profile)
        gate = known[name]
        if gate.locked and value != gate.default:
            said, is_so = str(value).lower(), str(gate.default).lower()
            raise GateError(f"cannot set feature gate {name} to {said}, feature is locked to {is_so}")
        values[name] = value
    for name, stage in _ALL_OF_STAGE.items():
        if name in settings:
            # a gate that is set by name overrides AllAlpha and AllBeta
            values = {**{gate: settings[name] for gate in known if known[gate].stage == stage}, **values}
    gates = FeatureGates(values, profile)
    _check_dependencies(gates)
    return gates


def _check_known(name: str, profile: str) -> None:
    known = known_gates(profile)
    if name in known:
        return
    problem = f"unknown feature gate {name!r}"
    if others := profiles_with(name):
        raise GateError(f"{problem} in {profile}: it is there in {', '.join(others)}")
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    raise GateError(problem + (f"; did you mean {near[0]!r}?" if near else ""))


def _check_dependencies(gates: FeatureGates) -> None:
    for row in DEPENDENCIES.get(gates.profile, "").splitlines():
        name, _, needed = row.partition(": ")
        if gates.enabled(name):
            missing = [other for other in needed.split() if not gates.enabled(other)]
            if missing:
                problem = f"depends on features that are disabled: [{' '.join(missing)}]"
                raise GateError(f"{name} is enabled, but {problem}")
