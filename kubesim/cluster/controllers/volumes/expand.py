"""Claim expansion in the cluster: emits an Event that the driver's external resizer must act.

Mirrors: pkg/controller/volume/expand/expand_controller.go
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.quantity import Quantity, quantity
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.volumes.storage_fields import (
    CLAIM,
    VOLUME,
    phase_of,
    request_of,
    spec_of,
    status_of,
)
from kubesim.cluster.store.watches import WatchEvent


def size_of(claim: ApiObject) -> Quantity:
    """The capacity in the claim's status."""
    return quantity((status_of(claim).get("capacity") or {}).get("storage") or 0)


def volume_to_expand(claim: ApiObject, volume: ApiObject | None) -> ApiObject | None:
    """The claim's volume if the claim requests more than its capacity."""
    if volume is None or phase_of(claim) != "Bound" or request_of(claim) <= size_of(claim):
        return None
    reference = spec_of(volume).get("claimRef") or {}
    return volume if reference.get("uid") == claim.metadata.uid else None


class ExpandController(Controller):
    name = "volume_expand"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.store.watch(CLAIM, self._changed)

    def _changed(self, change: WatchEvent) -> None:
        claim, old = change.object, change.previous
        if change.type == "DELETED" or phase_of(claim) != "Bound":
            return
        if old is None or request_of(claim) > request_of(old) or size_of(claim) > size_of(old):
            self.enqueue(claim)

    def sync(self, namespace: str, name: str) -> None:
        claim = self.store.find(CLAIM, namespace, name)
        if claim is None:
            return
        volume = self.store.find(VOLUME, "", spec_of(claim).get("volumeName") or "")
        if volume_to_expand(claim, volume) is not None:
            text = "waiting for an external controller to expand this PVC"
            self.client.event(claim, "Normal", "ExternalExpanding", text)
