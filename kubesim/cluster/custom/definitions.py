"""CustomResourceDefinitions: validation, defaults, status, and the resources that they declare.

CEL rules (`x-kubernetes-validations`) are stored and not evaluated. Conversion between versions only changes the
apiVersion.

Mirrors: apiextensions-apiserver pkg/apis/apiextensions/validation, v1/defaults.go; pkg/controller/establish, status;
pkg/registry/customresource/tableconvertor
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.timestamps import parse_time
from kubesim.cluster.kubectl.jsonpath import JsonPath, JsonPathError
from kubesim.cluster.store.api_groups import ApiResource, Subresource
from kubesim.cluster.store.kinds import DEFINITION, Resource
from kubesim.cluster.store.store import Store
from kubesim.cluster.tables.table import Cell, Column, TableContext, TableRules

JsonObject = dict[str, Any]


def default_definition(definition: JsonObject) -> None:
    """Apply defaults, in place."""
    spec = definition.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    if not names.get("singular") and kind:
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    spec.setdefault("conversion", {"strategy": "None"})


def prepare_definition(definition: JsonObject) -> None:
    """Reset the status of a new definition, in place."""
    versions = (definition.get("spec") or {}).get("versions") or ()
    stored = [version.get("name", "") for version in versions if version.get("storage")]
    definition["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": stored,
    }


def established(definition: JsonObject, now: str) -> JsonObject:
    """The status of a definition whose names are accepted."""
    spec = definition["spec"]

    def condition(type_: str, reason: str, message: str) -> JsonObject:
        head = {"type": type_, "status": "True", "lastTransitionTime": now}
        return head | {"reason": reason, "message": message, "observedGeneration": 1}

    conditions = [
        condition("NamesAccepted", "NoConflicts", "no conflicts found"),
        condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ]
    return {**definition["status"], "conditions": conditions, "acceptedNames": spec["names"]}


def has_cel_rules(schema: Any) -> bool:
    if isinstance(schema, Mapping):
        return "x-kubernetes-validations" in schema or any(has_cel_rules(item) for item in schema.values())
    return isinstance(schema, list) and any(has_cel_rules(item) for item in schema)


# -- the resources ----------------------------------------------------------------------------------------------------


def _definitions(store: Store) -> list[JsonObject]:
    return [obj.extra.get("spec") or {} for obj in store.list(DEFINITION) if _is_established(obj)]


def _is_established(obj: ApiObject) -> bool:
    conditions = (obj.extra.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions)


def _served(spec: JsonObject) -> list[JsonObject]:
    """The served versions, the preferred one first."""
    served = [version for version in spec.get("versions") or () if version.get("served")]
    return sorted(served, key=lambda version: _rank(version["name"]), reverse=True)


def _rank(version: str) -> tuple[int, ...]:
    """Sort key of versions: v2, v1, v1beta2, v1alpha1."""
    digits = version[1:]
    for level, stage in ((2, "beta"), (1, "alpha")):
        major, found, minor = digits.partition(stage)
        if found and major.isdigit() and minor.isdigit():
            return level, int(major), int(minor)
    return (3, int(digits), 0) if digits.isdigit() else (0, 0, 0)


def custom_groups(store: Store) -> dict[str, tuple[ApiResource, ...]]:
    """The API groups of the definitions in the store, for discovery."""
    found: dict[str, list[ApiResource]] = {}
    if not store.count(DEFINITION):
        return {}
    for spec in _definitions(store):
        names = spec["names"]
        for version in _served(spec):
            subresources = tuple(
                Subresource(name, names["kind"] if name == "status" else "autoscaling/v1/Scale")
                for name in sorted(version.get("subresources") or ())
            )
            found.setdefault(f"{spec['group']}/{version['name']}", []).append(
                ApiResource(
                    spec["group"],
                    version["name"],
                    names["plural"],
                    names["kind"],
                    spec.get("scope") == "Namespaced",
                    short_names=tuple(names.get("shortNames") or ()),
                    categories=tuple(names.get("categories") or ()),
                    subresources=subresources,
                    singular_name=names.get("singular", ""),
                )
            )
    return {name: tuple(resources) for name, resources in found.items()}


def custom_resource(store: Store, group: str, version: str, plural: str) -> Resource | None:
    """The resource declared by a definition in the store."""
    for spec in _definitions(store) if store.count(DEFINITION) else ():
        if spec.get("group") != group or spec["names"].get("plural") != plural:
            continue
        for found in _served(spec):
            if found["name"] == version:
                return _resource(spec, found)
    return None


def is_custom_group(store: Store, group: str) -> bool:
    return any(spec.get("group") == group for spec in (_definitions(store) if store.count(DEFINITION) else ()))


def _resource(spec: JsonObject, version: JsonObject) -> Resource:
    names = spec["names"]
    return Resource(
        f"{names['kind']}.{spec['group']}",
        names["plural"],
        spec["group"],
        spec.get("scope") == "Namespaced",
        tuple(name for name in ("status", "scale") if (version.get("subresources") or {}).get(name) is not None),
        tuple(names.get("shortNames") or ()),
        tuple(names.get("categories") or ()),
        version=version["name"],
        custom_kind=names["kind"],
        schema=(version.get("schema") or {}).get("openAPIV3Schema") or {},
        columns=_columns(version),
        scale=(version.get("subresources") or {}).get("scale"),
    )


_TYPES = {"integer": "integer", "number": "number", "boolean": "boolean"}


def _columns(version: JsonObject) -> TableRules:
    printed = version.get("additionalPrinterColumns") or []
    columns = [Column("Name")]
    for each in printed:
        kind = each.get("type", "string")
        columns.append(
            Column(each["name"], kind, each.get("priority", 0), each.get("description", ""), each.get("format", ""))
        )
    if not printed:
        columns.append(Column("Age", "date"))

    def cells(obj: JsonObject, context: TableContext) -> list[Cell]:
        name = str(obj["metadata"].get("name", ""))
        if not printed:
            return [name, context.age(obj)]
        return [name, *(_cell(each, obj, context) for each in printed)]

    return TableRules(tuple(columns), cells)


def _cell(column: JsonObject, obj: JsonObject, context: TableContext) -> Any:
    try:
        found = JsonPath(f"{{{column.get('jsonPath', '')}}}").results(obj)
    except (JsonPathError, ValueError):
        return None
    value = next((value for values in found for value in values), None)
    if value is None:
        return None
    if column.get("type") == "date":
        try:
            return context.ago(parse_time(value)) if value else "<unknown>"
        except (ValueError, TypeError):
            return "<invalid>"
    return value if column.get("type") in _TYPES else value if isinstance(value, str) else str(value)
