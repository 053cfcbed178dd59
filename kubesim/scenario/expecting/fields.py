"""The values of any field of an object, by path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.scenario.expecting.answers import Answer
from kubesim.scenario.expecting.quantities import matches
from kubesim.scenario.language.expect_items import ObjectQuestion

_STEP = re.compile(r"([^.\[\]]+)|\[([^\[\]]+)\]")
_PATH = re.compile(r"[^.\[\]]+(\.[^.\[\]]+|\[[^\[\]]+\])*")


def ask_field(question: ObjectQuestion, obj: ApiObject) -> Answer:
    value, path = obj.to_json(), question.field or ""
    found = list(fields_of(value, path))
    seen = ", ".join(map(shown, found)) or "not set"
    missing = [] if found else list(_unselected(value, path))
    is_absence = "equals" in question.model_fields_set and question.equals is None
    holds = _fits(question, found) and (is_absence or not any(map(_is_of_list, missing)))
    return Answer(holds, f"{question.field} is {seen}", known=is_absence or not missing)


def _fits(question: ObjectQuestion, found: list[Any]) -> bool:
    if question.matches is not None:
        return any(isinstance(value, str) and matches(question.matches, value) for value in found)
    if question.at_least is None and question.at_most is None:
        return any(_same(question.equals, value) for value in found) or (not found and not question.equals)
    numbers = [value for value in found if isinstance(value, int | float) and not isinstance(value, bool)]
    lowest = question.at_least if question.at_least is not None else float("-inf")
    highest = question.at_most if question.at_most is not None else float("inf")
    return any(lowest <= number <= highest for number in numbers)


def _unselected(value: Any, path: str) -> Iterator[str]:
    """The filters, positions and keys of a path that select nothing.

    A field of a struct may be unset, and a condition may be absent: their names are checked before the run.
    """
    for step in _STEP.finditer(path):
        key = step[2] or "*"
        is_condition = key.startswith("type=") and path[: step.start()].endswith("conditions")
        if key != "*" and not is_condition and not _values(value, path[: step.end()]):
            yield key


def _is_of_list(step: str) -> bool:
    """Whether a step selects from a list by filter or position; a missing key of a mapping counts as an unset field."""
    return "=" in step or step.isdigit()


def _same(wanted: Any, found: Any) -> bool:
    """Whether two values are equal in JSON: 1 and true are equal in Python, but differ here."""
    return bool(wanted == found) and isinstance(wanted, bool) == isinstance(found, bool)


def shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def is_path(text: str) -> bool:
    return _PATH.fullmatch(text) is not None


def path_steps(path: str) -> list[str]:
    """`status.conditions[type=Ready].status` -> `status`, `conditions`, `type=Ready`, `status`."""
    return [name or key for name, key in _STEP.findall(path)]


def fields_of(value: Any, path: str) -> Iterator[Any]:
    """The values at a path; none if the field is unset.

    Paths are `status.readyReplicas`, `metadata.labels[app.kubernetes.io/name]`, `status.conditions[0].type`, and for
    lists also `status.conditions[type=Ready].status` and `endpoints[*].conditions.ready`.
    """
    return (found for found in _values(value, path) if found is not None)


def _values(value: Any, path: str) -> list[Any]:
    values = [value]
    for step in path_steps(path):
        values = [found for item in values for found in _inside(item, step)]
    return values


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
