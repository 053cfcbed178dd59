"""Decodes the body of a POST or a PUT by the type in the path.

Mirrors: apiserver/pkg/endpoints/handlers create.go, the decoder of the legacy scheme
"""

from __future__ import annotations

from kubesim.api.schema.codec import DecodeError
from kubesim.api.validation.field import FieldError, JsonObject
from kubesim.cluster.problems import bad_request, invalid
from kubesim.cluster.registry.strategies import internal
from kubesim.cluster.store.kinds import RESOURCES, Resource, resource_of

_SCHEME = "pkg/api/legacyscheme/scheme.go:30"


def read_body(resource: Resource, body: JsonObject) -> JsonObject:
    """Decode the object of a POST or a PUT, with defaults. Without a kind, the path determines it."""
    if resource.custom_kind:
        _check_custom_kind(resource, body)
    kind, version = body.get("kind") or resource.kind_name, body.get("apiVersion") or resource.api_version
    named = f'{kind} in version "{version.rpartition("/")[2]}" cannot be handled as a {resource.kind_name}: '
    wrong = wrong_kind(resource, kind, version)
    if wrong:
        raise bad_request(named + wrong)
    try:
        obj = internal(resource, body)
    except DecodeError as error:
        shown = resource.kind_name
        raise bad_request(f'{shown} in version "{resource.version}" cannot be handled as a {shown}: {error}') from None
    version = resource_of(resource.kind).api_version if resource.converted else resource.api_version
    return {**obj, "kind": resource.kind, "apiVersion": version}


def _check_custom_kind(resource: Resource, body: JsonObject) -> None:
    kind, version = body.get("kind") or resource.kind_name, body.get("apiVersion") or ""
    if version != resource.api_version:
        expected = f"does not match the expected API version ({resource.api_version})"
        raise bad_request(f"the API version in the data ({version}) {expected}")
    if kind not in (resource.kind_name, resource.kind):
        metadata = body.get("metadata")
        name = metadata.get("name", "") if isinstance(metadata, dict) else ""
        problem = FieldError("Invalid value", "kind", kind, f"must be {resource.kind_name}")
        raise invalid(resource.group, kind, str(name), (problem,))


def wrong_kind(resource: Resource, kind: str, version: str) -> str:
    """The error if this kind and version do not match the resource."""
    if resource.custom_kind:
        wanted = f"{resource.api_version}, Kind={resource.kind_name}"
        if (kind, version) == (resource.kind_name, resource.api_version):
            return ""
        return f'no kind "{kind}" is registered for version "{version}" in scheme "{_SCHEME}", expected {wanted}'
    if (kind, version) == (resource.kind, resource.api_version):
        return ""
    known = kind.removesuffix("List") in RESOURCES or kind in ("DeleteOptions", "Binding", "Eviction")
    if version != resource.api_version or not known:
        return f'no kind "{kind}" is registered for version "{version}" in scheme "{_SCHEME}"'
    return f"converting (v1.{kind}) to (core.{resource.kind}): unknown conversion" if kind != resource.kind else ""
