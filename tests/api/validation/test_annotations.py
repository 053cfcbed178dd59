"""Annotations with a meaning for pods. (Those about profiles are tested with profiles.)

Adapted from: pkg/apis/core/validation/validation_test.go TestValidatePod; pkg/apis/core/helper/helpers_test.go
TestGetDeletionCostFromPodAnnotations
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

import pytest

from tests.support.validation.pods import complaints, gates, pod_with

COST = "controller.kubernetes.io/pod-deletion-cost"
TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
MIRROR = "kubernetes.io/config.mirror"


def test_a_mirror_pod_needs_a_node() -> None:
    assert complaints(pod_with({"nodeName": "n"}, annotations={MIRROR: "hash"})) == []
    assert complaints(pod_with(annotations={MIRROR: "hash"})) == [
        f'metadata.annotations[{MIRROR}]: Invalid value: "hash": must set spec.nodeName if mirror pod annotation is set'
    ]


@pytest.mark.parametrize("cost", ["0", "10", "-10", "2147483647", "-2147483648", "-05"])
def test_deletion_costs(cost: str) -> None:
    assert complaints(pod_with(annotations={COST: cost})) == []


@pytest.mark.parametrize("cost", ["", "+10", "008", "3.3", "1e3", "2147483648", "-", "none"])
def test_invalid_deletion_costs(cost: str) -> None:
    pod = pod_with(annotations={COST: cost})
    assert complaints(pod) == [f'metadata.annotations[{COST}]: Invalid value: "{cost}": must be a 32bit integer']
    assert complaints(pod, gates(PodDeletionCost=False)) == []


class TestTolerations:
    """Tolerations as JSON in the deprecated annotation."""

    def about(self, text: str) -> list[str]:
        return complaints(pod_with(annotations={TOLERATIONS: text}), None, "metadata.annotations")

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "null",
            "[]",
            '[{"key": "a", "operator": "Exists", "effect": "NoSchedule"}]',
            '[{"Key": "a", "VALUE": "b", "tolerationseconds": 5, "effect": "NoExecute", "more": 1}]',
        ],
    )
    def test_keys_are_case_insensitive(self, text: str) -> None:
        assert self.about(text) == []

    def test_they_are_validated_like_the_field(self) -> None:
        assert self.about('[null, {"key": "a", "operator": "Exists", "value": "b"}]') == [
            f'.{TOLERATIONS}[0].operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys"',
            f".{TOLERATIONS}[1].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
        ]

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("[", "unexpected end of JSON input"),
            ("{}", "json: cannot unmarshal object into Go value of type []core.Toleration"),
            ("5", "json: cannot unmarshal number into Go value of type []core.Toleration"),
            ("[true]", "json: cannot unmarshal bool into Go value of type core.Toleration"),
            ('[{"key": 1}]', "json: cannot unmarshal number into Go struct field Toleration.key of type string"),
        ],
    )
    def test_invalid_json(self, text: str, problem: str) -> None:
        """The error quotes the annotation's name."""
        assert self.about(text) == [f': Invalid value: "{TOLERATIONS}": {problem}']
