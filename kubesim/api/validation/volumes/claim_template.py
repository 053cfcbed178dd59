"""The claim template of an ephemeral volume.

Mirrors: pkg/apis/core/validation ValidatePersistentVolumeClaimTemplate, ValidatePersistentVolumeClaimSpec
"""

from __future__ import annotations

from kubesim.api.quantity import quantity
from kubesim.api.schema.types import struct_fields
from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject, Raw
from kubesim.api.validation.metadata import validate_annotations, validate_label_selector, validate_labels

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_UID_FIELDS = {"uid": "uID"}


def validate_claim_template(errors: Errors, template: JsonObject, path: str) -> None:
    validate_template_metadata(errors, template.get("metadata") or {}, f"{path}.metadata")
    validate_claim_spec(errors, template.get("spec") or {}, f"{path}.spec")


def validate_template_metadata(errors: Errors, meta: JsonObject, path: str) -> None:
    """Check that only labels and annotations are set."""
    validate_annotations(errors, meta.get("annotations") or {}, f"{path}.annotations")
    validate_labels(errors, meta.get("labels") or {}, f"{path}.labels")
    for name, field in struct_fields("ObjectMeta").items():
        value = meta.get(name)
        if name in ("annotations", "labels") or value is None:
            continue
        if value in ("", 0) and not field.type.pointer:
            continue
        # The message has Go's field name with a lower-case initial.
        errors.forbidden(f"{path}.{_UID_FIELDS.get(name, name)}", "cannot be set")


def validate_claim_spec(errors: Errors, spec: JsonObject, path: str) -> None:
    modes = spec.get("accessModes") or []
    if not modes:
        errors.required(f"{path}.accessModes", "at least 1 access mode is required")
    validate_label_selector(errors, spec.get("selector"), f"{path}.selector")
    for mode in modes:
        errors.unless_one_of(f"{path}.accessModes", mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and any(mode in _ACCESS_MODES[:3] for mode in modes):
        errors.forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes")
    _validate_storage(errors, spec.get("resources") or {}, f"{path}.resources[storage]")
    _validate_class_name(errors, spec, "storageClassName", path)
    errors.unless_one_of(f"{path}.volumeMode", spec.get("volumeMode", ""), ("Block", "Filesystem"))
    _validate_data_sources(errors, spec, path)
    _validate_class_name(errors, spec, "volumeAttributesClassName", path)


def _validate_storage(errors: Errors, resources: JsonObject, path: str) -> None:
    storage = (resources.get("requests") or {}).get("storage")
    if storage is None:
        errors.required(path)
    elif quantity(storage).sign <= 0:
        errors.invalid(path, str(quantity(storage)), "must be greater than zero")


def _validate_class_name(errors: Errors, spec: JsonObject, name: str, path: str) -> None:
    if spec.get(name):
        errors.all_invalid(f"{path}.{name}", spec[name], formats.dns1123_subdomain(spec[name]))


def _validate_data_sources(errors: Errors, spec: JsonObject, path: str) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    namespace = (reference or {}).get("namespace") or ""
    if source is not None:
        _validate_data_source(errors, source, f"{path}.dataSource")
    if reference is not None:
        _validate_data_source(errors, reference, f"{path}.dataSourceRef")
        if namespace:
            errors.all_invalid(f"{path}.dataSourceRef.namespace", namespace, formats.dns1123_label(namespace))
    if source is None or reference is None:
        return
    # Upstream's bad value is a path object, whose content is not printed.
    if namespace:
        errors.invalid(path, Raw("{}"), "may not be specified when dataSourceRef.namespace is specified")
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        errors.invalid(path, Raw("{}"), "must match dataSourceRef")


def _validate_data_source(errors: Errors, source: JsonObject, path: str) -> None:
    kind, group = source.get("kind", ""), source.get("apiGroup") or ""
    if not source.get("name"):
        errors.required(f"{path}.name")
    if not kind:
        errors.required(f"{path}.kind")
    if not group and kind != "PersistentVolumeClaim":
        errors.invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
    if group:
        errors.all_invalid(f"{path}.apiGroup", group, formats.dns1123_subdomain(group))
