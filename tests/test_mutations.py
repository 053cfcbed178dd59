"""Shipped scenarios fail when the rule that they show is broken: their expectations do not hold by accident.

`make soak` breaks the rule of every scenario, everything else those of ten.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.app import run_scenario
from kubesim.scenario.load.loader import load_scenario
from tests.support.mutations.key_rules import KEY_RULES
from tests.support.soak import SOAK

SCENARIOS = Path(__file__).parent.parent / "scenarios"
CHECKED = sorted(KEY_RULES) if SOAK else sorted(KEY_RULES)[:: max(1, len(KEY_RULES) // 10)][:10]


@pytest.mark.violates_invariants
@pytest.mark.parametrize("name", CHECKED)
def test_a_scenario_fails_when_its_rule_is_broken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    KEY_RULES[name].plant(monkeypatch)
    assert not run_scenario(load_scenario(str(SCENARIOS / f"{name}.yaml"))).ok
