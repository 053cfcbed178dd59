"""Writes the allocations and reservations of a pod's claims before binding, and reverts them.

Upstream's two requests, for the finalizer and the status, are one write here, so no client sees an intermediate state.

Mirrors: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go PreBind, bindClaim, Unreserve
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.timestamps import format_time
from kubesim.api.workloads.resource_claims import (
    FINALIZER,
    allocation_of,
    is_reserved_for_pod,
    reservation_for,
    reservations,
    with_status,
)
from kubesim.cluster.scheduling.plugins.devices.dynamic_resources import Allocation
from kubesim.cluster.scheduling.scheduler_client import SchedulerClient


def bind_pod_claims(
    client: SchedulerClient, pod: Pod, claims: Sequence[tuple[ApiObject, Allocation | None]], now: int
) -> None:
    """Write allocations and reservations. Raises ApiError."""
    for claim, allocation in claims:
        if is_reserved_for_pod(pod, claim):
            continue
        if allocation is not None:
            allocation = {**allocation, "allocationTimestamp": format_time(now)}
            if FINALIZER not in claim.metadata.finalizers:
                finalizers = (*claim.metadata.finalizers, FINALIZER)
                protected = claim.changed(metadata=claim.metadata.changed(finalizers=finalizers))
                claim = client.patch(claim, protected, "an allocated claim is not deleted", verb="update")
            claim_with = with_status(claim, allocation=allocation)
        else:
            claim_with = claim
        reserved = with_status(claim_with, reservedFor=[*reservations(claim), reservation_for(pod)])
        why = "the pod uses the claim" if allocation is None else "devices were found for the claim on the chosen node"
        client.patch(claim, reserved, why, "status", _shown(reserved), "update")


def unreserve_pod_claims(client: SchedulerClient, pod: Pod, claims: Sequence[ApiObject]) -> None:
    """Remove the reservations of a pod that was not bound; its claims stay allocated."""
    for claim in claims:
        if is_reserved_for_pod(pod, claim):
            others = [each for each in reservations(claim) if each.get("uid") != pod.metadata.uid]
            changed = with_status(claim, reservedFor=others)
            client.patch(claim, changed, "the pod that the claim was reserved for was not bound", "status")


def deallocate(client: SchedulerClient, claim: ApiObject) -> None:
    changed = with_status(claim, reservedFor=[], allocation=None, devices=[])
    why = "the devices are on a node that the pod cannot use, and no other pod uses the claim"
    client.patch(claim, changed, why, "status", _shown(changed), "update")


def _shown(claim: ApiObject) -> dict[str, object]:
    """Devices by driver and name, and the number of consumers, for the trace."""
    results = ((allocation_of(claim) or {}).get("devices") or {}).get("results") or ()
    devices = [f"{result.get('driver', '')}/{result.get('device', '')}" for result in results]
    return {"devices": " ".join(devices), "reservedFor": len(reservations(claim))}
