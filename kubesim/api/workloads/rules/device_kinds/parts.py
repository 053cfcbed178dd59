"""Validation of parts that the kinds of resource.k8s.io share: sets of items, names, selectors, configuration.

Mirrors: pkg/apis/resource/validation validateSet, validateMap, validateSelector, validateDeviceConfiguration
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubesim.api.schema.types import Type, parse_type, struct_fields
from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject, Raw
from kubesim.api.workloads.device_cel import CelError, compile_expression
from kubesim.golang.json import dumps, dumps_in_order

IMMUTABLE = "field is immutable"
DRIVER_MAX = 63
POOL_MAX = 253
REQUESTS_MAX = CONSTRAINTS_MAX = CONFIG_MAX = SELECTORS_MAX = 32
TAINT_EFFECTS = ("NoExecute", "NoSchedule", "None")
_EXPRESSION_MAX = _PARAMETERS_MAX = 10 * 1024
_ID_MAX = 32
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_IDENTIFIER_ERROR = formats.regex_error(
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_'",
    "[A-Za-z_][A-Za-z0-9_]*",
    "my_name",
    "MY_NAME",
    "MyName",
)

Item = Callable[[Errors, Any, str], None]


def validate_set(
    errors: Errors, items: Sequence[Any], limit: int, item: Item, path: str, key: Callable[[Any], Any] | None = None
) -> None:
    """Check that there are at most `limit` items, that each is valid, and, with a `key`, that the keys are unique."""
    if 0 <= limit < len(items):
        errors.too_many(path, len(items), limit)
        return
    for n, each in enumerate(items):
        item(errors, each, f"{path}[{n}]")
    seen: list[Any] = []
    for n, each in enumerate(items if key is not None else ()):
        found = key(each) if key is not None else None
        if found in seen:
            errors.duplicate(f"{path}[{n}]", found)
        seen.append(found)


def validate_driver_name(errors: Errors, name: str, path: str) -> None:
    if not name:
        errors.required(path)
        return
    if formats.size(name) > DRIVER_MAX:
        errors.too_long(path, DRIVER_MAX)
    errors.all_invalid(path, name, formats.dns1123_subdomain(name.lower()))


def validate_label(errors: Errors, name: str, path: str) -> None:
    errors.all_invalid(path, name, formats.dns1123_label(name))


def validate_pool_name(errors: Errors, name: str, path: str) -> None:
    if not name:
        errors.required(path)
        return
    if formats.size(name) > POOL_MAX:
        errors.too_long(path, POOL_MAX)
    for part in name.split("/"):
        errors.all_invalid(path, part, formats.dns1123_subdomain(part))


def validate_qualified_name(errors: Errors, name: str, path: str) -> None:
    """Check a name of the form `name` or `domain/name`."""
    parts = name.split("/")
    if len(parts) == 1:
        _validate_identifier(errors, name, path)
    elif len(parts) == 2:
        if not parts[0]:
            errors.invalid(path, "", "the domain must not be empty")
        else:
            validate_driver_name(errors, parts[0], path)
        if not parts[1]:
            errors.invalid(path, "", "the name must not be empty")
        else:
            _validate_identifier(errors, parts[1], path)


def _validate_identifier(errors: Errors, text: str, path: str) -> None:
    if formats.size(text) > _ID_MAX:
        errors.too_long(path, _ID_MAX)
    if not _IDENTIFIER.fullmatch(text):
        errors.invalid(path, text, _IDENTIFIER_ERROR)


def validate_selectors(errors: Errors, selectors: Sequence[JsonObject], path: str) -> None:
    validate_set(errors, selectors, SELECTORS_MAX, _validate_selector, path)


def _validate_selector(errors: Errors, selector: JsonObject, path: str) -> None:
    cel = selector.get("cel")
    if cel is None:
        errors.required(f"{path}.cel")
        return
    expression = cel.get("expression", "")
    if formats.size(expression) > _EXPRESSION_MAX:
        errors.too_long(f"{path}.cel.expression", _EXPRESSION_MAX)
        return
    try:
        compile_expression(expression)
    except CelError as error:
        errors.invalid(f"{path}.cel.expression", expression, str(error))


def validate_configuration(errors: Errors, config: JsonObject, path: str) -> None:
    opaque = config.get("opaque")
    if opaque is None:
        errors.required(f"{path}.opaque")
        return
    validate_driver_name(errors, opaque.get("driver", ""), f"{path}.opaque.driver")
    validate_object(errors, opaque.get("parameters"), f"{path}.opaque.parameters")


def validate_object(errors: Errors, value: Any, path: str) -> None:
    """Check opaque parameters for a driver, which can be any JSON object."""
    if value is None:
        errors.required(path)
    elif formats.size(dumps(value)) > _PARAMETERS_MAX:
        errors.too_long(path, _PARAMETERS_MAX)
    elif not isinstance(value, dict):
        errors.invalid(path, "<value omitted>", "must be a valid JSON object")


def validate_binding_conditions(errors: Errors, of: JsonObject, path: str) -> None:
    conditions, failures = of.get("bindingConditions") or [], of.get("bindingFailureConditions") or []
    for name, listed in (("bindingConditions", conditions), ("bindingFailureConditions", failures)):
        validate_set(errors, listed, 4, _validate_label_key, f"{path}.{name}")
    for name, listed in (("bindingConditions", conditions), ("bindingFailureConditions", failures)):
        for n, each in enumerate(listed):
            if each in listed[:n]:
                errors.duplicate(f"{path}.{name}[{n}]", each)
            if listed is failures and each in conditions:
                detail = "bindingFailureConditions must not overlap with bindingConditions"
                errors.invalid(f"{path}.{name}[{n}]", each, detail)
    if failures and not conditions:
        detail = "bindingConditions are required to use bindingFailureConditions"
        errors.invalid(f"{path}.bindingConditions", of.get("bindingConditions"), detail)
    if conditions and not failures:
        detail = "bindingFailureConditions are required to use bindingConditions"
        errors.invalid(f"{path}.bindingFailureConditions", of.get("bindingFailureConditions"), detail)


def _validate_label_key(errors: Errors, name: str, path: str) -> None:
    errors.all_invalid(path, name, formats.label_key(name))


# -- values in messages ---------------------------------------------------------------------------------------------

# Go's internal field names that are not simply the capitalized JSON name.
_INTERNAL_NAMES = {"cel": "CEL", "apiGroup": "APIGroup", "uid": "UID", "ips": "IPs", "shareID": "ShareID"}


def printed(type_name: str, value: Any) -> Raw:
    """A value in the format of the API server's internal struct: Go's field names, and all fields."""
    return Raw(dumps_in_order(_internal(parse_type(type_name), value)))


def _internal(type_: Type, value: Any) -> Any:
    if value is None:
        absent = type_.pointer or type_.kind in ("list", "map", "raw", "Time")
        if absent or type_.kind != "struct":
            return None if absent else {"bool": False, "int": 0, "Quantity": "0"}.get(type_.kind, "")
        value = {}
    match type_.kind:
        case "struct":
            return _internal_fields(type_.struct, value)
        case "list":
            return [_internal(type_.of, item) for item in value]
        case "map":
            return {key: _internal(type_.of, value[key]) for key in sorted(value)}
    return value


def _internal_fields(struct: str, value: Mapping[str, Any]) -> dict[str, Any]:
    fields = struct_fields(struct).items()
    return {
        _INTERNAL_NAMES.get(name, name[0].upper() + name[1:]): _internal(f.type, value.get(name)) for name, f in fields
    }
