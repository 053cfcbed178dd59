"""OpenAPI documents of the server's kinds, generated from their declarations. The descriptions are kubesim's own.

A kind with only its metadata declared is an object with unknown fields.

Mirrors: apiserver/pkg/endpoints/openapi; k8s.io/kube-openapi/pkg/handler, handler3 (hashes and their headers)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from kubesim.api.schema.types import Field, Type, struct_fields
from kubesim.cluster.custom.definitions import custom_resource
from kubesim.cluster.managed.relations import ATOMIC_MAPS, ATOMIC_TYPES, LISTS
from kubesim.cluster.served.documents.discovery import Groups
from kubesim.cluster.served.documents.openapi_paths import paths_of
from kubesim.cluster.store.api_groups import ApiResource, api_resources, resources_by_path
from kubesim.cluster.store.store import Store
from kubesim.cluster.wire import is_declared

Json = dict[str, Any]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_META_TYPES = (
    "ObjectMeta", "OwnerReference", "ManagedFieldsEntry", "LabelSelector", "LabelSelectorRequirement", "ListMeta",
    "DeleteOptions", "Preconditions", "Condition", "ShardInfo", "FieldSelectorRequirement",
)  # fmt: skip
_SCALARS: dict[str, Json] = {
    f"{_META}.Time": {"type": "string", "format": "date-time"},
    f"{_META}.MicroTime": {"type": "string", "format": "date-time"},
    f"{_META}.FieldsV1": {"type": "object"},
    f"{_META}.Patch": {"type": "object"},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object"},
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
}
_REFERENCED = {
    "Time": f"{_META}.Time",
    "Quantity": "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "IntOrString": "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
}
_WORDS = {
    "string": "a text", "bool": "true or false", "int": "a number", "list": "a list", "map": "a map", "Time": "a time",
    "Quantity": "a quantity", "IntOrString": "a number or a text", "raw": "any value",
}  # fmt: skip


# -- names ------------------------------------------------------------------------------------------------------------


@cache
def _packages() -> dict[str, str]:
    """The Go package of each struct: that of the first group whose kinds use it, the core group first."""
    found = dict.fromkeys(_META_TYPES, _META)
    versions = sorted(api_resources(), key=lambda version: version != "v1")
    for version in versions:
        for resource in api_resources()[version]:
            known = resources_by_path().get((resource.group, resource.version, resource.plural))
            if known is not None and is_declared(known):
                _reach(known.type_name, _package(resource), found)
    return found


def _package(resource: ApiResource) -> str:
    return f"io.k8s.api.{resource.group.partition('.')[0] or 'core'}.{resource.version}"


def _reach(struct: str, package: str, found: dict[str, str]) -> None:
    if struct in found:
        return
    found[struct] = package
    for field in struct_fields(struct).values():
        below = _innermost(field.type)
        if below.kind == "struct":
            _reach(below.struct, package, found)


def _innermost(type_: Type) -> Type:
    while type_.element is not None:
        type_ = type_.element
    return type_


def _schema_name(struct: str) -> str:
    return f"{_packages()[struct]}.{'Event' if struct == 'RegardingEvent' else struct}"


# -- schemas ----------------------------------------------------------------------------------------------------------


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _of_type(type_: Type) -> Json:
    if type_.go_name == "v1.MicroTime":
        return _reference(f"{_META}.MicroTime")
    match type_.kind:
        case "struct":
            return _reference(_schema_name(type_.struct))
        case "list":
            return {"type": "array", "items": _of_type(type_.of)}
        case "map":
            return {"type": "object", "additionalProperties": _of_type(type_.of)}
        case "bool":
            return {"type": "boolean"}
        case "int":
            return {"type": "integer", "format": f"int{type_.bits}"}
        case "raw":
            fields = type_.go_name == "v1.FieldsV1"
            return _reference(f"{_META}.FieldsV1" if fields else "io.k8s.apimachinery.pkg.runtime.RawExtension")
        case "string":
            return {"type": "string", "format": "byte"} if type_.go_name == "v1.Bytes" else {"type": "string"}
        case kind:
            return _reference(_REFERENCED[kind])


def _property(struct: str, field: Field) -> Json:
    shown = "an object" if field.type.kind == "struct" else _WORDS[field.type.kind]
    described = {"description": f"{field.name} of {struct}: {shown}."}
    schema = _of_type(field.type)
    found: Json = described | ({"allOf": [schema]} if "$ref" in schema else schema)
    field_key = (struct, field.name)
    if field.type.kind == "list":
        keys = LISTS.get(field_key)
        found["x-kubernetes-list-type"] = "atomic" if keys is None else "map" if keys else "set"
        if keys:
            found["x-kubernetes-list-map-keys"] = list(keys)
        if field.merge is not None:
            found["x-kubernetes-patch-strategy"] = "merge"
            if field.merge:
                found["x-kubernetes-patch-merge-key"] = field.merge
    elif field_key in ATOMIC_MAPS:
        found["x-kubernetes-map-type"] = "atomic"
    return found


def _struct_schema(struct: str) -> Json:
    fields = struct_fields(struct)
    schema: Json = {
        "description": f"A value of the type {struct}.",
        "type": "object",
        "properties": {name: _property(struct, fields[name]) for name in sorted(fields)},
    }
    required = [field.name for field in fields.values() if not field.omit_empty and not field.type.pointer]
    if required and "metadata" not in fields:
        schema["required"] = sorted(required)
    if struct in ATOMIC_TYPES:
        schema["x-kubernetes-map-type"] = "atomic"
    return schema


def _reachable(struct: str, found: dict[str, Json]) -> None:
    name = _schema_name(struct)
    if name in found:
        return
    found[name] = _struct_schema(struct)
    for field in struct_fields(struct).values():
        below = _innermost(field.type)
        if below.kind == "struct":
            _reachable(below.struct, found)


def _kinds(store: Store, resources: tuple[ApiResource, ...]) -> Iterator[tuple[ApiResource, str, Json | None]]:
    """Each resource with the name of its schema, and the schema itself if the kind has no declared type."""
    for each in resources:
        known = resources_by_path().get((each.group, each.version, each.plural))
        if known is not None and is_declared(known):
            yield each, _schema_name(known.type_name), None
            continue
        custom = custom_resource(store, each.group, each.version, each.plural)
        if custom is not None:
            name = f"{'.'.join(reversed(each.group.split('.')))}.{each.version}.{each.kind}"
            yield each, name, _custom_schema(dict(custom.schema or {}))
        else:
            yield each, f"{_package(each)}.{each.kind}", _custom_schema({"x-kubernetes-preserve-unknown-fields": True})


def _custom_schema(schema: Json) -> Json:
    properties = {
        **(schema.get("properties") or {}),
        "apiVersion": {"type": "string", "description": "The version of the object."},
        "kind": {"type": "string", "description": "The kind of the object."},
        "metadata": {"description": "The metadata of the object.", "allOf": [_reference(f"{_META}.ObjectMeta")]},
    }
    return {**schema, "type": "object", "properties": properties}


def _components(store: Store, resources: tuple[ApiResource, ...]) -> dict[str, Json]:
    found: dict[str, Json] = {
        name: {"description": "A value of its own form.", **schema} for name, schema in _SCALARS.items()
    }
    for struct in ("ObjectMeta", "ListMeta", "DeleteOptions"):
        _reachable(struct, found)
    for resource, name, schema in _kinds(store, resources):
        if schema is None:
            known = resources_by_path()[(resource.group, resource.version, resource.plural)]
            _reachable(known.type_name, found)
        else:
            found[name] = schema
        named = {"group": resource.group, "kind": resource.kind, "version": resource.version}
        found[name] = {**found[name], "x-kubernetes-group-version-kind": [named]}
        found[f"{name}List"] = _list_schema(name, resource)
    return dict(sorted(found.items()))


def _list_schema(name: str, resource: ApiResource) -> Json:
    named = {"group": resource.group, "kind": f"{resource.kind}List", "version": resource.version}
    return {
        "description": f"A list of objects of the kind {resource.kind}.",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "items": {"type": "array", "items": _reference(name)},
            "kind": {"type": "string"},
            "metadata": {"allOf": [_reference(f"{_META}.ListMeta")]},
        },
        "x-kubernetes-group-version-kind": [named],
    }


# -- documents --------------------------------------------------------------------------------------------------------

_INFO = {"title": "Kubernetes", "version": "v1.36.4"}
_PLAIN = (".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version")


def _group_version(path: str) -> str:
    return path.removeprefix("apis/") if path.startswith("apis/") else path.removeprefix("api/")


def openapi_v3(store: Store, groups: Groups, path: str) -> tuple[Json, str] | None:
    """The document of `api/v1`, `apis/apps/v1`, ..., and its hash. None if the path does not exist."""
    if path not in _index(groups):
        return None
    resources = groups.get(_group_version(path), ())
    document = _document(store, path, resources)
    text = json.dumps(document, sort_keys=True)
    return document, hashlib.sha512(text.encode()).hexdigest().upper()


def _document(store: Store, path: str, resources: tuple[ApiResource, ...]) -> Json:
    if not resources:
        return {"openapi": "3.0.0", "info": _INFO, "paths": {f"/{path}": {}}, "components": {}}
    names = {each.plural: name for each, name, _ in _kinds(store, resources)}
    schemas = _components(store, resources)
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": paths_of(path, resources, names),
        "components": {"schemas": schemas},
    }


def _index(groups: Groups) -> list[str]:
    found = set(_PLAIN)
    for group_version in groups:
        group = group_version.rpartition("/")[0]
        found |= {f"apis/{group_version}", f"apis/{group}"} if group else {f"api/{group_version}"}
    return sorted(found)


def openapi_v3_index(store: Store, groups: Groups) -> Json:
    paths = {}
    for path in _index(groups):
        found = openapi_v3(store, groups, path)
        assert found is not None
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={found[1]}"}
    return {"paths": paths}


def openapi_v2(store: Store, groups: Groups) -> Json:
    """The OpenAPI v2 document: all schemas, and the operations of each path with their parameters."""
    schemas: dict[str, Json] = {}
    paths: dict[str, Json] = {}
    for path in _index(groups):
        resources = groups.get(_group_version(path), ())
        if resources:
            document = _document(store, path, resources)
            schemas |= document["components"]["schemas"]
            paths |= {each: _older_item(item) for each, item in document["paths"].items()}
    older = {name: _older(schema) for name, schema in schemas.items()}
    text = json.dumps({"swagger": "2.0", "info": _INFO, "paths": paths, "definitions": older})
    found: Json = json.loads(text.replace("#/components/schemas/", "#/definitions/"))
    return found


def _older(schema: Json) -> Json:
    """The schema in OpenAPI v2 terms: `allOf` is replaced by its reference, `oneOf` and `anyOf` by a string."""
    found: Json = {}
    for name, value in schema.items():
        match name:
            case "allOf":
                found |= _older(value[0])
            case "oneOf" | "anyOf":
                found["type"] = "string"
            case "properties":
                found[name] = {each: _older(one) for each, one in value.items()}
            case "items" | "additionalProperties" if isinstance(value, dict):
                found[name] = _older(value)
            case _:
                found[name] = value
    return found


def _older_item(item: Json) -> Json:
    found: Json = {}
    for method, operation in item.items():
        if method != "parameters":
            options = [{**each, **each["schema"]} for each in operation.get("parameters", ())]
            older = [{name: each[name] for name in each if name != "schema"} for each in options]
            responses = {"200": {"description": "OK"}}
            rest = {name: value for name, value in operation.items() if name != "requestBody"}
            found[method] = {**rest, "parameters": older, "responses": responses}
    return found
