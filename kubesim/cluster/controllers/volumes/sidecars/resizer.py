"""The external resizer, and the node's part of an expansion: the volume grows first, then its file system.

The file system grows where the volume is mounted, so the claim waits for a running pod.

Mirrors: kubernetes-csi/external-resizer pkg/controller/controller.go, expand_and_recover.go; pkg/volume/util/
operationexecutor/node_expander.go, pkg/volume/util/resize_util.go
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.quantity import Quantity, quantity
from kubesim.api.timestamps import MILLISECOND, SECOND, format_time
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller, ControllerClient
from kubesim.cluster.controllers.volumes.expand import volume_to_expand
from kubesim.cluster.controllers.volumes.storage_fields import (
    CLAIM,
    VOLUME,
    Json,
    capacity_of,
    claims_of,
    mode_of,
    request_of,
    spec_of,
    status_of,
    with_field,
)
from kubesim.cluster.store.watches import WatchEvent

FASTEST, SLOWEST = 100 * MILLISECOND, 1 * SECOND
LONGEST_TO_NOTICE = 90 * SECOND  # a kubelet checks the claims of a pod in SyncPod
PENDING = "FileSystemResizePending"
WAITING = "Waiting for user to (re-)start a pod to finish file system resize of volume on node."


class CsiResizer(Controller):
    name = "csi-resizer"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = context.pods_by_claim()
        self._stream = context.randomness.stream("sidecar", self.name)
        self._kubelet = ControllerClient(context, "kubelet")
        self._ready: dict[tuple[str, str], int] = {}  # (uid of the claim, step) -> when it finishes
        self.watch(CLAIM)
        self.store.watch("Pod", self._pod_changed)

    def _pod_changed(self, change: WatchEvent) -> None:
        pod = change.object
        if isinstance(pod, Pod) and pod.spec.volumes and pod.status.phase == "Running":
            for name in claims_of(pod):
                claim = self.store.find(CLAIM, pod.metadata.namespace, name)
                if claim is None or step_of(claim) != "NodeResizePending":
                    continue
                before = change.previous
                if not isinstance(before, Pod) or before.status.phase != "Running":
                    # the file system grew when the volume was mounted
                    self._ready[claim.metadata.uid, "node"] = self.clock.now()
                self.enqueue(claim)

    def sync(self, namespace: str, name: str) -> None:
        claim = self.store.find(CLAIM, namespace, name)
        if claim is None:
            return
        volume = volume_to_expand(claim, self.store.find(VOLUME, "", spec_of(claim).get("volumeName") or ""))
        source = None if volume is None else spec_of(volume).get("csi")
        if volume is None or source is None:
            return
        match step_of(claim):
            case "":
                self._begin(claim, volume)
            case "ControllerResizeInProgress":
                if self._has_worked(claim, "controller", FASTEST, SLOWEST):
                    self._grow_volume(claim, volume)
            case "NodeResizePending":
                users = self._pods.pods_of(namespace, name)
                user = next((pod for pod in users if pod.spec.node_name and pod.status.phase == "Running"), None)
                if user is not None and self._has_worked(claim, "node", FASTEST, LONGEST_TO_NOTICE):
                    self._grow_file_system(claim, volume, user)

    def _has_worked(self, claim: ApiObject, step: str, fastest: int, slowest: int) -> bool:
        key, now = (claim.metadata.uid, step), self.clock.now()
        if key not in self._ready:
            self._ready[key] = now + self._stream.randint(fastest, slowest)
        if now < self._ready[key]:
            self.queue.add_at((claim.metadata.namespace, claim.metadata.name), self._ready[key])
            return False
        del self._ready[key]
        return True

    def _begin(self, claim: ApiObject, volume: ApiObject) -> None:
        wanted = {"storage": str(request_of(claim))}
        changes = {"allocatedResources": wanted, **self._step("ControllerResizeInProgress", "Resizing", "")}
        why = f"it asks for {wanted['storage']}, so the driver makes the volume larger"
        claim = self.client.patch(claim, with_field(claim, "status", changes), why, "status", wanted)
        self.client.event(claim, "Normal", "Resizing", f"External resizer is resizing volume {volume.metadata.name}")

    def _step(self, step: str, condition: str, message: str) -> Json:
        now = format_time(self.clock.now())
        reported = {"type": condition, "status": "True", "lastTransitionTime": now}
        return {
            "allocatedResourceStatuses": {"storage": step},
            "conditions": [{**reported, "message": message} if message else reported],
        }

    def _grow_volume(self, claim: ApiObject, volume: ApiObject) -> None:
        size = {"storage": str(_allocated(claim))}
        if capacity_of(volume) < _allocated(claim):
            why = f"the driver has made the volume as large as {size['storage']}"
            self.client.patch(volume, with_field(volume, "spec", {"capacity": size}), why, shown=size)
        if mode_of(claim) == "Block":
            self._finish(self.client, claim, size)
            self.client.event(claim, "Normal", "VolumeResizeSuccessful", "Resize volume succeeded")
            return
        changes = self._step("NodeResizePending", PENDING, WAITING)
        why = "the volume has grown, the file system on it has not"
        claim = self.client.patch(claim, with_field(claim, "status", changes), why, "status", {"condition": PENDING})
        text = "Require file system resize of volume on node"
        self.client.event(claim, "Normal", "FileSystemResizeRequired", text)

    def _grow_file_system(self, claim: ApiObject, volume: ApiObject, user: Pod) -> None:
        self._finish(self._kubelet, claim, {"storage": str(_allocated(claim))})
        text = f'MountVolume.NodeExpandVolume succeeded for volume "{volume.metadata.name}" '
        for about in (user, claim):
            self._kubelet.event(about, "Normal", "FileSystemResizeSuccessful", text + user.spec.node_name)

    def _finish(self, client: ControllerClient, claim: ApiObject, size: Json) -> None:
        changes = {"capacity": size, "conditions": None, "allocatedResourceStatuses": None}
        client.patch(claim, with_field(claim, "status", changes), "the claim has its new size", "status", size)


def step_of(claim: ApiObject) -> str:
    """The step of the expansion; empty if it has not begun."""
    return str((status_of(claim).get("allocatedResourceStatuses") or {}).get("storage") or "")


def _allocated(claim: ApiObject) -> Quantity:
    return quantity((status_of(claim).get("allocatedResources") or {}).get("storage") or 0)
