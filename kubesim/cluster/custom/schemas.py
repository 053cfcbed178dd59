"""Structural schemas: prune unknown fields, set defaults, validate.

Mirrors: apiextensions-apiserver pkg/apiserver/schema pruning, defaulting; k8s.io/kube-openapi/pkg/validation/validate
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from kubesim.api.validation.field import Errors
from kubesim.cluster.patches.json_patch import equal_json

JsonObject = dict[str, Any]
Schema = Mapping[str, Any]

_ROOT = ("kind", "apiVersion", "metadata")
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"


def unknown_paths(schema: Schema, value: Any, path: str = "") -> Iterator[str]:
    """The paths of fields that the schema does not declare."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from unknown_paths(schema.get("items") or {}, item, f"{path}[{number}]")
        return
    if not isinstance(value, dict):
        return
    for name, item in value.items():
        if not path and name in _ROOT:
            continue
        where = f"{path}.{name}" if path else name
        below = _field(schema, name)
        if below is None:
            if not schema.get(_PRESERVE):
                yield where
        else:
            yield from unknown_paths(below, item, where)


def _field(schema: Schema, name: str) -> Schema | None:
    properties = schema.get("properties") or {}
    if name in properties:
        return properties[name] or {}
    more = schema.get("additionalProperties")
    if isinstance(more, Mapping):
        return more
    embedded = schema.get("x-kubernetes-embedded-resource")
    return {_PRESERVE: True} if more is True or (embedded and name in _ROOT) else None


def pruned(schema: Schema, value: Any, *, root: bool = True) -> Any:
    """The value without unknown fields."""
    if isinstance(value, list):
        return [pruned(schema.get("items") or {}, item, root=False) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for name, item in value.items():
        below = _field(schema, name)
        if root and name in _ROOT:
            kept[name] = item
        elif below is not None:
            kept[name] = pruned(below, item, root=False)
        elif schema.get(_PRESERVE):
            kept[name] = item
    return kept


def add_defaults(schema: Schema, value: Any) -> None:
    """Set defaults, in place."""
    if isinstance(value, list):
        for item in value:
            add_defaults(schema.get("items") or {}, item)
        return
    if not isinstance(value, dict):
        return
    for name, below in (schema.get("properties") or {}).items():
        missing = name not in value or (value[name] is None and not below.get("nullable"))
        if missing and below.get("default") is not None:
            value[name] = json.loads(json.dumps(below["default"]))
        if name in value:
            add_defaults(below, value[name])
    more = schema.get("additionalProperties")
    if isinstance(more, Mapping):
        for name, item in value.items():
            if name not in (schema.get("properties") or {}):
                add_defaults(more, item)


def validate(errors: Errors, schema: Schema, value: Any, path: str = "") -> None:
    if value is None and schema.get("nullable"):
        return
    if not _check_type(errors, schema, value, path):
        return
    if schema.get("enum") and not any(equal_json(value, each) for each in schema["enum"]):
        listed = [each if isinstance(each, str) else json.dumps(each) for each in schema["enum"]]
        errors.unsupported(path, value if isinstance(value, str) else json.dumps(value), listed)
    if isinstance(value, str):
        _check_text(errors, schema, value, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _check_number(errors, schema, value, path)
    elif isinstance(value, list):
        _check_items(errors, schema, value, path)
    elif isinstance(value, dict):
        _check_object(errors, schema, value, path)
    for each in schema.get("allOf") or ():
        validate(errors, each, value, path)


def _check_type(errors: Errors, schema: Schema, value: Any, path: str) -> bool:
    wanted = schema.get("type")
    found = _type_of(value)
    if schema.get(_INT_OR_STRING):
        fits, wanted = found in ("integer", "string"), "integer,string"
    else:
        fits = not wanted or found == wanted or (wanted == "number" and found == "integer")
    if not fits:
        errors.invalid(path or "<nil>", found, f'{path} in body must be of type {wanted}: "{found}"'.strip())
    return fits


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    names = {int: "integer", str: "string", list: "array", dict: "object", type(None): "null"}
    return names[type(value)]


def _check_text(errors: Errors, schema: Schema, value: str, path: str) -> None:
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        errors.too_long(path, schema["maxLength"])
    if "minLength" in schema and len(value) < schema["minLength"]:
        errors.invalid(path, value, f"{path} in body should be at least {schema['minLength']} chars long")
    pattern = schema.get("pattern")
    if pattern:
        try:
            matches = re.search(pattern, value) is not None
        except re.error:
            return
        if not matches:
            errors.invalid(path, value, f"{path} in body should match '{pattern}'")


def _check_number(errors: Errors, schema: Schema, value: float, path: str) -> None:
    least, most, step = (_number(schema.get(name)) for name in ("minimum", "maximum", "multipleOf"))
    if least is not None and (value < least or (value == least and schema.get("exclusiveMinimum"))):
        than = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        errors.invalid(path, value, f"{path} in body should be {than} {least}")
    if most is not None and (value > most or (value == most and schema.get("exclusiveMaximum"))):
        than = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        errors.invalid(path, value, f"{path} in body should be {than} {most}")
    if step and value % step:
        errors.invalid(path, value, f"{path} in body should be a multiple of {step}")


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _check_items(errors: Errors, schema: Schema, value: list[Any], path: str) -> None:
    if "maxItems" in schema and len(value) > schema["maxItems"]:
        errors.too_many(path, len(value), schema["maxItems"])
    if "minItems" in schema and len(value) < schema["minItems"]:
        errors.invalid(path, len(value), f"{path} in body should have at least {schema['minItems']} items")
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    is_set = schema.get("x-kubernetes-list-type") == "set"
    seen: list[Any] = []
    for number, item in enumerate(value):
        named = {key: item.get(key) for key in keys} if keys and isinstance(item, dict) else item
        if (keys or is_set) and any(equal_json(named, other) for other in seen):
            errors.duplicate(f"{path}[{number}]", named)
        seen.append(named)
        validate(errors, schema.get("items") or {}, item, f"{path}[{number}]")


def _check_object(errors: Errors, schema: Schema, value: JsonObject, path: str) -> None:
    for name in schema.get("required") or ():
        if name not in value:
            errors.required(f"{path}.{name}" if path else name)
    for name, item in value.items():
        below = _field(schema, name)
        if below is not None and not (not path and name in _ROOT):
            validate(errors, below, item, f"{path}.{name}" if path else name)
