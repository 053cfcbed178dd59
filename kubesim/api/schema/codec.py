"""JSON objects read and written by their declared types.

Reading drops what the type does not know, refuses what does not fit (in Go's words) and gives quantities and times
their canonical text; writing leaves out what is empty, unless the declaration says that it is always written.
In between an object is a plain dict: absent means the zero value, and an empty list is still not an absent one.

Mirrors: sigs.k8s.io/json decode.go (object, array, literalStore); encoding/json encode.go
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kubesim.api.gojson import Json, Number, dumps, kind_of
from kubesim.api.gotext import quoted
from kubesim.api.quantity import parse_quantity
from kubesim.api.schema.types import Field, Type, parse_type, struct_fields
from kubesim.api.timestamps import format_time, parse_time

# Of the other kinds there are only pointers.
_ZEROS: dict[str, Callable[[], Any]] = {
    "string": str, "bool": bool, "int": int, "IntOrString": int, "Quantity": lambda: "0", "list": list, "map": dict,
    "struct": dict,
}  # fmt: skip
# The containers of statuses and resources are objects in Go and always written; nobody wants to read `{}` for them.
_HIDDEN_WHEN_EMPTY = {"resources", "status", "lastState"}
_PYTHON_NUMBERS = (int, float)


class DecodeError(ValueError):
    """A JSON value that does not fit its type."""


class _Absent:
    """What decoding gives for null, and for a value whose misfit was noted."""


_ABSENT = _Absent()


def decode(type_name: str, value: Json) -> Any:
    """A JSON value -> the object of this type. The first misfit is reported, after all has been read.

    Numbers may be Python's, which count as written as Python writes them.
    """
    decoder, type_ = _Decoder(), parse_type(type_name)
    out = decoder.value(type_, value)
    if decoder.misfit:
        raise DecodeError(decoder.misfit)
    return _or_zero(type_, out)


class _Decoder:
    def __init__(self) -> None:
        self.misfit = ""
        self.struct = ""
        self.path: list[str] = []

    def value(self, type_: Type, value: Json) -> Any:
        if value is None and type_.kind != "Quantity":
            return _ABSENT
        if type(value) in _PYTHON_NUMBERS:
            value = Number(json.dumps(value))
        match type_.kind:
            case "struct":
                return self.object(type_, value)
            case "list":
                return self.list(type_, value)
            case "map":
                return self.map(type_, value)
            case "string":
                return value if _is_text(value) else self.note(kind_of(value), type_.go_name)
            case "bool":
                return value if isinstance(value, bool) else self.note(kind_of(value), type_.go_name)
            case "int":
                return self.integer(type_, value)
            case "Quantity":
                return self.quantity(type_, value)
            case "IntOrString":
                return value if _is_text(value) else self.own_integer(value)
            case "Time":
                return self.time(value)
            case _:  # of no declared type: numbers become numbers
                return json.loads(dumps(value))

    def note(self, found: str, go_name: str) -> _Absent:
        """A misfit does not end the reading: the first one is kept."""
        self.misfit = self.misfit or self.message(found, go_name)
        return _ABSENT

    def message(self, found: str, go_name: str) -> str:
        where = f"Go struct field {self.struct}.{'.'.join(self.path)}" if self.struct else "Go value"
        return f"json: cannot unmarshal {found} into {where} of type {go_name}"

    def object(self, type_: Type, value: Json) -> Any:
        if not isinstance(value, dict):
            return self.note(kind_of(value), type_.go_name)
        fields = struct_fields(type_.struct)
        outer, depth = self.struct, len(self.path)
        out: dict[str, Any] = {}
        for key, item in value.items():
            field = fields.get(key)
            if field is None:
                continue
            if type(item) is str and field.type.kind == "string":  # the most frequent ones, and nothing is wrong
                out[key] = item
                continue
            self.struct = type_.struct
            if field.embedded_in:
                self.path.append(field.embedded_in)
            self.path.append(key)
            decoded = self.value(field.type, item)
            if decoded is not _ABSENT:
                out[key] = decoded
            self.struct = outer
            del self.path[depth:]
        return out

    def list(self, type_: Type, value: Json) -> Any:
        if not isinstance(value, list):
            return self.note(kind_of(value), type_.go_name)
        return [_or_zero(type_.of, self.value(type_.of, item)) for item in value]

    def map(self, type_: Type, value: Json) -> Any:
        if not isinstance(value, dict):
            return self.note(kind_of(value), type_.go_name)
        return {key: _or_zero(type_.of, self.value(type_.of, item)) for key, item in value.items()}

    def integer(self, type_: Type, value: Json) -> Any:
        if not isinstance(value, Number):
            return self.note(kind_of(value), type_.go_name)
        number = _parse_int(value, type_.bits)
        return self.note(f"number {value}", type_.go_name) if number is None else number

    # The kinds below decode themselves upstream, and their errors end the reading at once.

    def own_integer(self, value: Json) -> int:
        number = _parse_int(value, 32) if isinstance(value, Number) else None
        if number is None:
            found = f"number {value}" if isinstance(value, Number) else kind_of(value)
            raise DecodeError(self.message(found, "int32"))
        return number

    def quantity(self, type_: Type, value: Json) -> Any:
        if value is None:
            return _ABSENT if type_.pointer else "0"
        try:
            return str(parse_quantity(value.strip() if isinstance(value, str) else "?"))
        except ValueError as error:
            raise DecodeError(str(error)) from None

    def time(self, value: Json) -> str:
        if not _is_text(value):
            raise DecodeError(self.message(kind_of(value), "string"))
        try:
            return format_time(parse_time(value))
        except ValueError:
            layout = '"2006-01-02T15:04:05Z07:00"'
            raise DecodeError(
                f'parsing time {quoted(value)} as {layout}: cannot parse {quoted(value)} as "2006"'
            ) from None


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and not isinstance(value, Number)


def _parse_int(text: str, bits: int) -> int | None:
    if not text.removeprefix("-").isdigit():
        return None
    number = int(text)
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None


def _or_zero(type_: Type, value: Any) -> Any:
    return _zero(type_) if value is _ABSENT else value


def _zero(type_: Type) -> Any:
    return _ZEROS[type_.kind]()


def encode(type_name: str, value: dict[str, Any]) -> dict[str, Any]:
    """The object as Go would write it, without its nulls."""
    out: dict[str, Any] = {}
    for name, field in struct_fields(type_name).items():
        encoded = _encode_field(field, value.get(name))
        if encoded is not None and (encoded != {} or name not in _HIDDEN_WHEN_EMPTY):
            out[name] = encoded
    return out


def _encode_field(field: Field, value: Any) -> Any:
    type_ = field.type
    if value is None:
        if type_.pointer or type_.kind in ("list", "map", "Time", "raw"):
            return None
        if type_.kind != "Quantity" and type_.kind != "struct" and field.omit_empty:
            return None
        return _encode(type_, _zero(type_))
    if field.omit_empty and not type_.pointer and type_.kind not in ("struct", "IntOrString"):
        if value in ("", 0, [], {}):
            return None
    return _encode(type_, value)


def _encode(type_: Type, value: Any) -> Any:
    match type_.kind:
        case "struct":
            return encode(type_.struct, value)
        case "list":
            return [_encode(type_.of, item) for item in value]
        case "map":
            return {key: _encode(type_.of, item) for key, item in value.items()}
        case _:
            return value
