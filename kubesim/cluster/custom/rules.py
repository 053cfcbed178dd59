"""Rules for kinds of which only the metadata is declared: custom resources, and kinds that no controller of kubesim
handles.

Mirrors: apiextensions-apiserver pkg/registry/customresource strategy.go, status_strategy.go
"""

from __future__ import annotations

import json
from typing import Any

from kubesim.api.schema.codec import decode
from kubesim.api.validation.field import Errors
from kubesim.cluster.custom.schemas import add_defaults, pruned, validate
from kubesim.cluster.patches.json_patch import equal_json
from kubesim.cluster.store.kinds import DEFINITION, Resource
from kubesim.golang import json as gojson

JsonObject = dict[str, Any]


def read_undeclared(resource: Resource, value: JsonObject) -> JsonObject:
    """A JSON value as an object, with defaults; raises `DecodeError` for invalid metadata."""
    is_definition = resource.kind == DEFINITION
    head = decode("ResourceDefinition" if is_definition else "UndeclaredObject", value)  # reports wrong types
    body: JsonObject = head if is_definition else json.loads(gojson.dumps(value))
    body["metadata"] = head.get("metadata") or {}
    if resource.schema is not None:
        body = pruned(resource.schema, body)
        add_defaults(resource.schema, body)
    elif is_definition:
        from kubesim.cluster.custom.definitions import default_definition

        default_definition(body)
    return body


def prepare_create(resource: Resource, obj: JsonObject) -> None:
    """Prepare a new object, in place."""
    if resource.kind == DEFINITION:
        from kubesim.cluster.custom.definitions import prepare_definition

        prepare_definition(obj)
    elif "status" in resource.subresources:
        obj.pop("status", None)
    obj["metadata"]["generation"] = 1


def validate_undeclared(errors: Errors, resource: Resource, obj: JsonObject, old: JsonObject | None = None) -> None:
    """Validate a new object, or the new state of an old one."""
    if resource.kind == DEFINITION:
        from kubesim.cluster.custom.definition_rules import validate_definition, validate_definition_update

        validate_definition(errors, obj)
        if old is not None:
            validate_definition_update(errors, obj, old)
    elif resource.schema is not None:
        validate(errors, resource.schema, obj)


def prepare_update(resource: Resource, new: JsonObject, old: JsonObject) -> None:
    """Prepare an update, in place: a write of the object keeps its status if the kind has a status subresource."""
    if "status" in resource.subresources:
        if "status" in old:
            new["status"] = old["status"]
        else:
            new.pop("status", None)
    if not equal_json(_counted(new), _counted(old)):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def prepare_status_update(new: JsonObject, old: JsonObject) -> None:
    for name in {*new, *old} - {"status"}:
        if name == "metadata":
            new["metadata"] = {**old["metadata"], "resourceVersion": new["metadata"].get("resourceVersion", "")}
        elif name in old:
            new[name] = old[name]
        else:
            new.pop(name)


def _counted(obj: JsonObject) -> JsonObject:
    return {name: value for name, value in obj.items() if name not in ("metadata", "status", "kind", "apiVersion")}
