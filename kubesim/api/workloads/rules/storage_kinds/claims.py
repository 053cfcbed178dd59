"""PersistentVolumeClaims: defaults, validation and immutable fields.

Mirrors: pkg/apis/core/v1/defaults.go SetDefaults_PersistentVolumeClaim; pkg/apis/core/validation
ValidatePersistentVolumeClaim, ValidatePersistentVolumeClaimUpdate; pkg/registry/core/persistentvolumeclaim
"""

from __future__ import annotations

import difflib
import json
from typing import Any

from kubesim.api.quantity import quantity
from kubesim.api.validation.field import Errors, JsonObject
from kubesim.api.validation.volumes.claim_template import validate_claim_spec

IMMUTABLE = "field is immutable"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_SPEC_IS_IMMUTABLE = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"
)


def default_claim(claim: JsonObject) -> None:
    claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def prepare_claim(claim: JsonObject) -> None:
    claim["status"] = {"phase": "Pending"}


def validate_claim(errors: Errors, claim: JsonObject) -> None:
    validate_claim_spec(errors, claim.get("spec") or {}, "spec")


def validate_claim_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    spec, before = dict(new.get("spec") or {}), dict(old.get("spec") or {})
    status, had = new.get("status") or {}, old.get("status") or {}
    if not before.get("volumeName"):
        _take(before, spec, "volumeName")
    _check_class(errors, new, old, spec, before)
    size, old_size = _storage(new.get("spec")), _storage(old.get("spec"))
    if status.get("phase") == "Bound":
        if (spec.get("resources") or {}).get("requests") is not None:
            requests = dict(spec["resources"]["requests"])
            _take(requests, (before.get("resources") or {}).get("requests") or {}, "storage")
            spec["resources"] = {**spec["resources"], "requests": requests}
        _take(spec, before, "volumeAttributesClassName")
    if _canonical(spec) != _canonical(before):
        errors.forbidden("spec", _SPEC_IS_IMMUTABLE + difference(before, spec))
    has = (had.get("capacity") or {}).get("storage")
    if quantity(size) < quantity(old_size) and quantity(size) <= quantity(has or 0):
        errors.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    if (new.get("spec") or {}).get("volumeMode") != (old.get("spec") or {}).get("volumeMode"):
        errors.invalid("volumeMode", (new.get("spec") or {}).get("volumeMode"), IMMUTABLE)
    _check_attributes_class(errors, new.get("spec") or {}, old.get("spec") or {}, had)


def _check_class(errors: Errors, new: JsonObject, old: JsonObject, spec: JsonObject, before: JsonObject) -> None:
    """Check changes of the storage class: a claim without a class can get one once, and a class can move from the
    annotation to the spec.
    """
    annotation = (new["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    had = (old["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    name, old_name = spec.get("storageClassName"), before.get("storageClassName")
    if had is not None and old_name is None and name is not None and annotation in (None, had) and name == had:
        spec.pop("storageClassName")
        return
    if (annotation or "") != (had or ""):
        errors.invalid(f"metadata.annotations.{CLASS_ANNOTATION}", annotation or "", IMMUTABLE)
    if had is None and old_name is None and name is not None:
        spec.pop("storageClassName")


def _check_attributes_class(errors: Errors, spec: JsonObject, before: JsonObject, status: JsonObject) -> None:
    name = spec.get("volumeAttributesClassName")
    if name == before.get("volumeAttributesClassName") or status.get("currentVolumeAttributesClassName") is None:
        return
    detail = "is forbidden when status.currentVolumeAttributesClassName is not nil"
    if name is None:
        errors.forbidden("spec.volumeAttributesClassName", f"update to nil {detail}")
    elif not name:
        errors.forbidden("spec.volumeAttributesClassName", f"update to empty string {detail}")


def _take(into: JsonObject, source: JsonObject, name: str) -> None:
    if name in source:
        into[name] = source[name]
    else:
        into.pop(name, None)


def _storage(spec: JsonObject | None) -> Any:
    return (((spec or {}).get("resources") or {}).get("requests") or {}).get("storage") or 0


def _canonical(value: Any) -> Any:
    """A value without empty parts, and with canonical quantities, for comparison."""
    if isinstance(value, dict):
        items = ((name, _canonical(item)) for name, item in value.items())
        found = {name: item for name, item in items if item not in (None, {}, [], "")}
        if "storage" in found:
            found["storage"] = str(quantity(found["storage"]))
        return found
    return [_canonical(item) for item in value] if isinstance(value, list) else value


def difference(old: JsonObject, new: JsonObject) -> str:
    """The lines that differ. (Upstream compares its internal structs, whose fields have other names.)"""
    before, after = (json.dumps(value, indent=1, sort_keys=True).splitlines() for value in (old, new))
    return "".join(f"{line.rstrip()}\n" for line in difflib.unified_diff(before, after, n=3, lineterm=""))
