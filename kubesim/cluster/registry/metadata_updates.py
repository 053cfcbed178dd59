"""Metadata in an update: fill in fields that the client left out, and reject forbidden changes.

Mirrors: apiserver/pkg/registry/rest update.go BeforeUpdate; apimachinery/pkg/api/validation objectmeta.go
ValidateObjectMetaAccessorUpdate
"""

from __future__ import annotations

from typing import Any

from kubesim.api.validation.field import Errors, JsonObject
from kubesim.api.validation.metadata import (
    validate_annotations,
    validate_finalizer_names,
    validate_labels,
    validate_owner_references,
)
from kubesim.golang.text import quoted

FIELD_IS_IMMUTABLE = "field is immutable"
_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def keep_system_fields(new: JsonObject, old: JsonObject) -> None:
    """Copy the fields that only the server sets from the old object, in place."""
    new.pop("managedFields", None)
    new.pop("selfLink", None)
    _set(new, "generation", old.get("generation"))
    _set(new, "creationTimestamp", old.get("creationTimestamp"))
    if not new.get("uid"):
        _set(new, "uid", old.get("uid"))
    if old.get("deletionTimestamp") is not None:
        new["deletionTimestamp"] = old["deletionTimestamp"]
    if new.get("deletionGracePeriodSeconds") is None:
        _set(new, "deletionGracePeriodSeconds", old.get("deletionGracePeriodSeconds"))


def _set(metadata: JsonObject, name: str, value: Any) -> None:
    if value is None:
        metadata.pop(name, None)
    else:
        metadata[name] = value


def validate_object_meta_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    if old.get("deletionTimestamp") is not None:
        added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if added:
            detail = "no new finalizers can be added if the object is being deleted, found new finalizers "
            errors.forbidden("metadata.finalizers", f"{detail}[]string{{{', '.join(map(quoted, added))}}}")
    if not new.get("resourceVersion"):
        errors.invalid("metadata.resourceVersion", "", "must be specified for an update")
    if new.get("generation", 0) < old.get("generation", 0):
        errors.invalid("metadata.generation", new.get("generation", 0), "must not be decremented")
    for name in _IMMUTABLE:
        if new.get(name) != old.get(name):
            errors.invalid(f"metadata.{name}", new.get(name), FIELD_IS_IMMUTABLE)
    validate_labels(errors, new.get("labels") or {}, "metadata.labels")
    validate_annotations(errors, new.get("annotations") or {}, "metadata.annotations")
    validate_owner_references(errors, new.get("ownerReferences") or [], "metadata.ownerReferences")


def validate_kubernetes_meta_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    """The same once more, with the rules of Kubernetes' own kinds."""
    validate_object_meta_update(errors, new, old)
    validate_finalizer_names(errors, new.get("finalizers") or (), "metadata.finalizers")
