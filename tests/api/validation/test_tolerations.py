"""Tolerations of a pod.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidatePod (toleration cases),
TestNumericTolerationsWithFeatureGate
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.validation import PodValidationOptions
from tests.support.validation.pods import JsonObject, about_spec, gates
from tests.support.validation.texts import KEY, LABEL_VALUE

NUMBERS = gates(TaintTolerationComparisonOperators=True)
DECIMAL = "must be a valid decimal integer in canonical form"
BIG = "9223372036854775808"


def about(options: PodValidationOptions | None = None, **toleration: Any) -> list[str]:
    found = about_spec({"tolerations": [toleration]}, options)
    return [error.removeprefix("tolerations[0].") for error in found]


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": -1,
            },
            [],
        ),
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, []),
        ({"operator": "Exists"}, []),
        ({"key": "a b", "operator": "Exists"}, [f'key: Invalid value: "a b": name part {KEY}']),
        (
            {"operator": "Equal", "value": "bar"},
            [
                'operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
            ],
        ),
        ({"key": "k", "value": "a b"}, [f'operator: Invalid value: "a b": {LABEL_VALUE}']),
        # Two problems of one value are one error.
        (
            {"key": "k", "value": " " * 64},
            [f'operator: Invalid value: "{" " * 64}": must be no more than 63 bytes;{LABEL_VALUE}'],
        ),
        (
            {"key": "k", "operator": "Exists", "value": "v"},
            ["operator: Invalid value: \"v\": value must be empty when `operator` is 'Exists'"],
        ),
        (
            {"key": "k", "operator": "In"},
            ['operator: Unsupported value: "In": supported values: "Equal", "Exists"'],
        ),
        (
            {"key": "k", "effect": "NoRun", "tolerationSeconds": 1},
            [
                "effect: Invalid value: \"NoRun\": effect must be 'NoExecute' when `tolerationSeconds` is set",
                'effect: Unsupported value: "NoRun": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
            ],
        ),
    ],
)
def test_tolerations(toleration: JsonObject, expected: list[str]) -> None:
    assert about(**toleration) == expected


@pytest.mark.parametrize("operator", ["Lt", "Gt"])
def test_numeric_comparison_needs_its_gate(operator: str) -> None:
    assert about(key="k", operator=operator, value="950") == [
        f'operator: Unsupported value: "{operator}": supported values: "Equal", "Exists", "Lt", "Gt"'
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("950", []),
        ("-5", []),
        ("0", []),
        ("", ["must be non-empty", 'strconv.ParseInt: parsing "": invalid syntax']),
        ("0950", [DECIMAL]),
        ("-0", [DECIMAL]),
        ("+5", [DECIMAL]),
        ("1.5", [DECIMAL, 'strconv.ParseInt: parsing "1.5": invalid syntax']),
        ("--5", [DECIMAL, 'strconv.ParseInt: parsing "--5": invalid syntax']),
        (BIG, [f'strconv.ParseInt: parsing "{BIG}": value out of range']),
    ],
)
def test_numbers(value: str, expected: list[str]) -> None:
    found = about(NUMBERS, key="k", operator="Gt", value=value)
    assert found == [f'value: Invalid value: "{value}": {error}' for error in expected]
