"""Protection of claims and volumes in use: a finalizer blocks their deletion.

Mirrors: pkg/controller/volume/pvcprotection/pvc_protection_controller.go, pvprotection/pv_protection_controller.go
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.owners import is_controlled_by
from kubesim.cluster.controllers.volumes.storage_fields import (
    CLAIM,
    CLAIM_PROTECTION,
    VOLUME,
    VOLUME_PROTECTION,
    claims_of,
    is_terminated,
    phase_of,
    with_finalizers,
    without_finalizer,
)
from kubesim.cluster.store.watches import WatchEvent


def is_candidate(obj: ApiObject, finalizer: str) -> bool:
    """Whether the object is being deleted and has this finalizer."""
    return obj.metadata.deletion_timestamp is not None and finalizer in obj.metadata.finalizers


def lacks(obj: ApiObject, finalizer: str) -> bool:
    return obj.metadata.deletion_timestamp is None and finalizer not in obj.metadata.finalizers


def uses(pod: Pod, claim: ApiObject) -> bool:
    """Whether the pod uses the claim. An unscheduled pod does not."""
    if not pod.spec.node_name:
        return False
    for volume in pod.spec.volumes:
        named = volume.get("persistentVolumeClaim")
        if named is not None and named.get("claimName") == claim.metadata.name:
            return True
        own = volume.get("ephemeral") is not None and f"{pod.metadata.name}-{volume.get('name', '')}"
        if own == claim.metadata.name and is_controlled_by(claim, pod) and not is_shut_down(pod):
            return True
    return False


def is_shut_down(pod: Pod) -> bool:
    """Whether the kubelet has finished the pod, or it was deleted forcefully."""
    return pod.metadata.deletion_timestamp is not None and pod.metadata.deletion_grace_period_seconds == 0


class ClaimProtection(Controller):
    name = "pvc-protection-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = context.pods_by_claim()
        self.store.watch(CLAIM, self._claim_changed)
        self.store.watch("Pod", self._pod_changed)
        for claim in self.store.list(CLAIM):
            self._enqueue(claim)

    def _claim_changed(self, change: WatchEvent) -> None:
        if change.type != "DELETED":
            self._enqueue(change.object)

    def _enqueue(self, claim: ApiObject) -> None:
        if lacks(claim, CLAIM_PROTECTION) or is_candidate(claim, CLAIM_PROTECTION):
            self.enqueue(claim)

    def _pod_changed(self, change: WatchEvent) -> None:
        pod = change.object
        if not isinstance(pod, Pod) or not pod.spec.volumes:
            return
        if change.type == "DELETED" or is_terminated(pod) or not pod.spec.node_name:
            for name in claims_of(pod):
                self.queue.add((pod.metadata.namespace, name))

    def sync(self, namespace: str, name: str) -> None:
        claim = self.store.find(CLAIM, namespace, name)
        if claim is None:
            return
        if is_candidate(claim, CLAIM_PROTECTION):
            if not any(uses(pod, claim) for pod in self._pods.pods_of(namespace, name)):
                why = "no pod uses the claim any more, so it can be deleted"
                self.client.patch(claim, without_finalizer(claim, CLAIM_PROTECTION), why)
        elif lacks(claim, CLAIM_PROTECTION):
            finalizers = (*claim.metadata.finalizers, CLAIM_PROTECTION)
            self.client.patch(claim, with_finalizers(claim, finalizers), "a claim is not deleted while a pod uses it")


class VolumeProtection(Controller):
    name = "pv-protection-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.store.watch(VOLUME, self._changed)
        for volume in self.store.list(VOLUME):
            self._enqueue(volume)

    def _changed(self, change: WatchEvent) -> None:
        if change.type != "DELETED":
            self._enqueue(change.object)

    def _enqueue(self, volume: ApiObject) -> None:
        if lacks(volume, VOLUME_PROTECTION) or is_candidate(volume, VOLUME_PROTECTION):
            self.enqueue(volume)

    def sync(self, namespace: str, name: str) -> None:
        volume = self.store.find(VOLUME, namespace, name)
        if volume is None:
            return
        if is_candidate(volume, VOLUME_PROTECTION):
            if phase_of(volume) != "Bound":
                why = "no claim is bound to the volume, so it can be deleted"
                self.client.patch(volume, without_finalizer(volume, VOLUME_PROTECTION), why)
        elif lacks(volume, VOLUME_PROTECTION):
            finalizers = (*volume.metadata.finalizers, VOLUME_PROTECTION)
            self.client.patch(volume, with_finalizers(volume, finalizers), "a volume is not deleted while it is bound")
