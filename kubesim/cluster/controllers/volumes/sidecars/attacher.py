"""The external attacher: attaches a volume for a VolumeAttachment, and detaches it before the object is deleted.

One attacher serves all drivers. The latency of a driver is drawn from the seed.

Mirrors: kubernetes-csi/external-attacher pkg/controller/csi_handler.go
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.volumes.attachments import is_attached
from kubesim.cluster.controllers.volumes.storage_fields import (
    ATTACHMENT,
    VOLUME,
    spec_of,
    with_field,
    with_finalizers,
    without_finalizer,
)
from kubesim.cluster.store.watches import WatchEvent

FASTEST, SLOWEST = 100 * MILLISECOND, 1 * SECOND


class CsiAttacher(Controller):
    name = "csi-attacher"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._stream = context.randomness.stream("sidecar", self.name)
        self._ready: dict[tuple[str, bool], int] = {}  # (uid, is detaching) -> when the driver finishes
        self.watch(ATTACHMENT)
        self.store.watch(VOLUME, self._volume_changed)

    def _volume_changed(self, change: WatchEvent) -> None:
        """Release a volume marked for deletion when no attachment is left."""
        volume = change.object
        if change.type != "DELETED" and volume.metadata.deletion_timestamp is not None:
            self._release(volume)

    def _release(self, volume: ApiObject) -> None:
        held = [name for name in volume.metadata.finalizers if name.startswith("external-attacher/")]
        attached = (
            one
            for one in self.store.list(ATTACHMENT)
            if (spec_of(one).get("source") or {}).get("persistentVolumeName") == volume.metadata.name
        )
        if held and next(attached, None) is None:
            self.client.patch(volume, without_finalizer(volume, held[0]), "it is not attached anywhere")

    def sync(self, namespace: str, name: str) -> None:
        attachment = self.store.find(ATTACHMENT, namespace, name)
        if attachment is None:
            return
        ending = attachment.metadata.deletion_timestamp is not None
        finalizer = _finalizer(attachment)
        if not ending and finalizer not in attachment.metadata.finalizers:
            finalizers = (*attachment.metadata.finalizers, finalizer)
            why = "the attachment must not go before the volume is detached"
            attachment = self.client.patch(attachment, with_finalizers(attachment, finalizers), why)
            self._hold_volume(attachment, finalizer)
        if ending != is_attached(attachment) and not (ending and finalizer in attachment.metadata.finalizers):
            return
        if not self._has_worked(attachment, ending):
            return
        if ending:
            self._detached(attachment, finalizer)
        else:
            why = f"the driver has attached the volume to {spec_of(attachment).get('nodeName')}"
            attached = with_field(attachment, "status", {"attached": True})
            self.client.patch(attachment, attached, why, "status", {"attached": True})

    def _has_worked(self, attachment: ApiObject, ending: bool) -> bool:
        key, now = (attachment.metadata.uid, ending), self.clock.now()
        if key not in self._ready:
            self._ready[key] = now + self._stream.randint(FASTEST, SLOWEST)
        if now < self._ready[key]:
            self.queue.add_at(("", attachment.metadata.name), self._ready[key])
            return False
        del self._ready[key]
        return True

    def _hold_volume(self, attachment: ApiObject, finalizer: str) -> None:
        name = (spec_of(attachment).get("source") or {}).get("persistentVolumeName") or ""
        volume = self.store.find(VOLUME, "", name)
        if volume is not None and volume.metadata.deletion_timestamp is None:
            if finalizer not in volume.metadata.finalizers:
                finalizers = (*volume.metadata.finalizers, finalizer)
                self.client.patch(volume, with_finalizers(volume, finalizers), "it is about to be attached")

    def _detached(self, attachment: ApiObject, finalizer: str) -> None:
        why = f"the driver has detached the volume from {spec_of(attachment).get('nodeName')}"
        self.client.patch(attachment, without_finalizer(attachment, finalizer), why)
        name = (spec_of(attachment).get("source") or {}).get("persistentVolumeName") or ""
        volume = self.store.find(VOLUME, "", name)
        if volume is not None and volume.metadata.deletion_timestamp is not None:
            self._release(volume)


def _finalizer(attachment: ApiObject) -> str:
    return "external-attacher/" + str(spec_of(attachment).get("attacher") or "").replace(".", "-")
