"""Decodes protobuf objects, as typed clients send them, to JSON.

Mirrors: apimachinery/pkg/runtime/serializer/protobuf protobuf.go (the envelope); the generated.pb.go files
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from kubesim.api.schema.types import Type, is_struct, struct_fields
from kubesim.api.schema.versions.conversions import CONVERSIONS
from kubesim.api.timestamps import SECOND, format_micro_time, format_time
from kubesim.cluster.served.requests.field_numbers import NUMBERS
from kubesim.golang import json as gojson

MAGIC = b"k8s\0"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_DEPTH = 100

# Kinds whose Go type has another name.
_STRUCTS = {
    ("authentication.k8s.io/v1", "TokenRequest"): "AccountTokenRequest",
    **{key: conversion.type_name for key, conversion in CONVERSIONS.items()},
}
Fields = Iterator[tuple[int, int | bytes]]


class ProtobufError(ValueError):
    """The bytes are not a valid object."""


def decode_object(data: bytes) -> dict[str, Any]:
    if not data.startswith(MAGIC):
        raise ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    version, kind, raw = "", "", b""
    for number, value in _fields(data[len(MAGIC) :]):
        if number == 1:
            named = {n: _text(v) for n, v in _fields(_bytes(value)) if n in (1, 2)}
            version, kind = named.get(1, ""), named.get(2, "")
        elif number == 2:
            raw = _bytes(value)
    if not in_protobuf(version, kind):
        raise ProtobufError(f'no kind "{kind}" is registered for version "{version}"')
    return {"kind": kind, "apiVersion": version, **_message(struct_of(version, kind), raw, 0)}


def in_protobuf(version: str, kind: str) -> bool:
    """Whether the field numbers of a kind are known."""
    struct = struct_of(version, kind)
    return struct in _messages() and is_struct(struct)


def struct_of(version: str, kind: str) -> str:
    return _STRUCTS.get((version, kind), kind)


def field_numbers(struct: str) -> Mapping[int, str]:
    """The fields of a type by number."""
    return _messages().get(struct, {})


@cache
def _messages() -> Mapping[str, Mapping[int, str]]:
    """Field names by number, for each type."""
    found = {}
    for line in NUMBERS.replace("\n  ", " ").strip().splitlines():
        name, _, fields = line.partition(": ")
        numbered, number = {}, 0
        for field in fields.split():
            given, _, plain = field.rpartition("=")
            number = int(given) if given else number + 1
            numbered[number] = plain
        found[name] = numbered
    return found


@cache
def embedded_messages(struct: str) -> Mapping[str, str]:
    """Embedded structs that protobuf encodes as a message: field name, message type."""
    parents = {field.embedded_in for field in struct_fields(struct).values()} - {"", "TypeMeta"}
    named = {parent[0].lower() + parent[1:]: parent for parent in parents}
    return {"handler": "ProbeHandler"} if struct == "Probe" else named


def _message(struct: str, data: bytes, depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        raise ProtobufError("exceeded max depth")
    numbered, fields, embedded = field_numbers(struct), struct_fields(struct), embedded_messages(struct)
    out: dict[str, Any] = {}
    for number, value in _fields(data):
        name = numbered.get(number)
        if name is None:
            continue
        if name in embedded:
            inner = {each.name: each for each in fields.values()}
            for other, item in _fields(_bytes(value)):
                part = field_numbers(embedded[name]).get(other)
                if part in inner:
                    _add(out, part, inner[part].type, item, depth)
        elif name in fields:
            _add(out, name, fields[name].type, value, depth)
    return {name: value for name, value in out.items() if not _is_unset(fields[name].type, value)}


def _is_unset(type_: Type, value: Any) -> bool:
    """Whether a value is the zero value of a field that protobuf always writes."""
    zero: Any = {"bool": False, "int": "0", "map": {}, "struct": {}}.get(type_.kind, "")
    return value is None or (not type_.pointer and value == zero and type_.kind != "Quantity")


def _add(out: dict[str, Any], name: str, type_: Type, value: int | bytes, depth: int) -> None:
    if type_.kind == "list":
        out.setdefault(name, []).append(_value(type_.of, value, depth))
    elif type_.kind == "map":
        pair = dict(_fields(_bytes(value)))
        key = _text(pair.get(1, b""))
        out.setdefault(name, {})[key] = _value(type_.of, pair.get(2, b""), depth)
    else:
        out[name] = _value(type_, value, depth)


def _value(type_: Type, value: int | bytes, depth: int) -> Any:
    if type_.go_name == "v1.MicroTime":
        return _time(_bytes(value), micro=True)
    match type_.kind:
        case "struct":
            return _message(type_.struct, _bytes(value), depth + 1)
        case "bool":
            return bool(value)
        case "int":
            return gojson.Number(_signed(value))
        case "Time":
            return _time(_bytes(value), micro=False)
        case "Quantity":
            return _text(dict(_fields(_bytes(value))).get(1, b""))
        case "IntOrString":
            parts = dict(_fields(_bytes(value)))
            return _text(parts.get(3, b"")) if parts.get(1) else gojson.Number(_signed(parts.get(2, 0)))
        case "raw":
            return gojson.loads(_text(dict(_fields(_bytes(value))).get(1, b"null")))
    if type_.go_name == "v1.Bytes":
        return base64.b64encode(_bytes(value)).decode()
    return _text(value)


def _time(data: bytes, *, micro: bool) -> str | None:
    parts = dict(_fields(data))
    if not parts:
        return None
    moment = _signed(parts.get(1, 0)) * SECOND + _signed(parts.get(2, 0)) // 1000
    return format_micro_time(moment) if micro else format_time(moment)


def _signed(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise ProtobufError("wrong wireType = 2")
    return value - (1 << 64) if value >= 1 << 63 else value


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ProtobufError("wrong wireType = 0")
    return value


def _text(value: int | bytes) -> str:
    return _bytes(value).decode(errors="replace")


def _fields(data: bytes) -> Fields:
    """Number and value of each field of a message."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if not number:
            raise ProtobufError(f"illegal tag {number} (wire type {wire})")
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == _BYTES:
            length, at = _varint(data, at)
        elif wire in (_FIXED64, _FIXED32):
            length = 8 if wire == _FIXED64 else 4
        else:
            raise ProtobufError(f"illegal wireType {wire}")
        if at + length > len(data):
            raise ProtobufError("unexpected EOF")
        yield number, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise ProtobufError("unexpected EOF")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value & ((1 << 64) - 1), at
        if shift > 63:
            raise ProtobufError("integer overflow")
