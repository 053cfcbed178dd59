"""Shipped scenarios fail when their rule is broken, so their expectations do not hold by accident.

`make soak` breaks the rule of every scenario, other runs those of ten. `test_versions.py` does the same for the
scenarios about versions: they fail with the rules of another version.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.app import run_scenario
from kubesim.scenario.load.loader import load_runs
from tests.support.mutations.key_rules import KEY_RULES
from tests.support.soak import SOAK

SCENARIOS = Path(__file__).parent.parent / "scenarios"
NAMES = {path.relative_to(SCENARIOS).with_suffix("").as_posix() for path in SCENARIOS.rglob("*.yaml")}
STEP = max(1, len(KEY_RULES) // 10)
CHECKED = sorted(KEY_RULES) if SOAK else sorted(KEY_RULES)[STEP // 2 :: STEP][:10]  # of all folders


def test_each_scenario_has_a_rule() -> None:
    assert {name for name in NAMES if not name.startswith("versions/")} == KEY_RULES.keys()


@pytest.mark.violates_invariants
@pytest.mark.parametrize("name", CHECKED)
def test_a_scenario_fails_when_its_rule_is_broken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    KEY_RULES[name].plant(monkeypatch)
    runs = load_runs([str(SCENARIOS / f"{name}.yaml")])
    failures = [failure for _, scenario in runs for failure in run_scenario(scenario).failures]
    assert [failure for failure in failures if failure.kind == "expectation"]
