"""Decides the next step of a volume: available, bound, released, unbound, or reclaimed.

Mirrors: pkg/controller/volume/persistentvolume/pv_controller.go syncVolume, reclaimVolume, deleteVolumeOperation,
findDeletablePlugin, doDeleteVolume; pkg/volume/hostpath/host_path.go Delete
"""

from __future__ import annotations

import re
from typing import Literal

from kubesim.api.meta import ApiObject
from kubesim.cluster.controllers.volumes.storage_fields import (
    MIGRATED_TO,
    PROVISIONED_BY,
    mode_of,
    phase_of,
    spec_of,
)
from kubesim.values import value_object

Reclaim = Literal["retain", "external", "delete", "recycle", "fail"]
# In-tree plugins of the controller; all others are unknown to it.
_PLUGINS = ("hostPath", "nfs", "local")
_RECYCLABLE = ("hostPath", "nfs")


@value_object
class EnterPhase:
    phase: str


@value_object
class SyncClaimSoon:
    """The volume is bound but its claim is not: sync the claim to finish the binding."""


@value_object
class ModesDiffer:
    """The volume names a claim of another volume mode: emit an Event for both."""

    of_volume: str
    of_claim: str


@value_object
class Unbind:
    """Unbind: the claim is bound to another volume."""


@value_object
class ReleaseAndReclaim:
    """The claim is gone: release and reclaim. A failed volume keeps its phase."""

    release: bool


VolumeDecision = EnterPhase | SyncClaimSoon | ModesDiffer | Unbind | ReleaseAndReclaim


def decide_volume(volume: ApiObject, claim: ApiObject | None) -> VolumeDecision:
    """Decide the step of a volume. `claim` is the existing claim of the name in its claimRef."""
    reference = spec_of(volume).get("claimRef")
    if reference is None or not reference.get("uid"):
        return EnterPhase("Available")
    release = phase_of(volume) not in ("Released", "Failed")
    if claim is None or claim.metadata.uid != reference["uid"]:
        return ReleaseAndReclaim(release)
    bound_to = spec_of(claim).get("volumeName")
    if not bound_to:
        if mode_of(claim) == mode_of(volume):
            return SyncClaimSoon()
        start, end = "Cannot bind PersistentVolume", "due to incompatible volumeMode."
        return ModesDiffer(
            f'{start} to requested PersistentVolumeClaim "{claim.metadata.name}" {end}',
            f'{start} "{volume.metadata.name}" to requested PersistentVolumeClaim {end}',
        )
    if bound_to == volume.metadata.name:
        return EnterPhase("Bound")
    if PROVISIONED_BY in volume.metadata.annotations and _policy(volume) == "Delete":
        return ReleaseAndReclaim(release)
    return Unbind()


def _policy(volume: ApiObject) -> str:
    return str(spec_of(volume).get("persistentVolumeReclaimPolicy") or "")


@value_object
class Reclaiming:
    """The reclaim step. `reason` and `message` are for the Event of a volume that fails."""

    how: Reclaim
    reason: str = ""
    message: str = ""


def decide_reclaim(volume: ApiObject) -> Reclaiming:
    """Apply the reclaim policy to a released volume."""
    if volume.metadata.annotations.get(MIGRATED_TO):
        return Reclaiming("external")
    match _policy(volume):
        case "Retain":
            return Reclaiming("retain")
        case "Recycle":
            if any(spec_of(volume).get(plugin) is not None for plugin in _RECYCLABLE):
                return Reclaiming("recycle")
            return Reclaiming("fail", "VolumeFailedRecycle", "No recycler plugin found for the volume!")
        case "Delete":
            return _decide_deletion(volume)
        case _:
            problem = "Volume has unrecognized PersistentVolumeReclaimPolicy"
            return Reclaiming("fail", "VolumeUnknownReclaimPolicy", problem)


def _decide_deletion(volume: ApiObject) -> Reclaiming:
    spec, name = spec_of(volume), volume.metadata.name
    provisioner = volume.metadata.annotations.get(PROVISIONED_BY, "")
    if provisioner and provisioner != "kubernetes.io/host-path":
        if not provisioner.startswith("kubernetes.io/"):
            return Reclaiming("external")
        return Reclaiming("fail", "VolumeFailedDelete", f"no volume plugin matched name: {provisioner}")
    if not provisioner:
        if spec.get("csi") is not None:
            return Reclaiming("external")
        if spec.get("hostPath") is None:
            known = any(spec.get(plugin) is not None for plugin in _PLUGINS)
            problem = "no deletable volume plugin matched" if known else "no volume plugin matched"
            message = f'error getting deleter volume plugin for volume "{name}": {problem}'
            return Reclaiming("fail", "VolumeFailedDelete", message)
    path = (spec.get("hostPath") or {}).get("path") or ""
    if re.search("/tmp/.+", path) is None:
        message = f"host_path deleter only supports /tmp/.+ but received provided {path}"
        return Reclaiming("fail", "VolumeFailedDelete", message)
    return Reclaiming("delete")
