"""The claims that pods on this node use, and their checkpoint.

A claim restored from the checkpoint counts as not prepared: the next pod that starts prepares it again.

Mirrors: pkg/kubelet/cm/dra/claiminfo.go; pkg/kubelet/cm/dra/state/checkpoint.go
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.workloads.resource_claims import allocation_of
from kubesim.kubelet.cm.dra.plugin import DraClaim, PreparedDevice
from kubesim.runtime.helper import DynamicResourcesError
from kubesim.values import mutable

CHECKPOINT = "dra_manager_state"
ANY_DRIVER = "<any>"  # metric label for the claims of all drivers

Checkpoints = dict[str, Any]  # by file name, on the kubelet's disk


@mutable(eq=False)
class ClaimInfo:
    """A claim: its pods in order of arrival and, once prepared, its devices by driver."""

    claim: DraClaim
    pod_uids: dict[str, None] = field(default_factory=dict)
    drivers: dict[str, tuple[PreparedDevice, ...]] = field(default_factory=dict)
    is_prepared: bool = False

    def cdi_devices(self, request: str) -> Iterator[str]:
        """The CDI device ids of one request, or of all requests without a name."""
        for devices in self.drivers.values():
            for device in devices:
                if not request or not device.request_names or request in device.request_names:
                    yield from device.cdi_device_ids


def new_claim_info(claim: ApiObject) -> ClaimInfo:
    """Raises DynamicResourcesError."""
    allocation = allocation_of(claim)
    if allocation is None:
        raise DynamicResourcesError("not allocated")
    metadata = claim.metadata
    results = (allocation.get("devices") or {}).get("results") or ()
    drivers: dict[str, tuple[PreparedDevice, ...]] = {result.get("driver", ""): () for result in results}
    return ClaimInfo(DraClaim(metadata.namespace, metadata.uid, metadata.name), drivers=drivers)


class ClaimInfoCache:
    """Claims by namespace and name. `checkpoints` is on the kubelet's disk."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._infos: dict[tuple[str, str], ClaimInfo] = {}
        for entry in checkpoints.setdefault(CHECKPOINT, ()):
            self.add(_restored(entry))

    def __iter__(self) -> Iterator[ClaimInfo]:
        return iter(self._infos.values())

    def add(self, info: ClaimInfo) -> None:
        self._infos[info.claim.namespace, info.claim.name] = info

    def get(self, name: str, namespace: str) -> ClaimInfo | None:
        return self._infos.get((namespace, name))

    def delete(self, name: str, namespace: str) -> None:
        self._infos.pop((namespace, name), None)

    def has_pod_reference(self, uid: str) -> bool:
        return any(uid in info.pod_uids for info in self)

    def sync_to_checkpoint(self) -> None:
        self._checkpoints[CHECKPOINT] = tuple(_saved(info) for info in self)

    def claims_in_use(self) -> dict[str, int]:
        """The number of prepared claims per driver and in total."""
        counts: dict[str, int] = {}
        prepared = [info for info in self if info.is_prepared]
        for info in prepared:
            for driver in info.drivers:
                counts[driver] = counts.get(driver, 0) + 1
        return counts | {ANY_DRIVER: len(prepared)}


def _saved(info: ClaimInfo) -> Mapping[str, Any]:
    return {"claim": info.claim, "pods": tuple(info.pod_uids), "drivers": dict(info.drivers)}


def _restored(entry: Mapping[str, Any]) -> ClaimInfo:
    return ClaimInfo(entry["claim"], dict.fromkeys(entry["pods"]), dict(entry["drivers"]))
