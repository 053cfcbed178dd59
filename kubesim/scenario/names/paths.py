"""Checks the paths of `field`: whether the kind has such a field, and whether it can have such a value."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Any

from kubesim.api.schema.types import Type, parse_type, struct_fields
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.scenario.expecting.fields import is_path, path_steps
from kubesim.scenario.expecting.quantities import matches
from kubesim.scenario.language.expect_items import ObjectQuestion
from kubesim.scenario.names.tables import VALUES_OF_TYPES

_VALUES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "Time": (str,),
    "bool": (bool,),
    "int": (int,),
    "Quantity": (str, int, float),
    "IntOrString": (str, int),
    "list": (list, tuple),
    "struct": (dict,),
    "map": (dict,),
}
_WORDS = {"string": "text", "Time": "text", "bool": "true or false", "int": "a whole number", "list": "a list"}


_CONTAINERS = re.compile(r"(?:[cC]ontainers|ContainerStatuses|containerStatuses)\[name=([^\[\]]+)\]")
_CONDITIONS = re.compile(r"(?:^|\.)conditions\[type=([^\[\]]+)\]")


def named_containers(path: str) -> Iterator[str]:
    """`status.containerStatuses[name=main].ready` -> `main`."""
    yield from _CONTAINERS.findall(path)


def named_conditions(path: str) -> Iterator[str]:
    """`status.conditions[type=Ready].reason` -> `Ready`."""
    yield from _CONDITIONS.findall(path)


def path_problem(question: ObjectQuestion, kind: str) -> str:
    """The problem with the path or the value; empty if there is none."""
    if not is_path(question.field or ""):
        return "must be a path, such as status.conditions[type=Ready].reason"
    if kind not in RESOURCES:
        return ""
    type_, problem = _walk(parse_type(kind), question.field or "")
    if problem or type_ is None or type_.kind == "raw":
        return problem
    return _value_problem(question, type_)


def _walk(type_: Type, path: str) -> tuple[Type | None, str]:
    """The type at a path; None if any type is allowed."""
    for step in path_steps(path):
        if type_.kind == "raw":
            return None, ""
        if type_.kind == "list":
            key, filtered, _ = step.partition("=")
            if step != "*" and not step.isdigit() and not filtered:
                return None, f"{step}: a list needs a position, a filter or *: [0], [type=Ready], [*]"
            type_ = type_.of
            if filtered and type_.kind == "struct" and key not in struct_fields(type_.struct):
                return None, _unknown(key, type_)
        elif type_.kind == "map":
            type_ = type_.of
        elif type_.kind != "struct":
            return None, f"{step}: there is nothing below {_WORDS.get(type_.kind, type_.kind)}"
        elif step in struct_fields(type_.struct):
            type_ = struct_fields(type_.struct)[step].type
        else:
            return None, _unknown(step, type_)
    return type_, ""


def _unknown(name: str, type_: Type) -> str:
    return f"there is no field {name}{_near(name, struct_fields(type_.struct))}"


def _near(name: str, known: Iterable[str]) -> str:
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known)}"


def _value_problem(question: ObjectQuestion, type_: Type) -> str:
    wanted = _WORDS.get(type_.kind, "a mapping" if type_.kind in ("struct", "map") else "an amount")
    if (question.at_least is not None or question.at_most is not None) and type_.kind not in ("int", "IntOrString"):
        return f"the field holds {wanted}: atLeast and atMost need a number"
    known = VALUES_OF_TYPES.get(type_.go_name, ())
    if known and question.equals and question.equals not in known:
        return f"it never equals {question.equals!r}{_near(str(question.equals), known)}"
    if known and question.matches is not None and not any(matches(question.matches, value) for value in known):
        return f"{question.matches!r} never matches; its values are {', '.join(known)}"
    if question.matches is not None and str not in _VALUES.get(type_.kind, ()):
        return f"the field holds {wanted}: matches needs text"
    if "equals" in question.model_fields_set and not _may_be(question.equals, type_):
        return f"the field holds {wanted}: it never equals {question.equals!r}"
    return ""


def _may_be(value: Any, type_: Type) -> bool:
    """Whether a field of this type can have this value. Values that mean "unset" are always possible."""
    if value is None or value in ("", 0):
        return True
    allowed = _VALUES.get(type_.kind)
    return allowed is None or (isinstance(value, allowed) and (bool in allowed or not isinstance(value, bool)))
