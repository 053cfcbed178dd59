"""The retention policy of a StatefulSet's claims, implemented by owner references for the garbage collector.

The set owns a claim that is deleted with it. The pod owns a claim that is deleted on scale-down, once the pod is
condemned.

Mirrors: pkg/controller/statefulset/stateful_set_utils.go isClaimOwnerUpToDate, updateClaimOwnerRefForSetAndPod,
hasUnexpectedController; stateful_pod_control.go PodClaimIsStale
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesim.api.meta import ApiObject, OwnerReference
from kubesim.api.pod import Pod
from kubesim.api.workloads.apps import StatefulSet
from kubesim.cluster.controllers.owners import controller_reference
from kubesim.cluster.controllers.statefulset.identity import ordinal_of, ordinals
from kubesim.cluster.store.kinds import resource_of

_RETAIN, _DELETE = "Retain", "Delete"


def retention_policy(set_: StatefulSet) -> tuple[str, str]:
    """(when the set is deleted, when it is scaled down)"""
    policy = set_.spec.persistent_volume_claim_retention_policy
    return (_RETAIN, _RETAIN) if policy is None else (policy.when_deleted, policy.when_scaled)


def has_stale_claim(set_: StatefulSet, pod: Pod, claims: Iterable[ApiObject]) -> bool:
    """Whether a claim is being deleted with an earlier pod of this name, so that a new pod cannot use it."""
    return retention_policy(set_)[1] == _DELETE and any(_has_stale_reference(claim, pod) for claim in claims)


def has_unexpected_controller(claim: ApiObject, set_: StatefulSet, pod: Pod) -> bool:
    """Whether another object controls the claim although the policy requires the set or the pod to own it."""
    if retention_policy(set_) == (_RETAIN, _RETAIN):
        return False
    for reference in claim.metadata.owner_references:
        owner = next((each for each in (set_, pod) if _names(reference, each)), None)
        if owner is None:
            if reference.controller:
                return True
        elif reference.uid != owner.metadata.uid:
            return True  # of an earlier set or pod: left to the garbage collector
    return False


def is_claim_owner_up_to_date(claim: ApiObject, set_: StatefulSet, pod: Pod) -> bool:
    """Whether the claim has the required owners. A claim of an earlier set or pod stays unchanged."""
    if _has_stale_reference(claim, set_) or _has_stale_reference(claim, pod):
        return True
    owned_by_set, owned_by_pod = _is_owner(claim, set_), _is_owner(claim, pod)
    if has_unexpected_controller(claim, set_, pod):
        return not owned_by_set and not owned_by_pod
    ours = (set_.metadata.uid, pod.metadata.uid)
    if any(each.uid in ours and not each.controller for each in claim.metadata.owner_references):
        return False
    wanted = _wanted_owner(set_, pod)
    return owned_by_set == (wanted is set_) and owned_by_pod == (wanted is pod)


def claim_owners(claim: ApiObject, set_: StatefulSet, pod: Pod) -> tuple[OwnerReference, ...]:
    """The required owner references of the claim."""
    others = tuple(each for each in claim.metadata.owner_references if not _names(each, set_) and not _names(each, pod))
    wanted = _wanted_owner(set_, pod)
    if wanted is None or has_unexpected_controller(claim, set_, pod):
        return others
    if any(each.uid == wanted.metadata.uid for each in others):
        return others
    return (*others, controller_reference(wanted))


def _wanted_owner(set_: StatefulSet, pod: Pod) -> StatefulSet | Pod | None:
    when_deleted, when_scaled = retention_policy(set_)
    if when_scaled == _DELETE and ordinal_of(pod) not in ordinals(set_):
        return pod
    return set_ if when_deleted == _DELETE else None


def _names(reference: OwnerReference, owner: ApiObject) -> bool:
    """Whether the reference has this kind and name; the uid is ignored."""
    named = (reference.api_version, reference.kind, reference.name)
    return named == (resource_of(owner.kind).api_version, owner.kind, owner.metadata.name)


def _is_owner(claim: ApiObject, owner: ApiObject) -> bool:
    return any(each.uid == owner.metadata.uid for each in claim.metadata.owner_references)


def _has_stale_reference(claim: ApiObject, owner: ApiObject) -> bool:
    found = next((each for each in claim.metadata.owner_references if _names(each, owner)), None)
    return found is not None and found.uid != owner.metadata.uid
