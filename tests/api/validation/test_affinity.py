"""Node affinity, pod affinity and anti-affinity.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidatePod (affinity cases)
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

from typing import Any

import pytest

from tests.support.validation.pods import JsonObject, about_spec
from tests.support.validation.texts import KEY, LABEL, LABEL_VALUE, SUBDOMAIN

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
OPERATOR = "not a valid selector operator"


class TestNodeAffinity:
    def required(self, *terms: JsonObject) -> list[str]:
        selector = {"nodeSelectorTerms": list(terms)}
        found = about_spec({"affinity": {"nodeAffinity": {REQUIRED: selector}}})
        return [error.removeprefix(f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms") for error in found]

    def preferred(self, weight: int, preference: JsonObject) -> list[str]:
        terms = [{"weight": weight, "preference": preference}]
        found = about_spec({"affinity": {"nodeAffinity": {PREFERRED: terms}}})
        return [error.removeprefix(f"affinity.nodeAffinity.{PREFERRED}[0].") for error in found]

    def test_at_least_one_term_is_required_but_may_be_empty(self) -> None:
        assert self.required({}) == []
        assert self.required() == [": Required value: must have at least one node selector term"]

    @pytest.mark.parametrize(
        ("requirement", "expected"),
        [
            ({"operator": "In", "values": ["a"]}, []),
            ({"operator": "DoesNotExist"}, []),
            ({"operator": "Gt", "values": ["1"]}, []),
            (
                {"operator": "NotIn"},
                [".values: Required value: must be specified when `operator` is 'In' or 'NotIn'"],
            ),
            (
                {"operator": "Exists", "values": ["a"]},
                [".values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"],
            ),
            (
                {"operator": "Lt", "values": ["1", "2"]},
                [".values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'"],
            ),
            ({"operator": "Like"}, [f'.operator: Invalid value: "Like": {OPERATOR}']),
            ({"operator": "Exists", "key": "a b"}, [f'.key: Invalid value: "a b": name part {KEY}']),
        ],
    )
    def test_expressions(self, requirement: JsonObject, expected: list[str]) -> None:
        term = {"matchExpressions": [{"key": "k", **requirement}]}
        assert self.required(term) == [f"[0].matchExpressions[0]{error}" for error in expected]
        assert self.preferred(1, term) == [f"preference.matchExpressions[0]{error}" for error in expected]

    def test_required_terms_need_label_values(self) -> None:
        term = {"matchExpressions": [{"key": "k", "operator": "In", "values": ["a", "b c"]}]}
        assert self.required(term) == [f'[0].matchExpressions[0].values[1]: Invalid value: "b c": {LABEL_VALUE}']
        assert self.preferred(1, term) == []

    @pytest.mark.parametrize(
        ("requirement", "expected"),
        [
            ({"operator": "In", "values": ["node-1"]}, []),
            (
                {"operator": "NotIn", "values": ["a", "B"]},
                [
                    ".values: Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
                    f'.values[1]: Invalid value: "B": {SUBDOMAIN}',
                ],
            ),
            ({"operator": "Exists"}, [f'.operator: Invalid value: "Exists": {OPERATOR}']),
            (
                {"key": "metadata.namespace", "operator": "In", "values": ["?"]},
                ['.key: Invalid value: "metadata.namespace": not a valid field selector key'],
            ),
        ],
    )
    def test_the_only_field_is_the_name(self, requirement: JsonObject, expected: list[str]) -> None:
        term = {"matchFields": [{"key": "metadata.name", **requirement}]}
        assert self.required(term) == [f"[0].matchFields[0]{error}" for error in expected]

    @pytest.mark.parametrize("weight", [0, 101])
    def test_weights(self, weight: int) -> None:
        assert self.preferred(weight, {}) == [f"weight: Invalid value: {weight}: must be in the range 1-100"]


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
class TestPodAffinity:
    def about(self, kind: str, **term: Any) -> list[str]:
        found = about_spec({"affinity": {kind: {REQUIRED: [{"topologyKey": "zone", **term}]}}})
        return [error.removeprefix(f"affinity.{kind}.{REQUIRED}[0]") for error in found]

    def test_terms(self, kind: str) -> None:
        selector = {"matchLabels": {"a": "b"}}
        assert self.about(kind, labelSelector=selector, namespaceSelector={}, namespaces=["ns"]) == []
        wrong = {"matchExpressions": [{"key": "k", "operator": "In", "values": ["a b"]}, {"key": "k"}]}
        assert self.about(kind, labelSelector=wrong, namespaceSelector=wrong, namespaces=["NS"], topologyKey="") == [
            f'.labelSelector.matchExpressions[0].values[0]: Invalid value: "a b": {LABEL_VALUE}',
            f'.labelSelector.matchExpressions[1].operator: Invalid value: "": {OPERATOR}',
            f'.namespaceSelector.matchExpressions[0].values[0]: Invalid value: "a b": {LABEL_VALUE}',
            f'.namespaceSelector.matchExpressions[1].operator: Invalid value: "": {OPERATOR}',
            f'.namespace: Invalid value: "NS": {LABEL}',
            ".topologyKey: Required value: can not be empty",
            '.topologyKey: Invalid value: "": name part must be non-empty',
            f'.topologyKey: Invalid value: "": name part {KEY}',
        ]

    def test_weights(self, kind: str) -> None:
        terms = [{"weight": 100, "podAffinityTerm": {"topologyKey": "zone"}}, {"podAffinityTerm": {"topologyKey": "?"}}]
        found = about_spec({"affinity": {kind: {PREFERRED: terms}}})
        assert [error.removeprefix(f"affinity.{kind}.{PREFERRED}[1]") for error in found] == [
            ".weight: Invalid value: 0: must be in the range 1-100",
            f'.podAffinityTerm.topologyKey: Invalid value: "?": name part {KEY}',
        ]

    def test_label_keys_need_a_selector(self, kind: str) -> None:
        assert self.about(kind, matchLabelKeys=["a"], mismatchLabelKeys=["b"], labelSelector={}) == []
        assert self.about(kind, matchLabelKeys=["a b"], mismatchLabelKeys=["c"]) == [
            ".matchLabelKeys: Forbidden: must not be specified when labelSelector is not set",
            ".mismatchLabelKeys: Forbidden: must not be specified when labelSelector is not set",
        ]

    def test_label_keys_are_in_one_list_only(self, kind: str) -> None:
        assert self.about(kind, labelSelector={}, matchLabelKeys=["a", "/"], mismatchLabelKeys=["b", "a"]) == [
            '.matchLabelKeys[1]: Invalid value: "/": prefix part must be non-empty',
            '.matchLabelKeys[1]: Invalid value: "/": name part must be non-empty',
            f'.matchLabelKeys[1]: Invalid value: "/": name part {KEY}',
            '.matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and mismatchLabelKeys',
        ]

    def test_an_expression_for_a_label_key_is_allowed_once(self, kind: str) -> None:
        """The API server adds one for each key, so a second one is the user's. The error has the path of the term, not
        of the list.
        """
        expression = {"key": "a", "operator": "In", "values": ["x"]}
        keys = ["b", "a"]
        once = {"matchLabels": {"b": "x"}, "matchExpressions": [expression]}
        assert self.about(kind, matchLabelKeys=keys, labelSelector=once) == []
        twice = {"matchLabels": {"b": "x"}, "matchExpressions": [expression, expression, {**expression, "key": "b"}]}
        assert self.about(kind, matchLabelKeys=keys, labelSelector=twice) == [
            '[1]: Invalid value: "a": exists in both matchLabelKeys and labelSelector',
            '[0]: Invalid value: "b": exists in both matchLabelKeys and labelSelector',
        ]
