"""The claims of a pod, and the requests that each container uses.

Mirrors: pkg/kubelet/cm/dra/manager.go prepareResources, GetResources, unprepareResourcesForPod
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubesim.api.names import is_dra_extended_resource_name
from kubesim.api.pod import Container, Pod
from kubesim.api.pods.resources import quantities
from kubesim.api.workloads.resource_claims import claim_name
from kubesim.features import FeatureGates


def extended_claim(pod: Pod, gates: FeatureGates) -> Mapping[str, Any] | None:
    """The claim that the scheduler created for extended resources backed by devices."""
    status = pod.status.extended_resource_claim_status
    return status if status and gates.enabled("DRAExtendedResource") else None


def has_claims(pod: Pod) -> bool:
    return bool(pod.spec.resource_claims) or pod.status.extended_resource_claim_status is not None


def named_claims(pod: Pod, gates: FeatureGates) -> Iterator[tuple[str, bool]]:
    """The name of each claim, and whether to check its owner. Raises ClaimReferenceError."""
    for pod_claim in pod.spec.resource_claims:
        name, must_check_owner = claim_name(pod, pod_claim)
        if name is not None:
            yield name, must_check_owner
    extended = extended_claim(pod, gates)
    if extended is not None:
        yield extended["resourceClaimName"], False


def container_requests(pod: Pod, container: Container, gates: FeatureGates) -> dict[str, list[str]]:
    """The container's requests by claim name; an empty name means all requests. Raises ClaimReferenceError. Go visits
    claims in map order; here the order is that of the pod spec.
    """
    used: dict[str, list[str]] = {}
    for claim in container.resources.claims:
        used.setdefault(claim.get("name", ""), []).append(claim.get("request", ""))
    requests: dict[str, list[str]] = {}
    for pod_claim in pod.spec.resource_claims:
        wanted = used.get(pod_claim.get("name", ""))
        name = claim_name(pod, pod_claim)[0] if wanted is not None else None
        if wanted is not None and name is not None:
            requests.setdefault(name, []).extend(wanted)
    extended = extended_claim(pod, gates)
    if extended is not None:
        for request in _extended_requests(extended, container):
            requests.setdefault(extended["resourceClaimName"], []).append(request)
    return requests


def _extended_requests(status: Mapping[str, Any], container: Container) -> list[str]:
    amounts = quantities(container.resources.requests)
    wanted = {name for name, amount in amounts.items() if amount.sign and is_dra_extended_resource_name(name)}
    return [
        mapping.get("requestName", "")
        for mapping in status.get("requestMappings") or ()
        if mapping.get("containerName") == container.name and mapping.get("resourceName") in wanted
    ]
