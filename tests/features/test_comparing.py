"""Comparing two kubelets: differing values, mixtures of both, and the values that matter."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kubesim.features import FeatureGates
from kubesim.features.comparing import DifferingValue, differing_values, mixed, needed_for

OLD, NEW = FeatureGates(profile="v1.12"), FeatureGates()
VALUES = [DifferingValue("gate", f"G{n}", False, True) for n in range(100)]


def test_rules_come_first_with_their_row_and_then_gates() -> None:
    found = differing_values(OLD, NEW)
    by_name = {value.name: value for value in found}
    checkpoints = by_name["bootstrap_checkpoints"]
    assert (checkpoints.kind, checkpoints.left, checkpoints.right) == ("rule", True, False)
    assert checkpoints.scenario == "versions/v1.12-restore.yaml"
    assert by_name["PodReadyToStartContainersCondition"][:4] == (
        "gate", "PodReadyToStartContainersCondition", False, True,
    )  # fmt: skip
    assert [value.kind for value in found] == sorted((value.kind for value in found), reverse=True)


def test_equal_kubelets_have_no_differing_values_and_a_setting_makes_one() -> None:
    assert differing_values(NEW, FeatureGates()) == []
    [only] = differing_values(NEW, FeatureGates({"PodLevelResources": False}))
    assert only[:4] == ("gate", "PodLevelResources", True, False)


def test_a_mixed_kubelet_has_exactly_the_taken_values() -> None:
    taken = [value for value in differing_values(OLD, NEW) if value.name in ("bootstrap_checkpoints", "NodeSwap")]
    asked: set[str] = set()
    gates = mixed(OLD, NEW, taken, asked)
    assert (gates.rules.bootstrap_checkpoints, gates.enabled("NodeSwap")) == (False, True)
    assert not gates.enabled("PodReadyToStartContainersCondition")
    assert asked == {"NodeSwap", "PodReadyToStartContainersCondition"}
    assert gates.profile == "v1.12"


def test_with_all_values_it_equals_the_other_one() -> None:
    gates = mixed(OLD, NEW, differing_values(OLD, NEW))
    assert differing_values(gates, NEW) == []


@pytest.mark.parametrize("culprits", [{"G0"}, {"G99"}, {"G42"}, {"G3", "G77"}, {"G1", "G2", "G50"}])
def test_the_relevant_values_are_found_with_few_trials(culprits: set[str]) -> None:
    questions = 0

    def is_enough(taken: Sequence[DifferingValue]) -> bool:
        nonlocal questions
        questions += 1
        return culprits <= {value.name for value in taken}

    assert {value.name for value in needed_for(VALUES, is_enough)} == culprits
    assert questions <= 8 * len(culprits)
