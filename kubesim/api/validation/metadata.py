"""Validation of metadata, labels, annotations and label selectors, common to all objects.

Mirrors: apimachinery/pkg/api/validation/objectmeta.go; apis/meta/v1/validation/validation.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject, Named, Raw
from kubesim.golang.json import dumps

ANNOTATIONS_SIZE_MAX = 256 * 1024
_STANDARD_FINALIZERS = {"kubernetes", "orphan", "foregroundDeletion"}
_FIELD_MANAGER_MAX = 128
_SUBRESOURCE_MAX = 256


def validate_object_meta(errors: Errors, meta: JsonObject, path: str) -> None:
    """Validate the metadata of a new namespaced object whose name is a DNS subdomain."""
    generate_name, name = meta.get("generateName", ""), meta.get("name", "")
    if generate_name:
        complaints = formats.dns1123_subdomain(formats.name_prefix(generate_name))
        errors.all_invalid(f"{path}.generateName", generate_name, complaints)
    if not name:
        errors.required(f"{path}.name", "name or generateName is required")
    else:
        errors.all_invalid(f"{path}.name", name, formats.dns1123_subdomain(name))
    namespace = meta.get("namespace", "")
    if not namespace:
        errors.required(f"{path}.namespace")
    else:
        errors.all_invalid(f"{path}.namespace", namespace, formats.dns1123_label(namespace))
    errors.nonnegative(f"{path}.generation", meta.get("generation", 0))
    if meta.get("labels"):
        validate_labels(errors, meta["labels"], f"{path}.labels")
    if meta.get("annotations"):
        validate_annotations(errors, meta["annotations"], f"{path}.annotations")
    if meta.get("ownerReferences"):
        validate_owner_references(errors, meta["ownerReferences"], f"{path}.ownerReferences")
    finalizers = meta.get("finalizers") or ()
    if finalizers:
        _validate_finalizers(errors, finalizers, f"{path}.finalizers")
    if meta.get("managedFields"):
        _validate_managed_fields(errors, meta["managedFields"], f"{path}.managedFields")
    validate_finalizer_names(errors, finalizers, f"{path}.finalizers")


def validate_finalizer_names(errors: Errors, finalizers: Sequence[str], path: str) -> None:
    """Check that finalizers without a domain are Kubernetes' own."""
    for n, finalizer in enumerate(finalizers):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            errors.invalid(f"{path}[{n}]", finalizer, detail)


def validate_label_name(errors: Errors, name: str, path: str) -> None:
    errors.all_invalid(path, name, formats.label_key(name))


def validate_labels(errors: Errors, labels: Mapping[str, str], path: str) -> None:
    for key, value in labels.items():
        validate_label_name(errors, key, path)
        errors.all_invalid(path, value, formats.label_value(value))


def validate_annotations(errors: Errors, annotations: Mapping[str, str], path: str) -> None:
    for key in annotations:
        errors.all_invalid(path, key, formats.label_key(key.lower()))
    validate_annotations_size(errors, annotations, path)


def validate_annotations_size(errors: Errors, annotations: Mapping[str, str], path: str) -> None:
    if sum(formats.size(key) + formats.size(value) for key, value in annotations.items()) > ANNOTATIONS_SIZE_MAX:
        errors.too_long(path, ANNOTATIONS_SIZE_MAX)


def validate_label_selector(errors: Errors, selector: JsonObject | None, path: str) -> None:
    if selector is None:
        return
    validate_labels(errors, selector.get("matchLabels") or {}, f"{path}.matchLabels")
    for n, requirement in enumerate(selector.get("matchExpressions") or ()):
        _validate_selector_requirement(errors, requirement, f"{path}.matchExpressions[{n}]")


def _validate_selector_requirement(errors: Errors, requirement: JsonObject, path: str) -> None:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    if operator in ("In", "NotIn"):
        if not values:
            errors.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            errors.forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    else:
        errors.invalid(f"{path}.operator", Named(operator), "not a valid selector operator")
    validate_label_name(errors, requirement.get("key", ""), f"{path}.key")
    for n, value in enumerate(values):
        errors.all_invalid(f"{path}.values[{n}]", value, formats.label_value(value))


def validate_owner_references(errors: Errors, references: list[JsonObject], path: str) -> None:
    controller = ""
    for reference in references:
        _validate_owner_reference(errors, reference, path)
        if reference.get("controller"):
            current = f"{reference.get('kind', '')}/{reference.get('name', '')}"
            if controller:
                detail = (
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{controller} and {current}"
                )
                errors.invalid(path, Raw(_owner_references_json(references)), detail)
            else:
                controller = current


def _validate_owner_reference(errors: Errors, reference: JsonObject, path: str) -> None:
    api_version, kind = reference.get("apiVersion", ""), reference.get("kind", "")
    group, _, version = api_version.rpartition("/")
    if "/" in group:
        version = ""  # it is not a group and version, so it counts as empty
    if not version:
        errors.invalid(f"{path}.apiVersion", api_version, "version must not be empty")
    if not kind:
        errors.invalid(f"{path}.kind", kind, "must not be empty")
    if not reference.get("name"):
        errors.invalid(f"{path}.name", "", "must not be empty")
    if not reference.get("uid"):
        errors.invalid(f"{path}.uid", Named(""), "must not be empty")
    if (group, version, kind) == ("", "v1", "Event"):
        errors.invalid(path, Raw(_owner_reference_json(reference)), "/v1, Kind=Event is disallowed from being an owner")


def _owner_references_json(references: list[JsonObject]) -> str:
    return "[" + ",".join(_owner_reference_json(reference) for reference in references) + "]"


def _owner_reference_json(reference: JsonObject) -> str:
    """An owner reference as JSON, in the order of the declaration and in Go's format for structs."""
    always = [(name, reference.get(name, "")) for name in ("apiVersion", "kind", "name", "uid")]
    pointers = [(name, reference[name]) for name in ("controller", "blockOwnerDeletion") if name in reference]
    return "{" + ",".join(f'"{name}":{dumps(value)}' for name, value in always + pointers) + "}"


def _validate_finalizers(errors: Errors, finalizers: list[str], path: str) -> None:
    for finalizer in finalizers:
        errors.all_invalid(path, finalizer, formats.label_key(finalizer))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        errors.invalid(path, finalizers, "finalizer orphan and foregroundDeletion cannot be both set")


def _validate_managed_fields(errors: Errors, entries: list[JsonObject], path: str) -> None:
    for n, entry in enumerate(entries):
        where = f"{path}[{n}]"
        operation = entry.get("operation", "")
        if operation not in ("Apply", "Update"):
            errors.invalid(f"{where}.operation", Named(operation), "must be `Apply` or `Update`")
        fields_type = entry.get("fieldsType", "")
        if fields_type and fields_type != "FieldsV1":
            errors.invalid(f"{where}.fieldsType", fields_type, "must be `FieldsV1`")
        manager = entry.get("manager", "")
        if formats.size(manager) > _FIELD_MANAGER_MAX:
            errors.too_long(f"{where}.manager", _FIELD_MANAGER_MAX)
        for at, char in enumerate(manager):
            if not char.isprintable():
                detail = f"invalid character U+{ord(char):04X} (at position {formats.size(manager[:at])})"
                errors.invalid(f"{where}.manager", manager, detail)
        if formats.size(entry.get("subresource", "")) > _SUBRESOURCE_MAX:
            errors.too_long(f"{where}.subresource", _SUBRESOURCE_MAX)
