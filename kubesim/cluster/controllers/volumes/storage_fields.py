"""Accessors for fields of claims, volumes and storage classes; changes return a copy.

These objects have no classes of their own: their fields are in `extra`, as JSON.

Mirrors: component-helpers/storage/volume/helpers.go, pv_helpers.go; pkg/volume/util/util.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.quantity import Quantity, quantity
from kubesim.api.timestamps import format_time
from kubesim.cluster.store.store import Key

CLAIM, VOLUME, CLASS = "PersistentVolumeClaim", "PersistentVolume", "StorageClass"
DRIVER, ATTACHMENT, CSI_NODE = "CSIDriver", "VolumeAttachment", "CSINode"

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
MIGRATED_TO = "pv.kubernetes.io/migrated-to"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BETA_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
BETA_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
BETA_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION = "kubernetes.io/pv-protection"
DELETION_PROTECTION = "external-provisioner.volume.kubernetes.io/finalizer"

Json = Mapping[str, Any]

# In-tree provisioners replaced by CSI drivers.
MIGRATED: Mapping[str, str] = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}


# -- reading --------------------------------------------------------------------------------------------------------


def spec_of(found: ApiObject) -> Json:
    return found.extra.get("spec") or {}


def status_of(found: ApiObject) -> Json:
    return found.extra.get("status") or {}


def phase_of(found: ApiObject) -> str:
    return str(status_of(found).get("phase") or "")


def key_of(found: ApiObject) -> Key:
    return found.metadata.namespace, found.metadata.name


def claim_key(reference: Json) -> Key:
    """The claim in a volume's claimRef."""
    return reference.get("namespace") or "", reference.get("name") or ""


def capacity_of(volume: ApiObject) -> Quantity:
    return quantity((spec_of(volume).get("capacity") or {}).get("storage") or 0)


def request_of(claim: ApiObject) -> Quantity:
    return quantity(((spec_of(claim).get("resources") or {}).get("requests") or {}).get("storage") or 0)


def class_of(found: ApiObject) -> str:
    """The storage class of a claim or a volume; the old annotation takes precedence."""
    annotated = found.metadata.annotations.get(BETA_STORAGE_CLASS)
    return str(spec_of(found).get("storageClassName") or "") if annotated is None else annotated


def has_class(claim: ApiObject) -> bool:
    """Whether a class is set; the empty class counts."""
    annotated = BETA_STORAGE_CLASS in claim.metadata.annotations
    return annotated or spec_of(claim).get("storageClassName") is not None


def mode_of(found: ApiObject) -> str:
    return str(spec_of(found).get("volumeMode") or "Filesystem")


def is_default_class(storage_class: ApiObject) -> bool:
    annotations = storage_class.metadata.annotations
    return "true" in (annotations.get(DEFAULT_CLASS), annotations.get(BETA_DEFAULT_CLASS))


def default_class(classes: Iterable[ApiObject]) -> ApiObject | None:
    """The newest default class; of several from the same second, the first by name."""
    found = sorted((one for one in classes if is_default_class(one)), key=lambda one: one.metadata.name)
    return max(found, key=lambda one: one.metadata.creation_timestamp or "", default=None)


def is_bound_to(volume: ApiObject, claim: ApiObject) -> bool:
    """Whether the volume's claimRef names this claim. Without a uid, the name is enough."""
    reference = spec_of(volume).get("claimRef")
    if reference is None or claim_key(reference) != key_of(claim):
        return False
    return (reference.get("uid") or "") in ("", claim.metadata.uid)


def is_terminated(pod: Pod) -> bool:
    """Whether nothing of the pod runs any more."""
    if pod.status.phase in ("Failed", "Succeeded"):
        return True
    if pod.metadata.deletion_timestamp is None:
        return False
    of = pod.status
    statuses = (*of.init_container_statuses, *of.container_statuses, *of.ephemeral_container_statuses)
    return all(status.state.terminated is not None or status.state.waiting is not None for status in statuses)


def claims_of(pod: Pod) -> list[str]:
    """The names of the claims of the pod's volumes."""
    names = []
    for volume in pod.spec.volumes:
        claim = volume.get("persistentVolumeClaim")
        if claim is not None:
            names.append(claim.get("claimName") or "")
        elif volume.get("ephemeral") is not None:
            names.append(f"{pod.metadata.name}-{volume.get('name', '')}")
    return names


# -- changing -------------------------------------------------------------------------------------------------------


def with_field(found: ApiObject, field: str, changes: Json) -> ApiObject:
    """The object with these changes in its spec or status; None removes a field."""
    new = {**(found.extra.get(field) or {}), **changes}
    kept = {name: value for name, value in new.items() if value is not None}
    return found.with_extra({**found.extra, field: kept})


def with_annotations(found: ApiObject, changes: Mapping[str, str | None]) -> ApiObject:
    new = {**found.metadata.annotations, **changes}
    kept = {name: value for name, value in new.items() if value is not None}
    return found.changed(metadata=found.metadata.changed(annotations=kept))


def with_finalizers(found: ApiObject, finalizers: Iterable[str]) -> ApiObject:
    return found.changed(metadata=found.metadata.changed(finalizers=tuple(finalizers)))


def without_finalizer(found: ApiObject, finalizer: str) -> ApiObject:
    return with_finalizers(found, (name for name in found.metadata.finalizers if name != finalizer))


def with_phase(volume: ApiObject, phase: str, now: int, message: str = "") -> ApiObject:
    """The volume in a new phase; the API server adds the time."""
    if phase_of(volume) == phase:
        return volume
    changes = {"phase": phase, "message": message or None, "lastPhaseTransitionTime": format_time(now)}
    return with_field(volume, "status", changes)


def reference_to(claim: ApiObject) -> dict[str, str]:
    metadata = claim.metadata
    return {
        "kind": CLAIM,
        "namespace": metadata.namespace,
        "name": metadata.name,
        "uid": metadata.uid,
        "apiVersion": "v1",
        "resourceVersion": metadata.resource_version,
    }
