"""The selector of a spec: matchLabels and matchExpressions."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster.store.selectors import selector_from

LABELS = {"app": "web", "tier": "front"}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "db"}}, False),
        ({"matchLabels": {"app": "web", "zone": "a"}}, False),
        (expression("app", "In", "db", "web"), True),
        (expression("app", "In", "db"), False),
        (expression("app", "NotIn", "db"), True),
        (expression("zone", "NotIn", "a"), True),
        (expression("app", "NotIn", "web"), False),
        (expression("app", "Exists"), True),
        (expression("zone", "Exists"), False),
        (expression("zone", "DoesNotExist"), True),
        (expression("app", "DoesNotExist"), False),
        ({"matchLabels": {"app": "web"}, **expression("tier", "In", "back")}, False),
    ],
)
def test_selected_labels(selector: dict[str, Any] | None, matches: bool) -> None:
    assert selector_from(selector).matches(LABELS) == matches


def test_a_missing_selector_differs_from_an_empty_one() -> None:
    assert not selector_from(None).matches({})
    assert selector_from({}).matches({})
