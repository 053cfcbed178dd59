"""The PV controller: syncs claims and volumes, and carries out the decisions.

Claims and volumes share a work queue; a key without a namespace belongs to a volume.

Mirrors: pkg/controller/volume/persistentvolume/pv_controller.go, pv_controller_base.go
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesim.api.meta import ApiObject
from kubesim.api.timestamps import MILLISECOND
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.volumes.binding.claim_decisions import (
    NORMAL,
    WARNING,
    AssignClass,
    BindTo,
    CannotProvision,
    ClaimView,
    KeepPending,
    LoseVolume,
    ProvisionBy,
    VolumeEvent,
    decide_claim,
)
from kubesim.cluster.controllers.volumes.binding.resync import PERIOD, Resync
from kubesim.cluster.controllers.volumes.binding.volume_decisions import (
    EnterPhase,
    ModesDiffer,
    ReleaseAndReclaim,
    SyncClaimSoon,
    Unbind,
    decide_reclaim,
    decide_volume,
)
from kubesim.cluster.controllers.volumes.binding.writes import (
    bound_claim,
    bound_volume,
    claim_in_phase,
    unbound_volume,
    with_provisioner,
)
from kubesim.cluster.controllers.volumes.storage_fields import (
    CLAIM,
    CLASS,
    VOLUME,
    claim_key,
    is_terminated,
    key_of,
    phase_of,
    spec_of,
    with_field,
    with_phase,
)
from kubesim.cluster.problems import conflict
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.store import Key
from kubesim.cluster.store.watches import WatchEvent

FIRST_LOOK = (3 * MILLISECOND, 5 * MILLISECOND)
EXTERNAL = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by the system "
    "administrator. If volume creation is delayed, please verify that the provisioner is running and correctly "
    "registered."
)


class PersistentVolumeController(Controller):
    name = "persistentvolume-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = context.pods_by_claim()
        phase = context.randomness.stream("resync", self.name).randint(0, PERIOD - 1)
        self._resync = Resync(self.clock, phase, self._sync_again)
        self._stream = context.randomness.stream("first look", self.name)
        self._arrived: dict[str, int] = {}  # volume -> its first resource version
        self._synced: dict[Key, str] = {}  # claim -> its uid
        self.store.watch(CLAIM, self._claim_changed)
        self.store.watch(VOLUME, self._volume_changed)
        for claim in self.store.list(CLAIM):
            self._resync.update(claim, deleted=False)
            self.enqueue(claim)
        for volume in self.store.list(VOLUME):
            self._sync_new(volume)

    def _claim_changed(self, change: WatchEvent) -> None:
        claim, deleted = change.object, change.type == "DELETED"
        self._resync.update(claim, deleted=deleted)
        bound_to = spec_of(claim).get("volumeName")
        if not deleted:
            self.enqueue(claim)
            return
        self._synced.pop(key_of(claim), None)
        if bound_to:
            self.queue.add(("", bound_to))

    def _volume_changed(self, change: WatchEvent) -> None:
        volume = change.object
        reference = spec_of(volume).get("claimRef")
        if change.type == "ADDED":
            self._sync_new(volume)
        elif change.type != "DELETED":
            self.enqueue(volume)
        else:
            self._arrived.pop(volume.metadata.name, None)
            if reference is not None:
                self.queue.add(claim_key(reference))

    def _sync_new(self, volume: ApiObject) -> None:
        """Sync a new volume before any claim created after it, even at the same instant."""
        name, metadata = volume.metadata.name, volume.metadata
        self._arrived[name] = int(metadata.resource_version or 0)
        self.clock.call_at(self.clock.now() + self._stream.randint(*FIRST_LOOK), self.sync, "", name)

    def _sync_again(self, waiting: Iterable[Key]) -> None:
        """Sync the waiting claims, and the volumes that name one of them."""
        keys = set(waiting)
        for key in waiting:
            self.queue.add(key)
        for volume in self.store.list(VOLUME):
            reference = spec_of(volume).get("claimRef")
            if reference is not None and claim_key(reference) in keys:
                self.enqueue(volume)

    def sync(self, namespace: str, name: str) -> None:
        found = self.store.find(CLAIM if namespace else VOLUME, namespace, name)
        if found is None:
            return
        if namespace:
            self._sync_claim(found)
        else:
            self._sync_volume(found)

    # -- claims -------------------------------------------------------------------------------------------------

    def _view(self, claim: ApiObject) -> ClaimView:
        return ClaimView(
            lambda: self._visible_volumes(claim),
            lambda name: self.store.find(VOLUME, "", name),
            lambda: self.store.list(CLASS),
            lambda name: self.store.find(CLASS, "", name),
            lambda: self._unscheduled_pods(claim),
        )

    def _visible_volumes(self, claim: ApiObject) -> list[ApiObject]:
        """The volumes that a claim's sync can see. If both were created together, the first sync of the claim misses
        the volume, and the next resync binds them.
        """
        volumes = self.store.list(VOLUME)
        if self._synced.get(key_of(claim)) == claim.metadata.uid:
            return volumes
        self._synced[key_of(claim)] = claim.metadata.uid
        version = int(claim.metadata.resource_version or 0)
        return [volume for volume in volumes if self._arrived.get(volume.metadata.name, 0) < version]

    def _unscheduled_pods(self, claim: ApiObject) -> list[str]:
        pods = self._pods.pods_of(*key_of(claim))
        return [pod.metadata.name for pod in pods if not pod.spec.node_name and not is_terminated(pod)]

    def _sync_claim(self, claim: ApiObject) -> None:
        match decide_claim(claim, self._view(claim)):
            case BindTo(volume=volume):
                self._bind(volume, claim)
            case KeepPending(event=event, fail=fail):
                if event is not None:
                    self._emit(claim, event)
                if fail:
                    raise conflict(resource_of(CLAIM), claim.metadata.name, "volume already claimed")
                why = "there is no volume that it can be bound to, so the claim is pending"
                self.client.patch(claim, claim_in_phase(claim, "Pending"), why, "status", {"phase": "Pending"})
            case AssignClass(name=name):
                why = f"it asks for no class, and {name} is the default by now"
                self.client.patch(claim, with_field(claim, "spec", {"storageClassName": name}), why)
            case ProvisionBy(provisioner=provisioner):
                why = f"no volume fits, so the provisioner {provisioner} is asked to make one"
                written = self.client.patch(claim, with_provisioner(claim, provisioner), why)
                self._emit(written, VolumeEvent(NORMAL, "ExternalProvisioning", EXTERNAL.format(provisioner)))
            case CannotProvision(problem=problem):
                self._emit(claim, VolumeEvent(WARNING, "ProvisioningFailed", problem))
            case LoseVolume(event=event):
                if phase_of(claim) != "Lost":
                    why = "the volume that it was bound to is not its own any more"
                    lost = claim_in_phase(claim, "Lost")
                    self._emit(self.client.patch(claim, lost, why, "status", {"phase": "Lost"}), event)

    def _bind(self, volume: ApiObject, claim: ApiObject) -> None:
        """Bind in four writes: the volume and its phase, the claim and its phase."""
        who, what = f"{claim.metadata.namespace}/{claim.metadata.name}", volume.metadata.name
        why = f"the volume fits the claim {who}, so it is bound to it"
        volume = self.client.patch(volume, bound_volume(volume, claim), why, shown={"claim": who})
        volume = self._set_phase(volume, "Bound", f"the volume belongs to the claim {who} now")
        why = f"the volume {what} is bound to the claim, so the claim is bound to it"
        claim = self.client.patch(claim, bound_claim(claim, volume), why, shown={"volumeName": what})
        why = f"the claim has its volume {what}"
        self.client.patch(claim, claim_in_phase(claim, "Bound", volume), why, "status", {"phase": "Bound"})

    # -- volumes ------------------------------------------------------------------------------------------------

    def _sync_volume(self, volume: ApiObject) -> None:
        reference = spec_of(volume).get("claimRef")
        claim = None if reference is None else self.store.find(CLAIM, *claim_key(reference))
        match decide_volume(volume, claim):
            case EnterPhase(phase=phase):
                why = "no claim has it" if phase == "Available" else "its claim is bound to it"
                self._set_phase(volume, phase, why)
            case SyncClaimSoon():
                self.queue.add(claim_key(reference or {}))
            case ModesDiffer(of_volume=of_volume, of_claim=of_claim):
                self._emit(volume, VolumeEvent(WARNING, "VolumeMismatch", of_volume))
                if claim is not None:
                    self._emit(claim, VolumeEvent(WARNING, "VolumeMismatch", of_claim))
            case Unbind():
                self._unbind(volume, "the claim is bound to another volume, so this one is free again")
            case ReleaseAndReclaim(release=release):
                if release:
                    volume = self._set_phase(volume, "Released", "its claim is gone")
                self._reclaim(volume)

    def _reclaim(self, volume: ApiObject) -> None:
        plan = decide_reclaim(volume)
        match plan.how:
            case "fail":
                if phase_of(volume) != "Failed":
                    failed = self._set_phase(volume, "Failed", "it cannot be reclaimed", plan.message)
                    self._emit(failed, VolumeEvent(WARNING, plan.reason, plan.message))
            case "delete":
                self.client.delete(volume, "its claim is gone and its reclaim policy is Delete")
            case "recycle":
                self._emit(volume, VolumeEvent(NORMAL, "VolumeRecycled", "Volume recycled"))
                self._unbind(volume, "it was emptied, so another claim can have it")

    def _unbind(self, volume: ApiObject, why: str) -> None:
        self._set_phase(self.client.patch(volume, unbound_volume(volume), why), "Available", why)

    def _set_phase(self, volume: ApiObject, phase: str, why: str, message: str = "") -> ApiObject:
        new = with_phase(volume, phase, self.clock.now(), message)
        return self.client.patch(volume, new, why, "status", {"phase": phase})

    def _emit(self, about: ApiObject, event: VolumeEvent) -> None:
        self.client.event(about, event.type, event.reason, event.message)
