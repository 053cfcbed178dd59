"""Decoder and encoder of JSON objects by their declared types.

Decoding drops undeclared fields, rejects values of the wrong type with Go's errors, and brings quantities and times
into canonical form. Encoding produces the same text as Go, including `null`s and `{}`s. A decoded object is a plain
dict: an absent field has the zero value, and an empty list differs from an absent one.

Mirrors: sigs.k8s.io/json decode.go (object, array, literalStore); encoding/json encode.go (omitempty)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, cached_property, partial
from typing import Any

from kubesim.api.quantity import parse_quantity
from kubesim.api.schema.types import Field, Type, parse_type, struct_fields
from kubesim.api.timestamps import format_time, parse_time
from kubesim.golang.json import Json, Number, dumps, kind_of
from kubesim.golang.structs import (
    Bool,
    GoType,
    Integer,
    Map,
    Misfit,
    Slice,
    State,
    Text,
    as_number,
    decode_alone,
    is_text,
)
from kubesim.golang.text import quoted

JsonObject = dict[str, Any]

_ZERO_TIME = "0001-01-01T00:00:00Z"  # which Go writes as null
_SCALAR_ZEROS = {"bool": False, "int": 0, "IntOrString": 0, "Quantity": "0"}


class DecodeError(ValueError):
    """A JSON value of the wrong type."""


def decode(type_name: str, value: Json) -> Any:
    """Decode a JSON value to the object of this type. The first wrong type is reported after everything is decoded.

    Numbers may be Python numbers, which count as spelled by Python.
    """
    type_ = parse_type(type_name)
    if value is None and type_.kind == "list":
        return []
    try:
        return decode_alone(_go_type(type_), value)
    except ValueError as error:
        raise DecodeError(str(error)) from None


@cache
def _go_type(type_: Type) -> GoType:
    match type_.kind:
        case "struct":
            return _Struct(type_)
        case "list":
            return Slice(_go_type(type_.of))
        case "map":
            return Map(_go_type(type_.of), type_.go_name)
        case "bool":
            return Bool(type_.go_name)
        case "int":
            return Integer(type_.go_name, -(1 << type_.bits - 1), (1 << type_.bits - 1) - 1)
        case "string":
            return _MicroTime(type_.go_name) if type_.go_name == "v1.MicroTime" else Text(type_.go_name)
        case kind:
            return _SPECIAL[kind](type_.go_name)


class _Struct(GoType):
    """A struct of the API: keys match exactly, and a null leaves its field absent."""

    def __init__(self, type_: Type) -> None:
        super().__init__(type_.go_name)
        self.struct = type_.struct
        self.short = type_.go_name.removeprefix("v1.")

    def zero(self) -> JsonObject:
        return {}

    @cached_property
    def fields(self) -> dict[str, tuple[GoType, list[str], bool]]:
        """The fields by name: the type, the steps of its path in errors, and whether it accepts null."""
        return {
            name: (
                _go_type(field.type),
                [field.embedded_in, name] if field.embedded_in else [name],
                field.type.kind == "Quantity" and not field.type.pointer,
            )
            for name, field in struct_fields(self.struct).items()
        }

    def decode(self, state: State, value: Any, old: Any) -> Any:
        if not isinstance(value, dict):
            return old if value is None else self.misfit(state, kind_of(value), old)
        outer, depth = state.struct, len(state.path)
        out: JsonObject = {}
        for key, item in value.items():
            found = self.fields.get(key)
            if found is None:
                continue
            type_, steps, reads_null = found
            if item is None and not reads_null:
                continue
            state.struct = self.short
            state.path += steps
            out[key] = type_.decode(state, item, type_.zero())
            # After an error the context stays, because the error names the struct and path.
            state.struct = outer
            del state.path[depth:]
        return out


# The types below decode themselves upstream, and their errors abort the decoding.


class _Quantity(GoType):
    def zero(self) -> str:
        return "0"

    def decode(self, state: State, value: Any, old: Any) -> Any:
        if value is None:
            return old
        text = as_number(value)
        return str(parse_quantity(text.strip() if isinstance(text, str) else "?"))


class _IntOrString(GoType):
    def decode(self, state: State, value: Any, old: Any) -> Any:
        if is_text(value):
            return value
        number = as_number(value)
        if not isinstance(number, Number):
            raise Misfit(kind_of(value), "int32")
        if not number.removeprefix("-").isdigit() or not -(1 << 31) <= int(number) < 1 << 31:
            raise Misfit(f"number {number}", "int32")
        return int(number)


class _Time(GoType):
    def decode(self, state: State, value: Any, old: Any) -> Any:
        if not is_text(value):
            raise Misfit(kind_of(value), "string")
        try:
            found = format_time(parse_time(value))
        except ValueError:
            layout = '"2006-01-02T15:04:05Z07:00"'
            problem = f'parsing time {quoted(value)} as {layout}: cannot parse {quoted(value)} as "2006"'
            raise ValueError(problem) from None
        return None if found == _ZERO_TIME else found


class _MicroTime(GoType):
    """A MicroTime, which keeps its original text."""

    def zero(self) -> str:
        return ""

    def decode(self, state: State, value: Any, old: Any) -> Any:
        if value is None:
            return old
        if not is_text(value):
            raise Misfit(kind_of(value), "string")
        try:
            parse_time(value)
        except ValueError:
            layout = '"2006-01-02T15:04:05.000000Z07:00"'
            problem = f'parsing time {quoted(value)} as {layout}: cannot parse {quoted(value)} as "2006"'
            raise ValueError(problem) from None
        return value


class _Raw(GoType):
    """A value without a declared type."""

    def decode(self, state: State, value: Any, old: Any) -> Any:
        return json.loads(dumps(value))


_SPECIAL: Mapping[str, Callable[[str], GoType]] = {
    "Quantity": _Quantity,
    "IntOrString": _IntOrString,
    "Time": _Time,
    "raw": _Raw,
}


def encode(type_name: str, value: JsonObject) -> JsonObject:
    """Encode an object like Go."""
    out: JsonObject = {}
    for name, zero, drops_empty, encoder in _writers(type_name):
        item = value.get(name)
        if item is None:
            if zero is not None:
                out[name] = zero()
        elif item or not drops_empty:
            out[name] = item if encoder is None else encoder(item)
    return out


_Encoder = Callable[[Any], Json]
# A field: its name, its value if it is absent (None: omitted), whether an empty value is omitted, and its encoder.
_Writer = tuple[str, Callable[[], Json] | None, bool, _Encoder | None]


@cache
def _writers(type_name: str) -> tuple[_Writer, ...]:
    return tuple(
        (
            name,
            None if _omitted(field) else partial(_zero, field.type),
            field.omit_empty and not field.type.pointer and field.type.kind not in _NEVER_EMPTY,
            _encoder(field.type),
        )
        for name, field in struct_fields(type_name).items()
    )


_NEVER_EMPTY = ("struct", "Quantity", "IntOrString")


def _is_time(type_: Type) -> bool:
    return type_.kind == "Time" or type_.go_name == "v1.MicroTime"


def _omitted(field: Field) -> bool:
    """Whether Go omits the field if it is absent. Structs and times are never empty in Go, unless they are pointers."""
    type_ = field.type
    if not field.omit_empty:
        return False
    if type_.pointer or field.name == "creationTimestamp":
        return True
    return type_.kind not in _NEVER_EMPTY and not _is_time(type_)


def _zero(type_: Type) -> Json:
    if type_.pointer or type_.kind in ("list", "map", "raw") or _is_time(type_):
        return None
    return encode(type_.struct, {}) if type_.kind == "struct" else _SCALAR_ZEROS.get(type_.kind, "")


def _encoder(type_: Type) -> _Encoder | None:
    """The encoder of a value; None if it is written as it is."""
    if type_.kind == "struct":
        return partial(encode, type_.struct)
    if type_.kind not in ("list", "map"):
        return None
    encode_item = _encoder(type_.of) or _itself
    if type_.kind == "list":
        return lambda items: [encode_item(item) for item in items]
    return lambda items: {key: encode_item(items[key]) for key in sorted(items)}


def _itself(value: Json) -> Json:
    return value
