"""Any field of an object by its path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.scenario.expecting.answers import Answer
from kubesim.scenario.expecting.quantities import matches
from kubesim.scenario.language.expect_items import ObjectQuestion

_STEP = re.compile(r"([^.\[\]]+)|\[([^\]]+)\]")


def ask_field(question: ObjectQuestion, obj: ApiObject) -> Answer:
    found = list(fields_of(obj.to_json(), question.field or ""))
    seen = ", ".join(map(shown, found)) or "not set"
    return Answer(_fits(question, found), f"{question.field} is {seen}")


def _fits(question: ObjectQuestion, found: list[Any]) -> bool:
    if question.matches is not None:
        return any(isinstance(value, str) and matches(question.matches, value) for value in found)
    if question.at_least is None and question.at_most is None:
        return any(_same(question.equals, value) for value in found) or (not found and not question.equals)
    numbers = [value for value in found if isinstance(value, int | float) and not isinstance(value, bool)]
    lowest = question.at_least if question.at_least is not None else float("-inf")
    highest = question.at_most if question.at_most is not None else float("inf")
    return any(lowest <= number <= highest for number in numbers)


def _same(wanted: Any, found: Any) -> bool:
    """1 and true are equal in Python, and different things in an object."""
    return bool(wanted == found) and isinstance(wanted, bool) == isinstance(found, bool)


def shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def path_steps(path: str) -> list[str]:
    """`status.conditions[type=Ready].status` -> `status`, `conditions`, `type=Ready`, `status`."""
    return [name or key for name, key in _STEP.findall(path)]


def fields_of(value: Any, path: str) -> Iterator[Any]:
    """The values at a path; none if it is not set.

    `status.readyReplicas`, `metadata.labels[app.kubernetes.io/name]`, `status.conditions[0].type`, and of lists also
    `status.conditions[type=Ready].status` and `endpoints[*].conditions.ready`.
    """
    values = [value]
    for step in path_steps(path):
        values = [found for item in values for found in _inside(item, step)]
    return (found for found in values if found is not None)


def _inside(value: Any, step: str) -> list[Any]:
    if isinstance(value, dict):
        return [value[step]] if step in value else []
    if not isinstance(value, list):
        return []
    key, equals, wanted = step.partition("=")
    if equals:
        return [item for item in value if isinstance(item, dict) and str(item.get(key, "")) == wanted]
    if step == "*":
        return value
    return value[int(step) : int(step) + 1] if step.isdigit() else []
