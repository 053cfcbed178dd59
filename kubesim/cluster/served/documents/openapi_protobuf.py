"""The OpenAPI v2 document in protobuf, the only form in which kubectl reads it.

A message maps field numbers to values. Values of unknown shape (defaults, extensions) are encoded as YAML.

Mirrors: github.com/google/gnostic-models openapiv2/OpenAPIv2.proto
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kubesim.cluster.served.protobuf_wire import number_field, part

Json = Mapping[str, Any]

_TEXTS = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
_NUMBERS = {"maxLength": 11, "minLength": 12, "maxItems": 14, "minItems": 15, "maxProperties": 17, "minProperties": 18}
_BOOLS = {"uniqueItems": 16, "readOnly": 27}
_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}


def encoded_document(document: Json) -> bytes:
    """The parts of the document that clients read, in protobuf: schemas, and operations with their parameters."""
    info = _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])
    paths = b"".join(part(2, _named(path, _path_item(item))) for path, item in document["paths"].items())
    schemas = _named_schemas(document["definitions"])
    return _text(1, document["swagger"]) + part(2, info) + part(8, paths) + part(9, schemas)


def _schema(schema: Json) -> bytes:
    out = b"".join(_text(number, schema[name]) for name, number in _TEXTS.items() if name in schema)
    out += b"".join(number_field(number, schema[name]) for name, number in _NUMBERS.items() if name in schema)
    out += b"".join(number_field(number, int(schema[name])) for name, number in _BOOLS.items() if name in schema)
    if "default" in schema:
        out += part(5, _yaml(schema["default"]))
    out += b"".join(_text(19, name) for name in schema.get("required", ()))
    out += b"".join(part(20, _yaml(each)) for each in schema.get("enum", ()))
    more = schema.get("additionalProperties")
    if more is not None:
        out += part(21, number_field(2, int(more)) if isinstance(more, bool) else part(1, _schema(more)))
    if "type" in schema:
        out += part(22, _text(1, schema["type"]))
    if "items" in schema:
        out += part(23, part(1, _schema(schema["items"])))
    if "properties" in schema:
        out += part(25, _named_schemas(schema["properties"]))
    return out + _extensions(31, schema)


def _named_schemas(schemas: Json) -> bytes:
    return b"".join(part(1, _named(name, _schema(schema))) for name, schema in schemas.items())


def _path_item(item: Json) -> bytes:
    return b"".join(part(number, _operation(item[name])) for name, number in _METHODS.items() if name in item)


def _operation(operation: Json) -> bytes:
    out = _text(3, operation.get("description", "")) + _text(5, operation.get("operationId", ""))
    queries = (each for each in operation.get("parameters", ()) if each["in"] == "query")
    out += b"".join(part(8, part(1, part(2, part(3, _query(each))))) for each in queries)
    return out + _extensions(13, operation)


def _query(parameter: Json) -> bytes:
    out = _text(2, parameter["in"]) + _text(3, parameter["description"]) + _text(4, parameter["name"])
    return out + _text(6, parameter["type"])


def _extensions(number: int, value: Json) -> bytes:
    names = (name for name in value if name.startswith("x-"))
    return b"".join(part(number, _named(name, _yaml(value[name]))) for name in names)


def _yaml(value: Any) -> bytes:
    return _text(2, json.dumps(value) + "\n")


def _named(name: str, content: bytes) -> bytes:
    return _text(1, name) + part(2, content)


def _text(number: int, text: str) -> bytes:
    return part(number, text.encode()) if text else b""
