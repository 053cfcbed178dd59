"""Evaluates the condition of a step (`when`) for an object, with the observed value in words. Pure."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.scenario.expecting.fields import fields_of
from kubesim.scenario.expecting.occurrences import times_emitted
from kubesim.scenario.language.operations.when_items import When


def is_about(when: When, kind: str, namespace: str, name: str) -> bool:
    own_namespace, pattern = when.key
    return when.kind == kind and namespace == own_namespace and (name == pattern or fnmatchcase(name, pattern))


def ask(when: When, obj: ApiObject, deleted: bool) -> tuple[bool, str]:
    """Whether the condition is true of this object now, and the observed value."""
    if when.gone or deleted:
        return bool(when.gone and deleted), "it is gone" if deleted else "it still exists"
    if when.exists:
        return True, "it exists"
    if when.phase is not None:
        phase = obj.status.phase if isinstance(obj, Pod) else ""
        return phase == when.phase, f"the phase is {phase}"
    if when.condition is not None:
        type, wanted = when.condition_and_status
        found = _condition_status(obj, type)
        return found == wanted, f"{type} is {found}"
    if when.field is None:
        return False, ""
    values = list(fields_of(obj.to_json(), when.field))
    seen = f"{when.field} is {', '.join(map(json.dumps, values)) or 'not set'}"
    if when.at_least is not None:
        return any(isinstance(value, int | float) and value >= when.at_least for value in values), seen
    return when.equals in values or (not values and not when.equals), seen


def _condition_status(obj: ApiObject, type: str) -> str:
    if isinstance(obj, Pod):
        return next((c.status for c in obj.status.conditions if c.type == type), "not set")
    conditions = (obj.to_json().get("status") or {}).get("conditions") or ()
    return str(next((c.get("status", "") for c in conditions if c.get("type") == type), "not set"))


def counted(when: When, event: Event, before: int) -> int:
    """The number of Events that match the condition, including this one; `before` is the number before it."""
    return before if event.reason != when.event else max(before, times_emitted(event))
