"""Encodes objects in protobuf, for clients that accept nothing else.

Fields are written in the order of their numbers. As in Go, scalars and structs that are no pointers are always written.

Mirrors: apimachinery/pkg/runtime/serializer/protobuf protobuf.go (the envelope, NotMarshalable); pkg/util/framer; the
generated.pb.go files
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from kubesim.api.schema.types import Field, Type, struct_fields
from kubesim.api.timestamps import SECOND, parse_time
from kubesim.cluster.served.protobuf_wire import number_field, part
from kubesim.cluster.served.requests.protobuf import MAGIC, embedded_messages, field_numbers, in_protobuf, struct_of
from kubesim.errors import ApiError
from kubesim.golang.json import dumps

JsonObject = dict[str, Any]

_NOT_MARSHALABLE = (
    "object *v1.{} does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
)


def encode_object(body: JsonObject) -> bytes:
    """An object or a list in its envelope. Raises 406."""
    version, kind = body.get("apiVersion", ""), body.get("kind", "")
    head = _text(1, version) + _text(2, kind)
    return MAGIC + part(1, head) + part(2, _content(version, kind, body)) + _text(3, "") + _text(4, "")


def has_encoding(body: JsonObject) -> bool:
    """Whether the object is encoded, or refused because it cannot be. Discovery is JSON for all clients."""
    kind = body.get("kind", "")
    return kind == "Table" or in_protobuf(body.get("apiVersion", ""), kind.removesuffix("List"))


def encode_event(line: JsonObject) -> bytes:
    """An event of a watch as a frame."""
    event = _text(1, line["type"]) + part(2, part(1, encode_object(line["object"])))
    return len(event).to_bytes(4, "big") + event


def _content(version: str, kind: str, body: JsonObject) -> bytes:
    item = kind.removesuffix("List")
    if item != kind and in_protobuf(version, item):
        struct = struct_of(version, item)
        items = (part(2, _message(struct, each)) for each in body.get("items") or ())
        return part(1, _message("ListMeta", body.get("metadata") or {})) + b"".join(items)
    if not in_protobuf(version, kind):
        raise ApiError(406, "NotAcceptable", _NOT_MARSHALABLE.format(kind))
    return _message(struct_of(version, kind), body)


@cache
def _plan(struct: str) -> tuple[tuple[int, str, Field | None], ...]:
    """Number, name and field of each part of a message; an embedded message has no field."""
    fields, embedded = struct_fields(struct), embedded_messages(struct)
    found: list[tuple[int, str, Field | None]] = []
    for number, name in sorted(field_numbers(struct).items()):
        if name in embedded:
            found.append((number, embedded[name], None))
        elif name in fields:
            found.append((number, name, fields[name]))
    return tuple(found)


def _message(struct: str, value: Mapping[str, Any]) -> bytes:
    return b"".join(_parts(struct, value))


def _parts(struct: str, value: Mapping[str, Any]) -> Iterator[bytes]:
    for number, name, field in _plan(struct):
        if field is None:
            inner = struct_fields(struct)
            numbered = ((n, inner[part]) for n, part in sorted(field_numbers(name).items()) if part in inner)
            yield part(number, b"".join(_field(n, each, value.get(each.name)) for n, each in numbered))
        else:
            yield _field(number, field, value.get(name))


def _field(number: int, field: Field, value: Any) -> bytes:
    type_ = field.type
    if type_.kind == "list":
        return b"".join(_value(number, type_.of, item) for item in value or ())
    if type_.kind == "map":
        pairs = sorted((value or {}).items())
        return b"".join(part(number, _text(1, key) + _value(2, type_.of, item)) for key, item in pairs)
    if value is None and (type_.pointer or type_.kind == "raw" or type_.go_name == "v1.Bytes"):
        return b""
    return _value(number, type_, value)


def _value(number: int, type_: Type, value: Any) -> bytes:
    if type_.go_name == "v1.MicroTime":
        return part(number, _time(value))
    match type_.kind:
        case "struct":
            return part(number, _message(type_.struct, value or {}))
        case "bool" | "int":
            return number_field(number, int(value or 0))
        case "Time":
            return part(number, _time(value))
        case "Quantity":
            return part(number, _text(1, str(value or 0)))
        case "IntOrString":
            text = value if isinstance(value, str) else ""
            plain = 0 if isinstance(value, str) else int(value or 0)
            return part(number, number_field(1, int(isinstance(value, str))) + number_field(2, plain) + _text(3, text))
        case "raw":
            return part(number, part(1, dumps(value).encode()))
        case "list":  # of a map: a message of its own
            return part(number, b"".join(_value(1, type_.of, item) for item in value or ()))
    if type_.go_name == "v1.Bytes":
        return part(number, base64.b64decode(value or ""))
    return _text(number, value or "")


def _time(text: str | None) -> bytes:
    if not text:
        return b""
    moment = parse_time(text)
    return number_field(1, moment // SECOND) + number_field(2, moment % SECOND * 1000)


def _text(field: int, value: str) -> bytes:
    return part(field, value.encode(errors="replace"))
