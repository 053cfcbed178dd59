"""The JSON form of objects, and checks for fields and values that a type does not declare.

Mirrors: apimachinery/pkg/runtime/serializer/json (strict decoding); apimachinery/pkg/runtime converter.go (errors of
strategic merge patches)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.schema.codec import encode
from kubesim.api.schema.types import Type, parse_type, struct_fields
from kubesim.cluster.patches.json_patch import Json, JsonObject
from kubesim.cluster.store.kinds import Resource, resource_of
from kubesim.golang.json import dumps_in_order

_GO_KINDS = {str: "string", int: "int64", float: "float64", bool: "bool", dict: "map", list: "slice"}


def object_to_json(obj: ApiObject, *, in_list: bool = False) -> JsonObject:
    """An object as JSON in a response; items of lists omit their kind."""
    resource = resource_of(obj.kind)
    body = encode(resource.kind, obj.to_json()) if is_declared(resource) else obj.to_json()
    if in_list:
        return {key: value for key, value in body.items() if key not in ("kind", "apiVersion")}
    return {"kind": obj.kind, "apiVersion": resource.api_version} | body


def shown_as(resource: Resource, obj: ApiObject, *, in_list: bool = False) -> JsonObject:
    """An object in the requested API version."""
    if resource.converted:
        return resource.conversion.from_stored(object_to_json(obj, in_list=in_list))
    if not is_declared(resource):
        body = {name: value for name, value in obj.to_json().items() if name not in ("kind", "apiVersion")}
        head = {} if in_list else {"apiVersion": resource.api_version, "kind": resource.kind_name}
        return head | body
    return object_to_json(obj, in_list=in_list)


def encoded_kind(kind: str, body: JsonObject) -> JsonObject:
    """JSON of an object that is returned and not stored."""
    head = {name: body[name] for name in ("kind", "apiVersion")}
    return head | encode(kind, {name: value for name, value in body.items() if name not in head})


def encoded_fields(resource: Resource, obj: JsonObject) -> JsonObject:
    """An object in a normalized form, for comparison."""
    return encode(resource.kind, obj) if is_declared(resource) else obj


def is_declared(resource: Resource) -> bool:
    return parse_type(resource.kind).kind == "struct"


def unknown_in(resource: Resource, value: JsonObject) -> Iterator[str]:
    """The paths of fields unknown to the resource."""
    if is_declared(resource):
        return unknown_fields(resource.type_name, value)
    metadata = (f"metadata.{path}" for path in unknown_fields("ObjectMeta", value.get("metadata") or {}))
    if resource.schema is None:
        return metadata
    from kubesim.cluster.custom.schemas import unknown_paths  # imported late: most runs have no custom resources

    return chain(metadata, unknown_paths(resource.schema, value))


def unknown_fields(type_name: str, value: Json) -> Iterator[str]:
    """The paths of fields unknown to the type."""
    return _unknown(parse_type(type_name), value, "")


def _unknown(type_: Type, value: Json, path: str) -> Iterator[str]:
    if type_.kind == "struct" and isinstance(value, dict):
        fields = struct_fields(type_.struct)
        for name, item in value.items():
            where = f"{path}.{name}" if path else name
            if name in fields:
                yield from _unknown(fields[name].type, item, where)
            else:
                yield where
    elif type_.kind == "list" and isinstance(value, list):
        for n, item in enumerate(value):
            yield from _unknown(type_.of, item, f"{path}[{n}]")
    elif type_.kind == "map" and isinstance(value, dict):
        for name, item in value.items():
            yield from _unknown(type_.of, item, f"{path}.{name}")


def misfit(type_name: str, value: Json) -> str | None:
    """The error if a merged document does not match the type, with the message of the strategic-merge converter.

    The decoder checks quantities and times, with errors of its own.
    """
    return _misfit(parse_type(type_name), value)


def _misfit(type_: Type, value: Json) -> str | None:
    if value is None or type_.kind in ("Quantity", "Time", "raw", "IntOrString"):
        return None
    found = _GO_KINDS[type(value)]
    match type_.kind:
        case "struct":
            if not isinstance(value, dict):
                return f"cannot restore struct from: {found}"
            fields = struct_fields(type_.struct)
            return _first(_misfit(fields[key].type, item) for key, item in value.items() if key in fields)
        case "list":
            if not isinstance(value, list):
                return f"cannot restore slice from {found}"
            return _first(_misfit(type_.of, item) for item in value)
        case "map":
            if not isinstance(value, dict):
                return f"cannot restore map from {found}"
            return _first(_misfit(type_.of, item) for item in value.values())
        case kind:
            wanted = {"string": "string", "bool": "bool", "int": f"int{type_.bits}"}.get(kind, kind)
            fits = {"string": "string", "bool": "bool", "int": "int64"}.get(kind)
            return None if found == fits else f"cannot convert {found} to {wanted}"


def _first(problems: Iterator[str | None]) -> str | None:
    return next((problem for problem in problems if problem), None)


def encoded(value: Json) -> bytes:
    """One line of JSON as Go's encoder writes it, with HTML characters escaped."""
    return dumps_in_order(value).encode(errors="replace") + b"\n"


def json_text(value: Any) -> str:
    """Compact JSON, for messages."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
