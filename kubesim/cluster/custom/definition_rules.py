"""Validation of CustomResourceDefinitions: names, versions, structural schemas.

Mirrors: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go; pkg/apiserver/schema/validation.go;
pkg/apis/apiextensions/v1/conversion.go (where the errors of equal versions are reported)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, Raw
from kubesim.golang.json import dumps_in_order

JsonObject = dict[str, Any]

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_NO_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_JUNCTORS = ("allOf", "anyOf", "oneOf")
_NOT_BELOW_JUNCTORS = {
    "type": "empty",
    "additionalProperties": "undefined",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    "x-kubernetes-preserve-unknown-fields": "false",
    "x-kubernetes-embedded-resource": "false",
    "x-kubernetes-int-or-string": "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
    "x-kubernetes-validations": "empty",
}


def validate_definition(errors: Errors, definition: JsonObject) -> None:
    spec = definition.get("spec") or {}
    names, group, versions = spec.get("names") or {}, spec.get("group") or "", spec.get("versions") or []
    name = definition["metadata"].get("name", "")
    if name and name != f"{names.get('plural', '')}.{group}":
        errors.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    _validate_group(errors, group)
    if not spec.get("scope"):
        errors.required("spec.scope")
    else:
        errors.unless_one_of("spec.scope", spec["scope"], ("Cluster", "Namespaced"))
    _validate_versions(errors, versions)
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            errors.required(f"spec.names.{field}")
    _validate_names(errors, names)
    if _all_equal(versions, "schema"):
        _validate_schema(errors, versions[0], "spec.validation")
    if _all_equal(versions, "subresources"):
        _validate_subresources(errors, versions[0], "spec.subresources")
    if _all_equal(versions, "additionalPrinterColumns"):
        _validate_columns(errors, versions[0], "spec.additionalPrinterColumns")


def validate_definition_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    names, former = spec.get("names") or {}, before.get("names") or {}
    for path, value, had in (
        ("scope", spec.get("scope"), before.get("scope")),
        ("names.kind", names.get("kind"), former.get("kind")),
        ("group", spec.get("group"), before.get("group")),
        ("names.plural", names.get("plural"), former.get("plural")),
    ):
        if value != had:
            errors.invalid(f"spec.{path}", value, "field is immutable")


def _validate_group(errors: Errors, group: str) -> None:
    complaints = formats.dns1123_subdomain(group)
    if not group:
        errors.required("spec.group")
    elif complaints:
        errors.invalid("spec.group", group, ",".join(complaints))
    elif "." not in group:
        errors.invalid("spec.group", group, "should be a domain with at least one dot")


def _all_equal(versions: list[JsonObject], field: str) -> bool:
    """Whether all versions have the same value. Its errors are reported for the whole definition then."""
    return bool(versions) and all(version.get(field) == versions[0].get(field) for version in versions)


def _validate_versions(errors: Errors, versions: list[JsonObject]) -> None:
    equal = [field for field in ("schema", "subresources", "additionalPrinterColumns") if _all_equal(versions, field)]
    for n, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            if "schema" not in equal or not (versions[0].get("schema") or {}).get("openAPIV3Schema"):
                errors.required(f"spec.versions[{n}].schema.openAPIV3Schema")
    for n, version in enumerate(versions):
        path, name = f"spec.versions[{n}]", version.get("name", "")
        complaints = formats.dns1035_label(name)
        if complaints:
            errors.invalid(f"{path}.name", name, ",".join(complaints))
        if "schema" not in equal:
            _validate_schema(errors, version, f"{path}.schema")
        if "subresources" not in equal:
            _validate_subresources(errors, version, f"{path}.subresources")
        if "additionalPrinterColumns" not in equal:
            _validate_columns(errors, version, f"{path}.additionalPrinterColumns")
    names = [version.get("name", "") for version in versions]
    shown = Raw(dumps_in_order([_internal(version, equal) for version in versions]))
    if len(set(names)) < len(names):
        errors.invalid("spec.versions", shown, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        errors.invalid("spec.versions", shown, "must have exactly one version marked as storage version")


def _internal(version: JsonObject, equal: list[str]) -> JsonObject:
    """A version with the fields of the internal type; what is equal in all versions is not in it."""
    own = {field: version.get(field) for field in ("schema", "subresources", "additionalPrinterColumns")
           if field not in equal}  # fmt: skip
    return {
        "Name": version.get("name", ""),
        "Served": bool(version.get("served")),
        "Storage": bool(version.get("storage")),
        "Deprecated": bool(version.get("deprecated")),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": own.get("schema"),
        "Subresources": own.get("subresources"),
        "AdditionalPrinterColumns": own.get("additionalPrinterColumns"),
        "SelectableFields": version.get("selectableFields"),
    }


def _validate_names(errors: Errors, names: JsonObject) -> None:
    for field in ("plural", "singular", "kind", "listKind"):
        name = names.get(field) or ""
        is_kind = field in ("kind", "listKind")
        complaints = formats.dns1035_label(name.lower() if is_kind else name) if name else ()
        if complaints:
            mixed = "may have mixed case, but should otherwise match: " if is_kind else ""
            errors.invalid(f"spec.names.{field}", name, mixed + ",".join(complaints))
    _validate_labels(errors, names, "shortNames")
    if names.get("kind") and names["kind"] == names.get("listKind"):
        errors.invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")
    _validate_labels(errors, names, "categories")


def _validate_labels(errors: Errors, names: JsonObject, field: str) -> None:
    for n, name in enumerate(names.get(field) or ()):
        complaints = formats.dns1035_label(name)
        if complaints:
            errors.invalid(f"spec.names.{field}[{n}]", name, ",".join(complaints))


def _validate_subresources(errors: Errors, version: JsonObject, path: str) -> None:
    scale: JsonObject | None = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return
    for field, root in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        text = scale.get(field) or ""
        if not text:
            errors.required(f"{path}.scale.{field}")
        elif not text.startswith(f"{root}."):
            errors.invalid(f"{path}.scale.{field}", text, f"should be a json path under {root}")


def _validate_columns(errors: Errors, version: JsonObject, path: str) -> None:
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    for n, column in enumerate(version.get("additionalPrinterColumns") or ()):
        kind = column.get("type") or ""
        if not column.get("name"):
            errors.required(f"{path}[{n}].name")
        if not kind:
            errors.required(f"{path}[{n}].type", types)
        elif kind not in _COLUMN_TYPES:
            errors.invalid(f"{path}[{n}].type", kind, types)
        if not column.get("jsonPath"):
            errors.required(f"{path}[{n}].JSONPath")


# -- schemas --------------------------------------------------------------------------------------------------------


def _validate_schema(errors: Errors, version: JsonObject, path: str) -> None:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is not None:
        where = f"{path}.openAPIV3Schema"
        found = Errors()
        _validate_structure(found, schema, where, "root")
        errors += sorted(found, key=str)
        _validate_contradictions(errors, schema, where)


def _validate_structure(errors: Errors, schema: JsonObject, path: str, level: str) -> None:
    kind, more = schema.get("type") or "", schema.get("additionalProperties")
    if kind == "array" and schema.get("items") is None:
        errors.required(f"{path}.items", "must be specified")
    for where, below, inner in _parts(schema, path):
        _validate_structure(errors, below, where, inner)
    if more is not None and level == "root":
        errors.forbidden(f"{path}.additionalProperties", "must not be used at the root")
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if schema.get("x-kubernetes-embedded-resource") and kind != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        if kind:
            errors.invalid(f"{path}.type", kind, detail)
        else:
            errors.required(f"{path}.type", detail)
    elif not kind and not free:
        errors.required(f"{path}.type", _NO_TYPE[level])
    if level == "root" and kind and kind != "object":
        errors.invalid(f"{path}.type", kind, "must be object at the root")
    for junctor in _JUNCTORS:
        if junctor != "anyOf" or schema.get("anyOf") != _INT_OR_STRING:
            for n, below in enumerate(schema.get(junctor) or ()):
                _validate_values(errors, below, f"{path}.{junctor}[{n}]")
    if schema.get("not") is not None:
        _validate_values(errors, schema["not"], f"{path}.not")


def _parts(schema: JsonObject, path: str) -> Iterator[tuple[str, JsonObject, str]]:
    """Path, schema and level of the parts of a value."""
    if isinstance(schema.get("items"), Mapping):
        yield f"{path}.items", schema["items"], "item"
    for name, below in (schema.get("properties") or {}).items():
        yield f"{path}.properties[{name}]", below or {}, "field"
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield f"{path}.additionalProperties", schema["additionalProperties"], "field"


def _validate_values(errors: Errors, schema: JsonObject, path: str) -> None:
    """A schema below `allOf` and the like restricts values and declares nothing."""
    for where, below, _ in _parts({**schema, "additionalProperties": None}, path):
        _validate_values(errors, below, where)
    for junctor in _JUNCTORS:
        if schema.get(junctor) != _INT_OR_STRING:
            for n, below in enumerate(schema.get(junctor) or ()):
                _validate_values(errors, below, f"{path}.{junctor}[{n}]")
    for field, detail in _NOT_BELOW_JUNCTORS.items():
        if schema.get(field) not in (None, "", False, [], {}):
            errors.forbidden(f"{path}.{field}", f"must be {detail} to be structural")
    if "metadata" in (schema.get("properties") or {}):
        errors.forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _validate_contradictions(errors: Errors, schema: JsonObject, path: str) -> None:
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.forbidden(f"{path}.uniqueItems", detail)
    more = schema.get("additionalProperties")
    if schema.get("properties") and (more is False or isinstance(more, Mapping)):
        errors.forbidden(f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive")
    for where, below, _ in _parts(schema, path):
        _validate_contradictions(errors, below, where)
