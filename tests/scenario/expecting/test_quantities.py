"""Counts and texts in expectations."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from kubesim.scenario.expecting.quantities import Bounds, TextPart


@pytest.mark.parametrize(
    ("bounds", "text", "held"),
    [
        ({"equals": 3}, "3", [3]),
        ({"atLeast": 3}, "at least 3", [3, 4, 5]),
        ({"atMost": 2}, "at most 2", [0, 1, 2]),
        ({"atLeast": 2, "atMost": 3}, "2 to 3", [2, 3]),
    ],
)
def test_bounds(bounds: dict[str, Any], text: str, held: list[int]) -> None:
    given = Bounds.model_validate(bounds)
    assert (given.text, [number for number in range(6) if given.hold(number)]) == (text, held)


@pytest.mark.parametrize("bounds", [{}, {"equals": 1, "atLeast": 1}, {"atLeast": 3, "atMost": 2}, {"equals": -1}])
def test_bounds_without_effect(bounds: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Bounds.model_validate(bounds)


@pytest.mark.parametrize(
    ("part", "fits"),
    [
        ({"contains": "b c"}, True),
        ({"contains": "B"}, False),
        ({"equals": "a b c"}, True),
        ({"equals": "a b"}, False),
        ({"matches": "^a .* c$"}, True),
        ({"matches": "^b"}, False),
    ],
)
def test_parts_of_a_text(part: dict[str, Any], fits: bool) -> None:
    assert TextPart.model_validate(part).fits("a b c") is fits


def test_an_invalid_regular_expression() -> None:
    with pytest.raises(ValidationError, match="Unmatched"):
        TextPart.model_validate({"matches": "(a"})
