"""Decides about a pod's claims: which it needs, which to create, which reservations to keep.

Mirrors: pkg/controller/resourceclaim/controller.go podNeedsClaims, handleClaim, isPodDone, owningPod
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubesim.api.meta import ApiObject, ObjectMeta, OwnerReference
from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.workloads.resource_claims import (
    CLAIM,
    POD_CLAIM_NAME,
    ClaimReferenceError,
    allocation_of,
    claim_name,
    is_reserved_for_pod,
    reservations,
    why_not_for_pod,
)

_MAX_BASE = 57  # leaves room for the server's suffix of a generateName

FindClaim = Callable[[str], ApiObject | None]  # by name, in the pod's namespace


def is_pod_done(pod: Pod) -> bool:
    """Whether no container runs and none ever will."""
    deleted_before_scheduling = pod.metadata.deletion_timestamp is not None and not pod.spec.node_name
    return pod.status.phase in TERMINAL_PHASES or deleted_before_scheduling


def used_claims(pod: Pod) -> list[str]:
    """The names of the pod's claims that are known so far."""
    names = []
    for pod_claim in pod.spec.resource_claims:
        try:
            name, _ = claim_name(pod, pod_claim)
        except ClaimReferenceError:
            continue
        if name is not None:
            names.append(name)
    extended = pod.status.extended_resource_claim_status
    return [*names, extended["resourceClaimName"]] if extended else names


def pod_needs_work(pod: Pod, find: FindClaim) -> bool:
    """Whether a claim must be created from a template, or reserved for a pod that already has a node.

    Upstream also reserves shared claims again for finished pods, reverts that, and repeats endlessly
    (kubernetes/kubernetes#141274). kubesim does not.
    """
    if pod.metadata.deletion_timestamp is not None or is_pod_done(pod):
        return False
    for pod_claim in pod.spec.resource_claims:
        try:
            name, must_check_owner = claim_name(pod, pod_claim)
        except ClaimReferenceError:
            return True
        claim = None if name is None else find(name)
        if name is None:
            continue
        if claim is None:
            if pod_claim.get("resourceClaimTemplateName") is not None:
                return True
        elif not (must_check_owner and why_not_for_pod(pod, claim)) and needs_reservation(pod, claim):
            return True
    return False


def needs_reservation(pod: Pod, claim: ApiObject) -> bool:
    """Whether the controller reserves the claims: the pod was created with a node. Otherwise the scheduler does."""
    return bool(pod.spec.node_name) and allocation_of(claim) is not None and not is_reserved_for_pod(pod, claim)


def claim_for(pod: Pod, pod_claim: Mapping[str, Any], template: ApiObject) -> ApiObject:
    """The claim for a pod, from its template."""
    spec = template.extra.get("spec") or {}
    given = spec.get("metadata") or {}
    name = pod_claim.get("name", "")
    metadata = ObjectMeta(
        generate_name=generate_name(pod.metadata.name, name),
        namespace=pod.metadata.namespace,
        labels=dict(given.get("labels") or {}),
        annotations={**(given.get("annotations") or {}), POD_CLAIM_NAME: name},
        owner_references=(
            OwnerReference(api_version="v1", kind="Pod", name=pod.metadata.name, uid=pod.metadata.uid, controller=True),
        ),
    )
    claim = ApiObject(api_version="resource.k8s.io/v1", kind=CLAIM, metadata=metadata)
    return claim.with_extra({"spec": spec.get("spec") or {}})


def generate_name(pod: str, pod_claim: str) -> str:
    """`pod-claim-`. Long names are shortened proportionally."""
    name = f"{pod}-{pod_claim}-"
    size = len(name)
    if size <= _MAX_BASE:
        return name
    return f"{pod[: len(pod) * _MAX_BASE // size]}-{pod_claim[: len(pod_claim) * _MAX_BASE // size]}"


def remaining_reservations(claim: ApiObject, find_pod: Callable[[str], Pod | None]) -> list[dict[str, Any]]:
    """The reservations of pods that may still run, and of other kinds of consumers."""

    def stays(consumer: Mapping[str, Any]) -> bool:
        if consumer.get("apiGroup") or consumer.get("resource") != "pods":
            return True
        pod = find_pod(consumer.get("name", ""))
        return pod is not None and pod.metadata.uid == consumer.get("uid") and not is_pod_done(pod)

    return [consumer for consumer in reservations(claim) if stays(consumer)]


def owning_pod(claim: ApiObject) -> tuple[str, str]:
    """Name and uid of the pod for which the claim was generated; empty if none."""
    for owner in claim.metadata.owner_references:
        if owner.controller and owner.api_version == "v1" and owner.kind == "Pod":
            return owner.name, owner.uid
    return "", ""
