"""Resolves a pod's volume to the mountable volume: a claim resolves to its persistent volume.

Mirrors: pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go createVolumeSpec, getPVCExtractPV,
getPVSpec; component-helpers/storage/ephemeral
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.errors import ApiError
from kubesim.kubelet.volumes.spec import VolumeError, VolumeSpec

Read = Callable[[str, str, str], ApiObject]  # kind, namespace, name; asks the API server, raises ApiError

PVC_PROTECTION = "kubernetes.io/pvc-protection"


def create_volume_spec(
    volume: Mapping[str, Any], pod: Pod, mounts: Collection[str], devices: Collection[str], read: Read
) -> VolumeSpec:
    """The resolved volume. Raises VolumeError."""
    claim = volume.get("persistentVolumeClaim")
    name = volume.get("name", "")
    if claim is None and volume.get("ephemeral") is None:
        return VolumeSpec(name, volume)
    claim_name = f"{pod.metadata.name}-{name}" if claim is None else claim.get("claimName") or ""
    where = f"{pod.metadata.namespace}/{claim_name}"
    try:
        found = _bound_claim(pod.metadata.namespace, claim_name, read)
        if claim is None and not _is_controlled_by(found, pod):
            owner = f"{pod.metadata.namespace}/{pod.metadata.name}"
            raise VolumeError(f"PVC {where} was not created for pod {owner} (pod is not owner)")
        spec = _volume_of(found, bool((claim or {}).get("readOnly")), read)
    except ClaimError as error:
        raise VolumeError(f"error processing PVC {where}: {error}") from None
    mode = spec.source.get("volumeMode") or "Filesystem"
    if name in mounts and mode != "Filesystem":
        raise VolumeError(f"volume {name} has volumeMode {mode}, but is specified in volumeMounts")
    if name in devices and mode != "Block":
        raise VolumeError(f"volume {name} has volumeMode {mode}, but is specified in volumeDevices")
    return spec


class ClaimError(VolumeError):
    """A claim that is not usable yet."""


def _bound_claim(namespace: str, name: str, read: Read) -> ApiObject:
    try:
        claim = read("PersistentVolumeClaim", namespace, name)
    except ApiError as error:
        raise ClaimError(f"failed to fetch PVC from API server: {error}") from None
    metadata = claim.metadata
    if metadata.deletion_timestamp is not None and PVC_PROTECTION not in metadata.finalizers:
        raise ClaimError("PVC is being deleted")
    if _field(claim, "status").get("phase") != "Bound":
        raise ClaimError("PVC is not bound")
    if not _field(claim, "spec").get("volumeName"):
        raise ClaimError("PVC has empty pvc.Spec.VolumeName")
    return claim


def _volume_of(claim: ApiObject, read_only: bool, read: Read) -> VolumeSpec:
    name, uid = _field(claim, "spec")["volumeName"], claim.metadata.uid
    try:
        volume = read("PersistentVolume", "", name)
    except ApiError as error:
        raise ClaimError(f"failed to fetch PV {name} from API server: {error}") from None
    spec = _field(volume, "spec")
    reference = spec.get("claimRef")
    if reference is None:
        raise ClaimError(
            f"found PV object {name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"
        )
    if reference.get("uid", "") != uid:
        raise ClaimError(
            f"found PV object {name} but its pv.Spec.ClaimRef.UID {reference.get('uid', '')} does not point to "
            f"claim.UID {uid}"
        )
    return VolumeSpec(name, spec, volume, read_only)


def _field(found: ApiObject, name: str) -> Mapping[str, Any]:
    return found.extra.get(name) or {}


def _is_controlled_by(claim: ApiObject, pod: Pod) -> bool:
    return any(owner.controller and owner.uid == pod.metadata.uid for owner in claim.metadata.owner_references)
