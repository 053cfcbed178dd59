"""Readers that check scalars, lists and maps in JSON from an untrusted writer.

They accept the values that the decoder returns unchanged, which covers everything that a real API server writes. For
all others they raise TypeError or ValueError, and the decoder decides, with Go's errors (`schema.codec`). This costs a
fifth of decoding a pod.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubesim.api.quantity import parse_quantity
from kubesim.api.schema.codec import decode
from kubesim.api.schema.types import Type, parse_type
from kubesim.api.timestamps import parse_time

Check = Callable[[Any], Any]


def check_of(type_name: str) -> Check | None:
    """The reader for a field of this declared type; None if the field may have any value."""
    type_ = parse_type(type_name)
    if type_.kind == "struct":
        return _decodable(type_)
    return _check(type_)


def _check(type_: Type) -> Check | None:
    if type_.kind in ("list", "map"):
        inner = _element(type_.of)
        return _list_of(inner) if type_.kind == "list" else _map_of(inner)
    if type_.go_name == "v1.MicroTime":
        return _time
    return {"int": _int32 if type_.bits == 32 else _int64, **_SCALARS}.get(type_.kind)


def _element(type_: Type) -> Check:
    if type_.kind == "struct":
        return _decodable(type_)
    return _check(type_) or (lambda value: value)


def _decodable(type_: Type) -> Check:
    """The reader of a struct without a class; undeclared fields are kept. Such structs are rare."""

    def read(value: Any) -> Any:
        decode(type_.struct, value)
        return value

    return read


def _list_of(check: Check) -> Check:
    def read(items: Any) -> tuple[Any, ...]:
        if items.__class__ is not list:
            raise TypeError
        return tuple([check(item) for item in items])

    return read


def _map_of(check: Check) -> Check:
    return lambda value: {key: check(item) for key, item in value.items()}


def _of_class(*classes: type) -> Check:
    def read(value: Any) -> Any:
        if value.__class__ not in classes:
            raise TypeError
        return value

    return read


def _text(value: Any) -> Any:
    if value.__class__ is not str:
        raise TypeError
    return value


def _int32(value: Any) -> Any:
    if value.__class__ is not int or not -(1 << 31) <= value < 1 << 31:
        raise TypeError
    return value


def _int64(value: Any) -> Any:
    if value.__class__ is not int or not -(1 << 63) <= value < 1 << 63:
        raise TypeError
    return value


def _time(value: Any) -> Any:
    parse_time(_text(value))
    return value


def _quantity(value: Any) -> Any:
    parse_quantity(_text(value))
    return value


def _int_or_string(value: Any) -> Any:
    return value if value.__class__ is str else _int32(value)


_SCALARS: dict[str, Check] = {
    "string": _text, "bool": _of_class(bool), "Time": _time, "Quantity": _quantity, "IntOrString": _int_or_string
}  # fmt: skip
