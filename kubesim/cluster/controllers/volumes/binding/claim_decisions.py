"""Decides the next step of a claim: bind, wait, assign a class, provision, or mark it lost.

Mirrors: pkg/controller/volume/persistentvolume/pv_controller.go syncClaim, syncUnboundClaim, syncBoundClaim,
findProvisionablePlugin, emitEventForUnboundDelayBindingClaim
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubesim.api.meta import ApiObject
from kubesim.cluster.controllers.volumes.binding.matching import find_best_match, why_unsatisfied
from kubesim.cluster.controllers.volumes.storage_fields import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    MIGRATED,
    SELECTED_NODE,
    class_of,
    default_class,
    has_class,
    is_bound_to,
    spec_of,
)
from kubesim.values import value_object

NORMAL, WARNING = "Normal", "Warning"
NO_VOLUME = "no persistent volumes available for this claim and no storage class is set"
NO_CONSUMER = "waiting for first consumer to be created before binding"
LOST_REFERENCE = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
LOST_VOLUME = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
MISBOUND = "Two claims are bound to the same volume, this one is bound incorrectly"


@value_object
class VolumeEvent:
    """An Event about a claim or a volume."""

    type: str
    reason: str
    message: str


@value_object
class BindTo:
    """Bind claim and volume: write the volume first."""

    volume: ApiObject


@value_object
class KeepPending:
    """The claim cannot be bound now. With `fail` the sync is retried soon."""

    event: VolumeEvent | None = None
    fail: bool = False


@value_object
class AssignClass:
    """Assign the default class, which was created after the claim."""

    name: str


@value_object
class ProvisionBy:
    """Ask an external provisioner for a volume."""

    provisioner: str


@value_object
class CannotProvision:
    problem: str


@value_object
class LoseVolume:
    event: VolumeEvent


ClaimDecision = BindTo | KeepPending | AssignClass | ProvisionBy | CannotProvision | LoseVolume


@value_object
class ClaimView:
    """The cluster state for the decision; each property is looked up on demand."""

    volumes: Callable[[], Sequence[ApiObject]]
    volume: Callable[[str], ApiObject | None]
    classes: Callable[[], Sequence[ApiObject]]
    storage_class: Callable[[str], ApiObject | None]
    unscheduled_pods: Callable[[], Sequence[str]]  # names of unscheduled pods that use the claim


def decide_claim(claim: ApiObject, view: ClaimView) -> ClaimDecision:
    if BIND_COMPLETED in claim.metadata.annotations:
        return _decide_bound(claim, view)
    wanted = spec_of(claim).get("volumeName")
    return _decide_prebound(claim, view.volume(wanted)) if wanted else _decide_unbound(claim, view)


def _decide_unbound(claim: ApiObject, view: ClaimView) -> ClaimDecision:
    name = class_of(claim)
    storage_class = view.storage_class(name) if name else None
    delayed = storage_class is not None and storage_class.extra.get("volumeBindingMode") == "WaitForFirstConsumer"
    found = find_best_match(claim, view.volumes(), delay_binding=delayed)
    if found is not None:
        return BindTo(found)
    if not has_class(claim):
        default = default_class(view.classes())
        if default is not None:
            return AssignClass(default.metadata.name)
    if delayed and SELECTED_NODE not in claim.metadata.annotations:
        return KeepPending(_first_consumer(view.unscheduled_pods()))
    if name:
        return _provision(name, storage_class)
    return KeepPending(VolumeEvent(NORMAL, "FailedBinding", NO_VOLUME))


def _first_consumer(pods: Sequence[str]) -> VolumeEvent:
    if not pods:
        return VolumeEvent(NORMAL, "WaitForFirstConsumer", NO_CONSUMER)
    named = f"pods {','.join(pods)}" if len(pods) > 1 else f"pod {pods[0]}"
    return VolumeEvent(NORMAL, "WaitForPodScheduled", f"waiting for {named} to be scheduled")


def _provision(name: str, storage_class: ApiObject | None) -> ClaimDecision:
    if storage_class is None:
        return CannotProvision(f'storageclass.storage.k8s.io "{name}" not found')
    provisioner = str(storage_class.extra.get("provisioner") or "")
    if provisioner in MIGRATED:
        return ProvisionBy(MIGRATED[provisioner])
    if not provisioner.startswith("kubernetes.io/"):
        return ProvisionBy(provisioner)
    if provisioner == "kubernetes.io/host-path":
        return CannotProvision(
            f'Failed to create provisioner: provisioning in volume plugin "{provisioner}" is disabled'
        )
    if provisioner in ("kubernetes.io/nfs", "kubernetes.io/local-volume", "kubernetes.io/csi"):
        return CannotProvision("no provisionable volume plugin matched")
    return CannotProvision(f"no volume plugin matched name: {provisioner}")


def _decide_prebound(claim: ApiObject, volume: ApiObject | None) -> ClaimDecision:
    """The claim names its volume."""
    if volume is None:
        return KeepPending()
    if spec_of(volume).get("claimRef") is None:
        problem = why_unsatisfied(volume, claim)
        if not problem:
            return BindTo(volume)
        message = f'Cannot bind to requested volume "{volume.metadata.name}": {problem}'
        return KeepPending(VolumeEvent(WARNING, "VolumeMismatch", message))
    if is_bound_to(volume, claim):
        return BindTo(volume)
    message = f'volume "{volume.metadata.name}" already bound to a different claim.'
    taken = VolumeEvent(WARNING, "FailedBinding", message)
    return KeepPending(taken, fail=BOUND_BY_CONTROLLER in claim.metadata.annotations)


def _decide_bound(claim: ApiObject, view: ClaimView) -> ClaimDecision:
    """The claim was bound before."""
    name = spec_of(claim).get("volumeName")
    if not name:
        return LoseVolume(VolumeEvent(WARNING, "ClaimLost", LOST_REFERENCE))
    volume = view.volume(name)
    if volume is None:
        return LoseVolume(VolumeEvent(WARNING, "ClaimLost", LOST_VOLUME))
    reference = spec_of(volume).get("claimRef")
    if reference is None or (reference.get("uid") or "") == claim.metadata.uid:
        return BindTo(volume)
    return LoseVolume(VolumeEvent(WARNING, "ClaimMisbound", MISBOUND))
