"""What a PATCH makes of an object, before it is checked as any new state is. Pure.

Mirrors: apiserver/pkg/endpoints/handlers patch.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubesim.api.schema.codec import DecodeError
from kubesim.api.validation.field import FieldError, JsonObject
from kubesim.cluster.patches.json_patch import PatchError, json_patch, merge_patch
from kubesim.cluster.patches.strategic_merge import StrategicPatchError, go_value, strategic_merge_patch
from kubesim.cluster.problems import bad_request, internal_error, invalid, rejected
from kubesim.cluster.registry.bodies.reading import wrong_kind
from kubesim.cluster.registry.strategies import internal
from kubesim.cluster.store.kinds import Resource, resource_of
from kubesim.cluster.wire import json_text, misfit, unknown_in
from kubesim.errors import ApiError

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"

_PATCH_PROBLEM = "error decoding patch: "
_GO_TYPES = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


def patched_object(
    resource: Resource, document: JsonObject, content_type: str, body: Any, strict: Sequence[str] | None
) -> tuple[JsonObject, list[str]]:
    merged, shown = _merged(resource, document, content_type, body)
    unknown = list(unknown_in(resource, merged))
    kind, version = merged.get("kind", ""), merged.get("apiVersion", "")
    try:
        problem = misfit(resource.type_name, merged) if content_type == STRATEGIC_MERGE_PATCH else None
        if problem:
            raise DecodeError(problem)
        obj = internal(resource, merged)
        problem = wrong_kind(resource, kind, version) or _strict_error(unknown, strict)
        if problem:
            raise DecodeError(problem)
    except DecodeError as error:
        raise invalid("", "", "", (FieldError("Invalid value", "patch", shown, str(error)),)) from None
    stored = resource_of(resource.kind).api_version if resource.converted else version
    return {**obj, "kind": resource.kind, "apiVersion": stored}, unknown


def _strict_error(unknown: list[str], repeated: Sequence[str] | None) -> str:
    """The error about unknown and duplicate fields. None unless validation is strict."""
    if repeated is None or not (unknown or repeated):
        return ""
    found = [f'duplicate field "{path}"' for path in repeated] + [f'unknown field "{path}"' for path in unknown]
    return "strict decoding error: " + ", ".join(found)


def _merged(resource: Resource, document: JsonObject, content_type: str, body: Any) -> tuple[JsonObject, str]:
    """The patched document, and the text that its errors quote."""
    if content_type == JSON_PATCH:
        if not isinstance(body, list):
            raise _undecodable(body, "[]handlers.jsonPatchOp")
        for operation in body:
            if operation is not None and not isinstance(operation, dict):
                raise _undecodable(operation, "handlers.jsonPatchOp")
        try:
            merged = json_patch(document, [operation or {} for operation in body])
        except PatchError:
            raise rejected() from None
        return (merged if isinstance(merged, dict) else {}), json_text(merged)
    if not isinstance(body, dict):
        refusal = _undecodable(body, "map[string]interface {}")
        raise refusal if content_type == MERGE_PATCH else bad_request(refusal.message.removeprefix(_PATCH_PROBLEM))
    if content_type == MERGE_PATCH:
        merged = merge_patch(document, body)
        return merged, json_text(merged)
    try:
        return strategic_merge_patch(resource.type_name, document, body), go_value(body)
    except StrategicPatchError as error:
        raise (bad_request if error.bad_request else internal_error)(str(error)) from None


def _undecodable(body: Any, wanted: str) -> ApiError:
    found = _GO_TYPES.get(type(body), "null")
    return bad_request(f"{_PATCH_PROBLEM}json: cannot unmarshal {found} into Go value of type {wanted}")
