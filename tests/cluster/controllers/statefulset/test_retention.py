"""Owner references of claims.

Mirrors: pkg/controller/statefulset/stateful_set_utils_test.go TestIsClaimOwnerUpToDate,
TestClaimOwnerUpToDateEdgeCases, TestUpdateClaimOwnerRefForSetAndPod, TestUpdateClaimControllerRef,
TestHasUnexpectedController; stateful_pod_control_test.go TestPodClaimIsStale
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from kubesim.api.meta import ApiObject, ObjectMeta, OwnerReference
from kubesim.api.pod import Pod
from kubesim.api.workloads.apps import (
    StatefulSet,
    StatefulSetPersistentVolumeClaimRetentionPolicy,
    StatefulSetSpec,
)
from kubesim.cluster.controllers.owners import controller_reference
from kubesim.cluster.controllers.statefulset.retention import (
    claim_owners,
    has_stale_claim,
    has_unexpected_controller,
    is_claim_owner_up_to_date,
)

R, D = "Retain", "Delete"
_OTHERS = (
    OwnerReference(api_version="v1", kind="Pod", name="rand1", uid="rand1-uid"),
    OwnerReference(api_version="v1", kind="Pod", name="rand2", uid="rand2-uid"),
)


def _set(scaled: str, deleted: str, replicas: int = 2) -> StatefulSet:
    policy = StatefulSetPersistentVolumeClaimRetentionPolicy(when_deleted=deleted, when_scaled=scaled)
    spec = StatefulSetSpec(replicas=replicas, persistent_volume_claim_retention_policy=policy)
    return StatefulSet(kind="StatefulSet", metadata=ObjectMeta(name="set", uid="set-uid"), spec=spec)


def _pod(name: str = "pod-0") -> Pod:
    return Pod(kind="Pod", metadata=ObjectMeta(name=name, uid="pod-uid"))


def _claim(owners: tuple[OwnerReference, ...] = ()) -> ApiObject:
    return ApiObject(kind="PersistentVolumeClaim", metadata=ObjectMeta(name="claim", owner_references=owners))


def _ref(kind: str, name: str, uid: str = "", controller: bool | None = None, group: str = "") -> OwnerReference:
    version = group or ("apps/v1" if kind == "StatefulSet" else "v1")
    return OwnerReference(api_version=version, kind=kind, name=name, uid=uid, controller=controller)


@pytest.mark.parametrize(
    ("scaled", "deleted", "ordinal", "pod_owns", "set_owns"),
    [
        (R, R, 0, False, False),
        (R, D, 0, False, True),
        (D, R, 2, True, False),
        (D, R, 1, False, False),
        (D, D, 2, True, False),
        (D, D, 1, False, True),
    ],
)
def test_the_policy_decides_the_owner(scaled: str, deleted: str, ordinal: int, pod_owns: bool, set_owns: bool) -> None:
    set_, pod = _set(scaled, deleted), _pod(f"pod-{ordinal}")
    for has_pod, has_set, others in product((False, True), repeat=3):
        owners = ((controller_reference(pod),) if has_pod else ()) + ((controller_reference(set_),) if has_set else ())
        claim = _claim(owners + (_OTHERS if others else ()))
        assert is_claim_owner_up_to_date(claim, set_, pod) is ((has_pod, has_set) == (pod_owns, set_owns))
        made = {owner.uid: owner.controller for owner in claim_owners(claim, set_, pod)}
        assert (made.get("pod-uid", False), made.get("set-uid", False)) == (pod_owns, set_owns)
        assert ("rand1-uid" in made) is others


@pytest.mark.parametrize(
    ("owners", "scaled", "expected"),
    [
        ((_ref("Pod", "pod-1", "pod-uid", True),), D, True),
        ((_ref("Pod", "pod-1", "pod-uid"),), D, False),
        ((_ref("Pod", "pod-1", "stale", True),), D, True),
        ((_ref("Pod", "pod-1", "pod-uid", True), _ref("Pod", "Random", "random", True)), D, False),
        ((_ref("StatefulSet", "set", "set-uid", True),), R, True),
        ((_ref("StatefulSet", "set", "set-uid", group="appsv1"),), R, False),
        ((_ref("StatefulSet", "set", "stale", True),), R, True),
        ((_ref("StatefulSet", "set", "set-uid", True), _ref("StatefulSet", "Random", "random", True)), R, False),
    ],
    ids=["pod", "pod, no controller", "stale pod", "pod and another", "set", "set, no controller", "stale set", "both"],
)
def test_owners_set_by_another_client(owners: tuple[OwnerReference, ...], scaled: str, expected: bool) -> None:
    assert is_claim_owner_up_to_date(_claim(owners), _set(scaled, D, replicas=1), _pod("pod-1")) is expected


@pytest.mark.parametrize("variation", range(4))
def test_with_an_unexpected_controller_neither_set_nor_pod_owns_the_claim(variation: int) -> None:
    set_, pod = _set(D, D, 5), _pod("pod-8")
    own = (controller_reference(pod), controller_reference(set_))
    owners = tuple(own[n] for n in range(2) if variation & (1 << n))
    unknown = _ref("Unknown", "unknown", "xyz", True, "custom/v1")
    assert claim_owners(_claim((*owners, unknown)), set_, pod) == (unknown,)


_ELSE = OwnerReference(api_version="someone", kind="Else", name="set", uid="456")


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        ((_ref("StatefulSet", "set", "set-uid", True), _ELSE), ["456", "set-uid"]),
        ((_ref("StatefulSet", "set", "set-uid"),), ["set-uid"]),
        ((_ELSE,), ["456", "set-uid"]),
        ((), ["set-uid"]),
        ((_ref("StatefulSet", "set", controller=True),), []),
        ((_ref("StatefulSet", "set"),), []),
    ],
    ids=["correct", "no controller", "another of that name", "none", "no uid", "neither uid nor controller"],
)
def test_references_to_the_set_are_rewritten(owners: tuple[OwnerReference, ...], expected: list[str]) -> None:
    made = claim_owners(_claim(owners), _set(D, D, 1), _pod("pod-0"))
    assert [owner.uid for owner in made] == expected
    assert all(owner.controller for owner in made if owner.uid == "set-uid")


_CUSTOM: dict[str, Any] = {"kind": "CustomController", "name": "simon", "uid": "other", "group": "chipmunks/v1"}


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        ((_ref(**_CUSTOM, controller=True),), True),
        ((_ref(**_CUSTOM, controller=False),), False),
        ((_ref(**_CUSTOM),), False),
        ((_ref("Pod", "simon", "other", True),), True),
        ((_ref("Set", "simon", "other", True, "apps/v1"),), True),
        ((_ref("StatefulSet", "set", "set-uid", True),), False),
        ((_ref("StatefulSet", "set", "stale", True),), True),
        ((_ref("Pod", "pod-0", "pod-uid", True),), False),
        ((_ref("Pod", "pod-0", "stale", True),), True),
        ((_ref("Pod", "pod-0", "pod-uid", True), _ref(**_CUSTOM, controller=True)), True),
        ((_ref("Pod", "pod-0", "pod-uid", True), _ref(**_CUSTOM, controller=False)), False),
    ],
)
def test_which_controllers_are_unexpected(owners: tuple[OwnerReference, ...], expected: bool) -> None:
    claim = _claim(owners)
    assert not has_unexpected_controller(claim, _set(R, R), _pod())
    for scaled, deleted in ((D, R), (R, D), (D, D)):
        assert has_unexpected_controller(claim, _set(scaled, deleted), _pod()) is expected


_EXISTS, _STALE, _OWNED = _claim(), _claim((_ref("Pod", "set-3", "stale"),)), _claim((_ref("Pod", "set-3", "pod-uid"),))


@pytest.mark.parametrize(
    ("claims", "uid", "expected"),
    [
        ([], "pod-uid", False),
        ([_EXISTS], "pod-uid", False),
        ([_OWNED, _OWNED], "pod-uid", False),
        ([_STALE, _EXISTS], "pod-uid", True),
        ([_STALE], "pod-uid", True),
        ([_OWNED, _STALE], "pod-uid", True),
        ([_OWNED], "", True),
    ],
    ids=["none", "exists", "owned", "stale and exists", "stale", "owned and stale", "owned by the pod before"],
)
def test_a_claim_being_deleted_with_an_earlier_pod_is_stale(claims: list[ApiObject], uid: str, expected: bool) -> None:
    pod = Pod(kind="Pod", metadata=ObjectMeta(name="set-3", uid=uid))
    assert has_stale_claim(_set(D, R), pod, claims) is expected
    assert not has_stale_claim(_set(R, D), pod, claims)
