"""Kubelet flags for configuration fields: converts flag values to field values.

Mirrors: cmd/kubelet/app/options/options.go AddKubeletConfigFlags; component-base/cli/flag
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubesim.errors import UsageError
from kubesim.kubeletconfig.fields import ConfigurationField, all_fields

JsonObject = dict[str, Any]

_TRUE = ("1", "t", "T", "true", "TRUE", "True")
_FALSE = ("0", "f", "F", "false", "FALSE", "False")
_OWN = ("feature-gates",)  # kubesim handles this flag itself
_LESS_THAN = ("eviction-hard", "eviction-soft")
_ONE_PAIR = ("cpu-manager-policy-options",)  # each use of the flag is one pair, whose value may contain commas


def flag_fields() -> Iterator[tuple[str, ConfigurationField]]:
    """Every field that has a flag, with its dotted name."""
    for name, field in all_fields():
        if field.flag and field.flag not in _OWN:
            yield name, field


def configuration_from_flags(texts: Mapping[str, Sequence[str]]) -> JsonObject:
    """The configuration that these flags set, from e.g. `{"max-pods": ["50"]}`. Raises UsageError."""
    configuration: JsonObject = {}
    for name, field in flag_fields():
        if texts.get(field.flag):
            try:
                if any("\udc80" <= char <= "\udcff" for text in texts[field.flag] for char in text):
                    raise ValueError("the value is not UTF-8 text")
                value = _value(field, texts[field.flag])
            except ValueError as error:
                raise UsageError(f"--{field.flag}: {error}") from None
            *outer, last = name.split(".")
            inner = configuration
            for step in outer:
                inner = inner.setdefault(step, {})
            inner[last] = value
    return configuration


def flag_of(path: tuple[str | int, ...]) -> str:
    """The flag of a field or of the field that contains it, such as `--max-pods`; empty if there is none."""
    flags = {name: f"--{field.flag}" for name, field in all_fields() if field.flag}
    steps = [step for step in path if isinstance(step, str)]
    return next((flags[name] for end in range(len(steps)) if (name := ".".join(steps[: end + 1])) in flags), "")


def _value(field: ConfigurationField, texts: Sequence[str]) -> Any:
    last = texts[-1]
    match field.type:
        case "bool":
            if last not in _TRUE and last not in _FALSE:
                raise ValueError(f"{last!r} is not true or false")
            return last in _TRUE
        case "int32" | "int64" | "uint32":
            try:
                return int(last, 0)
            except ValueError:
                raise ValueError(f"{last!r} is not a whole number") from None
        case "[]string":
            return [item for text in texts for item in text.split(",")]
        case "map[string]string":
            separator = "<" if field.flag in _LESS_THAN else "="
            pairs = texts if field.flag in _ONE_PAIR else _split(texts)
            return dict(_pair(text, separator) for text in pairs)
        case "map[string][]string":
            header: dict[str, list[str]] = {}
            for text in _split(texts):
                name, value = _pair(text, ":")
                header.setdefault(name, []).append(value)
            return header
        case "[]Taint":
            return [_taint(text) for text in _split(texts)]
        case "[]MemoryReservation":
            return [_reservation(text) for text in texts]
    return last


def _split(texts: Sequence[str]) -> list[str]:
    return [item for text in texts for item in text.split(",") if item]


def _pair(text: str, separator: str) -> tuple[str, str]:
    name, found, value = text.partition(separator)
    if not found:
        raise ValueError(f"malformed pair {text!r}, expect name{separator}value")
    return name.strip(), value.strip()


def _taint(text: str) -> JsonObject:
    """Parse the taint `key=value:Effect` or `key:Effect`."""
    rest, found, effect = text.rpartition(":")
    key, _, value = rest.partition("=")
    if not found or not key or not effect:
        raise ValueError(f"invalid taint {text!r}, expect key=value:Effect")
    return {"key": key, "value": value, "effect": effect}


def _reservation(text: str) -> JsonObject:
    """Parse the reservation `0:memory=1Gi,hugepages-2Mi=100Mi`."""
    node, found, limits = text.partition(":")
    if not found or not node.isdigit():
        raise ValueError(f"invalid reservation {text!r}, expect 0:memory=1Gi")
    return {"numaNode": int(node), "limits": dict(_pair(item, "=") for item in limits.split(",") if item)}
