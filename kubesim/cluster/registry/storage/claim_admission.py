"""The default admission plugins for claims and volumes, including which claims may be resized.

They change JSON objects (with defaults) in place. They read other objects of the store and write none.

Mirrors: plugin/pkg/admission/storage storageclass/setdefault, storageobjectinuseprotection, persistentvolume/resize
"""

from __future__ import annotations

from typing import Any

from kubesim.api.quantity import quantity
from kubesim.api.validation.field import JsonObject
from kubesim.cluster.controllers.volumes.storage_fields import (
    BETA_STORAGE_CLASS,
    CLAIM_PROTECTION,
    CLASS,
    VOLUME_PROTECTION,
    default_class,
)
from kubesim.cluster.problems import forbidden
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store

_PROTECTION = {"PersistentVolumeClaim": CLAIM_PROTECTION, "PersistentVolume": VOLUME_PROTECTION}


def admit_new_storage(store: Store, obj: JsonObject) -> None:
    """A claim without a class gets the default one. Claims and volumes get the finalizer that protects them while in
    use.
    """
    kind, metadata = obj["kind"], obj["metadata"]
    protection = _PROTECTION.get(kind)
    if protection is None:
        return
    finalizers = metadata.get("finalizers") or []
    if protection not in finalizers:
        metadata["finalizers"] = [*finalizers, protection]
    if kind != "PersistentVolumeClaim" or BETA_STORAGE_CLASS in (metadata.get("annotations") or {}):
        return
    spec = obj.setdefault("spec", {})
    if spec.get("storageClassName") is None:
        default = default_class(store.list(CLASS))
        if default is not None:
            spec["storageClassName"] = default.metadata.name


def admit_claim_update(store: Store, new: JsonObject, old: JsonObject) -> None:
    """Allow a larger size only for a bound claim whose class allows expansion."""
    if quantity(_size(new)) <= quantity(_size(old)):
        return
    name = new["metadata"].get("name", "")
    resource = RESOURCES["PersistentVolumeClaim"]
    if (old.get("status") or {}).get("phase") != "Bound":
        raise forbidden(resource, name, "Only bound persistent volume claims can be expanded")
    wanted, had = _class(new), _class(old)
    storage_class = store.find(CLASS, "", wanted) if wanted and wanted == had else None
    if storage_class is None or not storage_class.extra.get("allowVolumeExpansion"):
        problem = (
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support "
            "resize"
        )
        raise forbidden(resource, name, problem)


def _size(claim: JsonObject) -> Any:
    return (((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}).get("storage") or 0


def _class(claim: JsonObject) -> str:
    annotated = (claim["metadata"].get("annotations") or {}).get(BETA_STORAGE_CLASS)
    return str((claim.get("spec") or {}).get("storageClassName") or "") if annotated is None else str(annotated)
