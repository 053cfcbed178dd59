"""Conditions of type metav1.Condition: one per type, with the time of its last status change.

Mirrors: apimachinery/pkg/api/meta/conditions.go SetStatusCondition
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubesim.api.timestamps import format_time

Condition = dict[str, Any]


def find_condition(conditions: Iterable[Condition], kind: str) -> Condition | None:
    return next((condition for condition in conditions if condition["type"] == kind), None)


def with_status_condition(
    conditions: tuple[Condition, ...], condition: Condition, now: int, generation: int = 0
) -> tuple[Condition, ...]:
    """The conditions with this one in place of the condition with its type, or at the end."""
    old = find_condition(conditions, condition["type"])
    changed = old is None or old["status"] != condition["status"]
    new: Condition = {"type": condition["type"], "status": condition["status"]}
    if generation:
        new["observedGeneration"] = generation
    new["lastTransitionTime"] = format_time(now) if changed or old is None else old["lastTransitionTime"]
    new |= {"reason": condition["reason"], "message": condition.get("message", "")}
    if old is None:
        return (*conditions, new)
    return tuple(new if item is old else item for item in conditions)
