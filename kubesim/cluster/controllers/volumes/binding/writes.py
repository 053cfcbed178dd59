"""The new states of a claim and a volume that are bound or unbound.

Mirrors: component-helpers/storage/volume/pv_helpers.go GetBindVolumeToClaim; pkg/controller/volume/persistentvolume/
pv_controller.go bindClaimToVolume, updateClaimStatus, unbindVolume
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.quantity import quantity
from kubesim.cluster.controllers.volumes.storage_fields import (
    BETA_STORAGE_PROVISIONER,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    STORAGE_PROVISIONER,
    claim_key,
    is_bound_to,
    key_of,
    phase_of,
    reference_to,
    spec_of,
    status_of,
    with_annotations,
    with_field,
)

PRE_RESIZE_CAPACITY = "volume.alpha.kubernetes.io/pre-resize-capacity"


def bound_volume(volume: ApiObject, claim: ApiObject) -> ApiObject:
    """The volume with a claimRef. An annotation records that the controller set it, unless the user did."""
    by_controller = not is_bound_to(volume, claim)
    reference = spec_of(volume).get("claimRef")
    if reference is None or claim_key(reference) != key_of(claim) or reference.get("uid") != claim.metadata.uid:
        volume = with_field(volume, "spec", {"claimRef": reference_to(claim)})
    if by_controller and BOUND_BY_CONTROLLER not in volume.metadata.annotations:
        volume = with_annotations(volume, {BOUND_BY_CONTROLLER: "yes"})
    return volume


def bound_claim(claim: ApiObject, volume: ApiObject) -> ApiObject:
    annotations = {BIND_COMPLETED: claim.metadata.annotations.get(BIND_COMPLETED, "yes")}
    if spec_of(claim).get("volumeName") != volume.metadata.name:
        claim = with_field(claim, "spec", {"volumeName": volume.metadata.name})
        annotations[BOUND_BY_CONTROLLER] = claim.metadata.annotations.get(BOUND_BY_CONTROLLER, "yes")
    return with_annotations(claim, annotations)


def claim_in_phase(claim: ApiObject, phase: str, volume: ApiObject | None = None) -> ApiObject:
    """The claim's status with fields of its volume; the capacity is set only when the phase changes."""
    if volume is None:
        nothing = {"accessModes": None, "capacity": None, "currentVolumeAttributesClassName": None}
        return with_field(claim, "status", {"phase": phase, **nothing})
    spec, status, before = spec_of(volume), status_of(claim), phase_of(claim)
    changes = {"phase": phase, "accessModes": spec.get("accessModes")}
    if before != phase:
        size = volume.metadata.annotations.get(PRE_RESIZE_CAPACITY)
        has, gets = (status.get("capacity") or {}).get("storage"), (spec.get("capacity") or {}).get("storage")
        if size is not None:
            changes["capacity"] = {**(status.get("capacity") or {}), "storage": size}
        elif has is None or quantity(has) != quantity(gets or 0):
            changes["capacity"] = spec.get("capacity")
    if before == "Pending" and phase == "Bound":
        changes["currentVolumeAttributesClassName"] = spec.get("volumeAttributesClassName")
    return with_field(claim, "status", changes)


def unbound_volume(volume: ApiObject) -> ApiObject:
    """The volume without its binding; a claimRef from the user stays without uid."""
    if BOUND_BY_CONTROLLER in volume.metadata.annotations:
        return with_annotations(with_field(volume, "spec", {"claimRef": None}), {BOUND_BY_CONTROLLER: None})
    reference = {name: value for name, value in (spec_of(volume).get("claimRef") or {}).items() if name != "uid"}
    return with_field(volume, "spec", {"claimRef": reference})


def with_provisioner(claim: ApiObject, provisioner: str) -> ApiObject:
    """The claim with the annotation that starts the external provisioner."""
    if claim.metadata.annotations.get(STORAGE_PROVISIONER) == provisioner:
        return claim
    return with_annotations(claim, {BETA_STORAGE_PROVISIONER: provisioner, STORAGE_PROVISIONER: provisioner})
