"""References between pods and ResourceClaims, used by the controller, the scheduler and the kubelet.

Mirrors: k8s.io/dynamic-resource-allocation/resourceclaim/resourceclaim.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.errors import KubesimError
from kubesim.golang.text import quoted

CLAIM, CLAIM_TEMPLATE = "ResourceClaim", "ResourceClaimTemplate"
DEVICE_CLASS, RESOURCE_SLICE = "DeviceClass", "ResourceSlice"
FINALIZER = "resource.kubernetes.io/delete-protection"
POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"  # annotation of a claim that was created from a template

Json = Mapping[str, Any]


class ClaimReferenceError(KubesimError):
    """A pod's reference to a claim that cannot be used."""


class ClaimNotCreated(ClaimReferenceError):
    """The claim has not been created from its template yet."""


def claim_name(pod: Pod, pod_claim: Json) -> tuple[str | None, bool]:
    """The name of the claim, and whether its owner must be checked; a name of None means that the pod needs no
    claim."""
    if pod_claim.get("resourceClaimName") is not None:
        return pod_claim["resourceClaimName"], False
    named = f'pod "{pod.metadata.namespace}/{pod.metadata.name}"'
    if pod_claim.get("resourceClaimTemplateName") is None:
        own = quoted(pod_claim.get("name", ""))
        raise ClaimReferenceError(f"{named}, spec.resourceClaim {own}: none of the supported fields are set")
    for status in pod.status.resource_claim_statuses:
        if status.get("name") == pod_claim.get("name"):
            return status.get("resourceClaimName"), True
    raise ClaimNotCreated(f"{named}: ResourceClaim not created yet")


def why_not_for_pod(pod: Pod, claim: ApiObject) -> str:
    """Why the claim was not created for this pod; empty if it was."""
    own, other = pod.metadata, claim.metadata
    names = f"{other.namespace}/{other.name}", f"{own.namespace}/{own.name}"
    if other.namespace != own.namespace:
        return f"ResourceClaim {names[0]} is not in the same namespace as Pod {names[1]}"
    if not any(owner.controller and owner.uid == own.uid for owner in other.owner_references):
        return f"ResourceClaim {names[0]} was not created for Pod {names[1]} (Pod is not owner)"
    return ""


def status_of(claim: ApiObject) -> dict[str, Any]:
    found: dict[str, Any] = claim.extra.get("status") or {}
    return found


def allocation_of(claim: ApiObject) -> dict[str, Any] | None:
    return status_of(claim).get("allocation")


def reservations(claim: ApiObject) -> Sequence[dict[str, Any]]:
    found: Sequence[dict[str, Any]] = status_of(claim).get("reservedFor") or ()
    return found


def is_reserved_for_pod(pod: Pod, claim: ApiObject) -> bool:
    return any(consumer.get("uid") == pod.metadata.uid for consumer in reservations(claim))


def reservation_for(pod: Pod) -> dict[str, str]:
    return {"resource": "pods", "name": pod.metadata.name, "uid": pod.metadata.uid}


def with_status(claim: ApiObject, **fields: Any) -> ApiObject:
    """The claim with these status fields; None or an empty list removes a field."""
    status = {name: value for name, value in {**status_of(claim), **fields}.items() if value}
    return claim.with_extra({**claim.extra, "status": status})


def base_request(reference: str) -> str:
    """The request name in `request` or `request/subrequest`."""
    return reference.partition("/")[0]
