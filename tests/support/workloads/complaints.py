"""Validation errors of an object with some fields changed."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from kubesim.api.validation.field import Errors
from kubesim.api.workloads.rules.kind_rules import rules_of

Json = dict[str, Any]
GONE = object()


def changed(whole: Json, changes: Json) -> Json:
    """The object with fields changed by dotted path; GONE removes one."""
    new = deepcopy(whole)
    for path, value in changes.items():
        *parents, last = path.split("/")
        target = new
        for name in parents:
            target = target.setdefault(name, {})
        if value is GONE:
            target.pop(last, None)
        else:
            target[last] = value
    return new


def complaints(kind: str, obj: Json) -> list[str]:
    rules = rules_of(kind)
    assert rules is not None
    rules.default(obj)
    errors = Errors()
    rules.validate(errors, obj)
    return [str(error) for error in errors]


def complaints_about_update(kind: str, new: Json, old: Json) -> list[str]:
    rules = rules_of(kind)
    assert rules is not None
    errors = Errors()
    for obj in (new, old):
        rules.default(obj)
    rules.validate_update(errors, new, old)
    return [str(error).partition("\n")[0] for error in errors]
