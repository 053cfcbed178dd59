"""LabelSelector objects in a spec.

Adapted from: apimachinery/pkg/apis/meta/v1/helpers_test.go TestLabelSelectorAsSelector
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster.store.selectors import selector_from

LABELS = {"a": "x", "b": "y"}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"a": "x"}}, True),
        ({"matchLabels": {"a": "x", "b": "z"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "z"]}]}, True),
        ({"matchExpressions": [{"key": "c", "operator": "In", "values": ["x"]}]}, False),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["z"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "c", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "c", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, False),
        ({"matchLabels": {"a": "x"}, "matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]}, False),
    ],
)
def test_a_label_selector_object_selects_labels(selector: dict[str, Any] | None, expected: bool) -> None:
    assert selector_from(selector).matches(LABELS) == expected
