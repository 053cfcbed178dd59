"""Decoder of KubeletConfiguration: values by dotted name with defaults, or an error with its field.

The kubelet accepts unknown fields with a warning. kubesim rejects them, because an unknown name is probably a mistake.

Mirrors: pkg/kubelet/kubeletconfig/util/codec DecodeKubeletConfiguration; v1beta1 SetDefaults_KubeletConfiguration
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from kubesim.api.quantity import quantity
from kubesim.golang.durations import parse_signed_duration
from kubesim.kubeletconfig.fields import ConfigurationField, all_fields, struct_fields
from kubesim.kubeletconfig.table import API_VERSION, KIND, STRUCTS

JsonObject = dict[str, Any]
Path = tuple[str | int, ...]
Values = Mapping[str, Any]

_BITS = {"int32": (-(1 << 31), (1 << 31) - 1), "int64": (-(1 << 63), (1 << 63) - 1), "uint32": (0, (1 << 32) - 1)}


class ConfigurationProblem(Exception):
    """An error in the configuration, with the path of its field."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text
        super().__init__(f"{dotted(path)}: {text}" if path else text)


def dotted(path: Path) -> str:
    """The dotted name of a path, such as `registerWithTaints[0].key`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def read_configuration(given: Any) -> Values:
    """Decode a configuration. Raises ConfigurationProblem for the first unknown field or wrong type."""
    if not isinstance(given, dict):
        raise ConfigurationProblem((), f"a {KIND} is a mapping of fields, not {_found(given)}")
    fields = dict(given)
    for name, expected in (("apiVersion", API_VERSION), ("kind", KIND)):
        if fields.pop(name, expected) != expected:
            raise ConfigurationProblem((name,), f"must be {expected}, not {given[name]!r}")
    values: dict[str, Any] = {}
    _struct(KIND, fields, (), values, "")
    for name, field in all_fields():
        # Null means unset, and so does zero if upstream's field is not a pointer.
        found = values.get(name)
        if found is None or (not field.pointer and not found and not isinstance(found, list | dict)):
            values[name] = _default(field)
    return values


def _struct(struct: str, given: Any, path: Path, values: dict[str, Any], before: str) -> None:
    """Decode a nested struct: its fields become values with dotted names."""
    if not isinstance(given, dict):
        raise ConfigurationProblem(path, f"must be a mapping of fields, not {_found(given)}")
    fields = struct_fields(struct)
    for name, value in given.items():
        _check_known(name, fields, path)
        if value is None:
            continue
        if fields[name].type in STRUCTS:
            _struct(fields[name].type, value, (*path, name), values, f"{before}{name}.")
        else:
            values[before + name] = _value(fields[name].type, value, (*path, name))


def _check_known(name: str, fields: Mapping[str, ConfigurationField], path: Path) -> None:
    if name not in fields:
        near = difflib.get_close_matches(name, fields, n=1, cutoff=0.6)
        raise ConfigurationProblem((*path, name), "unknown field" + (f"; did you mean {near[0]}?" if near else ""))


def _value(type_: str, value: Any, path: Path) -> Any:
    if type_.startswith("[]"):
        if not isinstance(value, list):
            raise ConfigurationProblem(path, f"must be a list, not {_found(value)}")
        return [_value(type_[2:], item, (*path, number)) for number, item in enumerate(value)]
    if type_.startswith("map["):
        if not isinstance(value, dict):
            raise ConfigurationProblem(path, f"must be a mapping, not {_found(value)}")
        return {name: _value(type_.partition("]")[2], item, (*path, name)) for name, item in value.items()}
    if type_ in STRUCTS:
        return _item(type_, value, path)
    return _scalar(type_, value, path)


def _item(struct: str, value: Any, path: Path) -> JsonObject:
    """Decode a struct in a list."""
    if not isinstance(value, dict):
        raise ConfigurationProblem(path, f"must be a mapping of fields, not {_found(value)}")
    fields = struct_fields(struct)
    for name in value:
        _check_known(name, fields, path)
    return {
        name: _value(field.type, value[name], (*path, name)) if value.get(name) is not None else _zero(field.type)
        for name, field in fields.items()
    }


def _scalar(type_: str, value: Any, path: Path) -> Any:
    match type_:
        case "string" if isinstance(value, str):
            return value
        case "bool" if isinstance(value, bool):
            return value
        case "float64" if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        case "Duration" | "TimeOrDuration" if isinstance(value, str):
            return _converted(parse_signed_duration, value, path)
        case "TimeOrDuration" if isinstance(value, int) and not isinstance(value, bool):
            return value // 1000  # a number is nanoseconds
        case "Quantity" if isinstance(value, str | int | float) and not isinstance(value, bool):
            return _converted(quantity, value, path)
        case "int32" | "int64" | "uint32" if isinstance(value, int) and not isinstance(value, bool):
            least, most = _BITS[type_]
            if not least <= value <= most:
                raise ConfigurationProblem(path, f"{value} does not fit into {type_}")
            return value
    raise ConfigurationProblem(path, f"must be {_WANTED[type_]}, not {_found(value)}")


_WANTED = {
    "string": "text",
    "bool": "true or false",
    "float64": "a number",
    "Duration": "a duration such as 1m30s",
    "TimeOrDuration": "a duration such as 5s",
    "Quantity": "a quantity such as 500m or 64Mi",
    "int32": "a whole number",
    "int64": "a whole number",
    "uint32": "a whole number",
}


def _converted(convert: Any, value: Any, path: Path) -> Any:
    try:
        return convert(value)
    except ValueError as error:
        raise ConfigurationProblem(path, str(error)) from None


def _found(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"the number {value}"
    return "a list" if isinstance(value, list) else "a mapping" if isinstance(value, dict) else f"{value!r}"


def _zero(type_: str) -> Any:
    if type_.startswith("[]"):
        return []
    if type_.startswith("map["):
        return {}
    return {"string": "", "bool": False, "float64": 0.0}.get(type_, 0)


def _default(field: ConfigurationField) -> Any:
    """The default of a field. A map or list without one is None, which for some fields differs from an empty one."""
    text, type_ = field.default, field.type
    if text is None:
        return None if field.pointer or type_.startswith(("[]", "map[")) else _zero(type_)
    if type_ == "[]string":
        return text.split(",")
    if type_ == "bool":
        return text == "true"
    if type_ in _BITS:
        return int(text)
    return float(text) if type_ == "float64" else _scalar(type_, text, ())
