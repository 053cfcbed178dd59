"""Versions: named rules by profile, each with a table row and a scenario that demonstrates it."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from kubesim.app import Trial, run_scenario
from kubesim.errors import UsageError
from kubesim.features import DEFAULT_PROFILE, FeatureGates, known_gates
from kubesim.features.comparing import DifferingValue, mixed
from kubesim.features.differences import DIFFERENCES
from kubesim.features.differences.gates import GATE_DIFFERENCES, GateDifference
from kubesim.features.rules import Difference, Rules, rules_of
from kubesim.features.table import PROFILES
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.load.loader import load_scenario, parse_scenario
from kubesim.scenario.load.overlay import Overlay
from kubesim.trace import HashSink
from tests.support.stepping import SCENARIOS

NEIGHBOURS = ("v1.35", "v1.37")  # of the default profile
SHOWN = sorted((SCENARIOS / "versions").glob("*.yaml"))

OTHERS = [
    (row, profile)
    for row in DIFFERENCES
    for profile in row.values
    if not Path(row.scenario).name.startswith(f"{profile}-")
]

ROWS = pytest.mark.parametrize("row", DIFFERENCES, ids=lambda row: row.rule)


def test_each_rule_has_one_row() -> None:
    assert sorted(row.rule for row in DIFFERENCES) == sorted(each.name for each in fields(Rules))


def test_the_default_profile_has_the_default_rules() -> None:
    assert rules_of(DEFAULT_PROFILE) == Rules() == FeatureGates().rules
    assert FeatureGates(profile="v1.12").rules.bootstrap_checkpoints


@ROWS
def test_the_profiles_of_a_row_differ(row: object) -> None:
    assert isinstance(row, tuple)
    rule, values, what, upstream, _ = row
    default = getattr(Rules(), rule)
    assert values
    assert set(values) <= set(PROFILES) - {DEFAULT_PROFILE}
    assert all(type(value) is type(default) and value != default for value in values.values())
    assert what.endswith(".")
    assert upstream


@ROWS
def test_a_row_has_a_scenario_with_one_of_the_profiles(row: object) -> None:
    assert isinstance(row, tuple)
    _, values, _, _, scenario = row
    found = load_scenario(str(SCENARIOS / scenario))
    assert found.spec.profile in values
    assert found.spec.expect


@pytest.mark.violates_invariants
@ROWS
def test_the_scenario_of_a_row_fails_without_its_rule(row: Difference) -> None:
    """The scenario runs with its own kubelet but this one rule of v1.36, so its expectations depend on the rule."""
    scenario = load_scenario(str(SCENARIOS / row.scenario))
    rule = DifferingValue("rule", row.rule, row.values[scenario.gates.profile], getattr(Rules(), row.rule))
    assert not run_scenario(scenario, trial=Trial(mixed(scenario.gates, FeatureGates(), [rule]))).ok


@pytest.mark.violates_invariants
@pytest.mark.parametrize(("row", "profile"), OTHERS, ids=lambda value: getattr(value, "rule", value))
def test_a_rule_has_an_effect_in_each_version_of_its_row(row: Difference, profile: str) -> None:
    """The scenario of the row in the other versions, each with and without this one rule of v1.36."""
    scenario = _in_version(SCENARIOS / row.scenario, profile)
    rule = DifferingValue("rule", row.rule, row.values[profile], getattr(Rules(), row.rule))
    own, changed = (
        run_scenario(scenario, sinks=(HashSink(),), trial=Trial(mixed(scenario.gates, FeatureGates(), values)))
        for values in ([], [rule])
    )
    assert own.trace_hash != changed.trace_hash


def _in_version(path: Path, profile: str) -> Scenario:
    """The scenario in another version. No kubelet takes over from v1.6, so it runs there without its upgrade."""
    overlay, text = Overlay(profile=profile), path.read_text()
    if profile == "v1.6":
        text = re.sub(r"^ *- \{at: \S+, upgrade: .*\n", "", text, flags=re.MULTILINE)
        text = re.sub(r"^ *steps:\n(?! +-)", "", text, flags=re.MULTILINE)
    return parse_scenario(text, str(path), overlay=overlay)


def test_the_command_line_overrides_the_profile_of_a_scenario() -> None:
    hello = str(SCENARIOS / "hello-pod.yaml")
    assert load_scenario(hello).gates.profile == DEFAULT_PROFILE
    assert load_scenario(hello, overlay=Overlay(profile="v1.30")).gates.profile == "v1.30"


@pytest.mark.parametrize("row", GATE_DIFFERENCES, ids=lambda row: row.gate)
def test_a_gate_with_a_row_is_on_in_only_one_version(row: GateDifference) -> None:
    """By default, or because the scenario of one version enables it and the other version does not know it."""
    gates = load_scenario(str(SCENARIOS / row.scenario)).gates
    default = FeatureGates(profile=gates.profile).enabled(row.gate)
    is_new = gates.overrides.get(row.gate) and row.gate not in known_gates()
    assert is_new or default != FeatureGates().enabled(row.gate)


@pytest.mark.violates_invariants
@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.stem)
def test_a_scenario_of_a_version_fails_in_another(path: Path) -> None:
    """In v1.36, or for a scenario about v1.36 in a nearby version: otherwise it would show no difference."""
    own = load_scenario(str(path)).spec.profile
    assert any(_fails(path, other) for other in (NEIGHBOURS if own == DEFAULT_PROFILE else (DEFAULT_PROFILE,)))


def _fails(path: Path, profile: str) -> bool:
    try:
        return not run_scenario(load_scenario(str(path), overlay=Overlay(profile=profile))).ok
    except UsageError:  # that kubelet lacks the setting of the scenario
        return True


def test_each_version_has_five_scenarios() -> None:
    for profile in PROFILES:
        if profile != DEFAULT_PROFILE:
            assert len([path for path in SHOWN if path.stem.startswith(f"{profile}-")]) >= 5
