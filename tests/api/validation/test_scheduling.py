"""Topology spread constraints, scheduling gates, scheduling groups and readiness gates.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidateTopologySpreadConstraints,
TestValidateSchedulingGates, TestValidatePodCreateWithSchedulingGates, TestValidatePodSchedulingGroup,
TestValidatePodReadinessGates
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.validation import PodValidationOptions
from tests.support.validation.pods import JsonObject, about_spec, gates
from tests.support.validation.texts import KEY, SUBDOMAIN

SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
NO_SELECTOR = "Forbidden: must not be specified when labelSelector is not set"
BOTH = "exists in both matchLabelKeys and labelSelector"


def about(options: PodValidationOptions | None = None, **constraint: Any) -> list[str]:
    found = about_spec({"topologySpreadConstraints": [{**SPREAD, **constraint}]}, options)
    return [error.removeprefix("topologySpreadConstraints[0]") for error in found]


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        ({"minDomains": 3, "nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"}, []),
        ({"matchLabelKeys": ["a"], "labelSelector": {"matchLabels": {"a": "b"}}}, []),
        ({"maxSkew": 0}, [".maxSkew: Invalid value: 0: must be greater than zero"]),
        ({"topologyKey": ""}, [".topologyKey: Required value: can not be empty"]),
        (
            {"whenUnsatisfiable": "N/A"},
            ['.whenUnsatisfiable: Unsupported value: "N/A": supported values: "DoNotSchedule", "ScheduleAnyway"'],
        ),
        ({"minDomains": -1}, [".minDomains: Invalid value: -1: must be greater than zero"]),
        (
            {"minDomains": 3, "whenUnsatisfiable": "ScheduleAnyway"},
            [
                ".minDomains: Invalid value: 3: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
            ],
        ),
        (
            {"nodeAffinityPolicy": "Bend", "nodeTaintsPolicy": ""},
            [
                '.nodeAffinityPolicy: Unsupported value: "Bend": supported values: "Honor", "Ignore"',
                '.nodeTaintsPolicy: Unsupported value: "": supported values: "Honor", "Ignore"',
            ],
        ),
        ({"matchLabelKeys": ["a"]}, [f".matchLabelKeys: {NO_SELECTOR}"]),
        (
            {"matchLabelKeys": ["/a"], "labelSelector": {"matchLabels": {"a b": ""}}},
            [
                '.matchLabelKeys[0]: Invalid value: "/a": prefix part must be non-empty',
                f'.labelSelector.matchLabels: Invalid value: "a b": name part {KEY}',
            ],
        ),
    ],
)
def test_topology_spread(constraint: JsonObject, expected: list[str]) -> None:
    assert about(**constraint) == expected


def test_key_and_action_are_unique() -> None:
    other = {**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}
    assert about_spec({"topologySpreadConstraints": [SPREAD, other, {**SPREAD, "maxSkew": 2}]}) == [
        'topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"'
    ]


@pytest.mark.parametrize(
    "options",
    [
        gates(MatchLabelKeysInPodTopologySpreadSelectorMerge=False),
        gates(MatchLabelKeysInPodTopologySpread=False),
    ],
)
def test_older_versions_forbid_label_keys_that_are_in_the_selector(options: PodValidationOptions) -> None:
    selector = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}
    assert about(options, matchLabelKeys=["d"], labelSelector=selector) == []
    assert about(options) == []
    assert about(options, matchLabelKeys=["a", "c", "?"], labelSelector=selector) == [
        f'.matchLabelKeys[0]: Invalid value: "a": {BOTH}',
        f'.matchLabelKeys[1]: Invalid value: "c": {BOTH}',
        f'.matchLabelKeys[2]: Invalid value: "?": name part {KEY}',
    ]
    assert about(options, matchLabelKeys=["?"]) == [
        f".matchLabelKeys: {NO_SELECTOR}",
        f'.matchLabelKeys[0]: Invalid value: "?": name part {KEY}',
    ]


def test_scheduling_gates() -> None:
    assert about_spec({"schedulingGates": [{"name": "a"}, {"name": "example.com/b"}]}) == []
    assert about_spec({"schedulingGates": [{"name": "a"}, {"name": "?"}, {"name": "a"}]}) == [
        f'schedulingGates[1]: Invalid value: "?": name part {KEY}',
        'schedulingGates[2]: Duplicate value: "a"',
    ]


def test_a_gated_pod_must_not_have_a_node() -> None:
    assert about_spec({"schedulingGates": [{"name": "a"}], "nodeName": "n"}) == [
        "nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"
    ]


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ({"podGroupName": "pg"}, []),
        ({}, ["podGroupName: Invalid value: null: must specify one of: `podGroupName`"]),
        ({"podGroupName": ".pg"}, [f'podGroupName: Invalid value: ".pg": {SUBDOMAIN}']),
    ],
)
def test_scheduling_groups(group: JsonObject, expected: list[str]) -> None:
    assert about_spec({"schedulingGroup": group}) == [f"schedulingGroup.{error}" for error in expected]


def test_readiness_gates() -> None:
    gates = [{"conditionType": "example.com/x"}, {"conditionType": "a/b/c"}]
    (error,) = about_spec({"readinessGates": gates})
    assert error.startswith(
        'readinessGates[1].conditionType: Invalid value: "a/b/c": a valid label key must consist of'
    )
