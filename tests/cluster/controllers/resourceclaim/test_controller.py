"""Cases from upstream's pkg/controller/resourceclaim/controller_test.go TestSyncHandler: 23 of its 44 rows.

Omitted: 18 rows about PodGroups (DRAWorkloadResourceClaims, alpha), two about admin access (its gate is locked), and
`create-conflict`, for which upstream makes its fake server fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.workloads.resource_claims import FINALIZER, POD_CLAIM_NAME
from kubesim.cluster.controllers.resourceclaim.decisions import generate_name
from tests.support.cluster.controlled import ControlledCluster, controlled

Json = dict[str, Any]
TEMPLATE: Json = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "my-template"},
    "spec": {
        "metadata": {"labels": {"app": "x"}, "annotations": {"note": "y"}},
        "spec": {"devices": {"requests": [{"name": "req-0", "exactly": {"deviceClassName": "gpu"}}]}},
    },
}
ALLOCATION = {"devices": {"results": [{"request": "req-0", "driver": "d", "pool": "p", "device": "x"}]}}
MISSING = 'resource claim template "my-template": resourceclaimtemplate.resource.k8s.io "my-template" not found'


def pod(name: str = "test-pod", node: str = "", *, templated: bool = True, **status: Any) -> Json:
    source = {"resourceClaimTemplateName": "my-template"} if templated else {"resourceClaimName": "test-claim"}
    spec: Json = {
        "containers": [{"name": "main", "image": "x"}],
        "resourceClaims": [{"name": "acme-resource", **source}],
    }
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def claim(name: str = "test-claim", owner: ApiObject | None = None, **metadata: Any) -> Json:
    meta: Json = {"name": name, **metadata}
    if owner is not None:
        meta["ownerReferences"] = [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": owner.metadata.name,
                "uid": owner.metadata.uid,
                "controller": True,
            }
        ]
        meta["annotations"] = {POD_CLAIM_NAME: "acme-resource"}
    spec = {"devices": {"requests": [{"name": "req-0", "exactly": {"deviceClassName": "gpu"}}]}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": meta, "spec": spec}


def reserved(claim: ApiObject, *pods: ApiObject, allocated: bool = True) -> ApiObject:
    reservations = [{"resource": "pods", "name": each.metadata.name, "uid": each.metadata.uid} for each in pods]
    status: Json = {"reservedFor": reservations} if reservations else {}
    if allocated:
        status["allocation"] = ALLOCATION
    return claim.with_extra({**claim.extra, "status": status})


def consumers(cluster: ControlledCluster, name: str = "test-claim") -> list[str]:
    return [
        each["name"] for each in (cluster.get("ResourceClaim", name).extra.get("status") or {}).get("reservedFor", [])
    ]


def is_allocated(cluster: ControlledCluster, name: str = "test-claim") -> bool:
    return "allocation" in (cluster.get("ResourceClaim", name).extra.get("status") or {})


def statuses(cluster: ControlledCluster, name: str = "test-pod") -> Sequence[Json]:
    found = cluster.get("Pod", name)
    assert isinstance(found, Pod)
    return found.status.resource_claim_statuses


# -- claims from templates ------------------------------------------------------------------------------------------


def test_create() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(TEMPLATE)
        made = cluster.create(pod())
        await cluster.wait(0.1)
        (found,) = cluster.all("ResourceClaim")
        assert found.metadata.name.startswith("test-pod-acme-resource-")
        assert found.metadata.labels == {"app": "x"}
        assert found.metadata.annotations == {"note": "y", POD_CLAIM_NAME: "acme-resource"}
        (owner,) = found.metadata.owner_references
        assert (owner.kind, owner.uid, owner.controller, owner.block_owner_deletion) == (
            "Pod",
            made.metadata.uid,
            True,
            None,
        )
        exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
        assert found.extra["spec"]["devices"]["requests"] == [{"name": "req-0", "exactly": exactly}]
        assert list(statuses(cluster)) == [{"name": "acme-resource", "resourceClaimName": found.metadata.name}]

    controlled(story)


def test_nop() -> None:
    """The pod's status already names its claim."""

    async def story(cluster: ControlledCluster) -> None:
        cluster.create(TEMPLATE)
        made = cluster.create(pod())
        cluster.create(claim("generated", made))
        assert isinstance(made, Pod)
        named = ({"name": "acme-resource", "resourceClaimName": "generated"},)
        cluster.store.write(made, made.changed(status=made.status.changed(resource_claim_statuses=named)))
        await cluster.wait(1)
        assert [each.metadata.name for each in cluster.all("ResourceClaim")] == ["generated"]

    controlled(story)


def test_recreate() -> None:
    """The status names a claim that does not exist, and that this controller did not create."""

    async def story(cluster: ControlledCluster) -> None:
        cluster.create(TEMPLATE)
        made = cluster.create(pod())
        assert isinstance(made, Pod)
        named = ({"name": "acme-resource", "resourceClaimName": "deleted"},)
        cluster.store.write(made, made.changed(status=made.status.changed(resource_claim_statuses=named)))
        await cluster.wait(1)
        (found,) = cluster.all("ResourceClaim")
        assert statuses(cluster)[0]["resourceClaimName"] == found.metadata.name

    controlled(story)


@pytest.mark.parametrize(
    "foreign",
    [pytest.param(False, id="missing-template"), pytest.param(True, id="wrong-claim-owner")],
)
def test_missing_template(foreign: bool) -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(pod())
        if foreign:
            cluster.create(claim("test-pod-acme-resource"))
        await cluster.wait(1)
        event = cluster.events("FailedResourceClaimCreation")[0]
        assert (event.type, event.message) == ("Warning", f"PodResourceClaim acme-resource: {MISSING}")
        assert len(cluster.all("ResourceClaim")) == int(foreign)
        cluster.create(TEMPLATE)  # the controller gets the watch event
        await cluster.wait(1)
        assert len(statuses(cluster)) == 1

    controlled(story)


def test_find_existing_claim_by_label() -> None:
    """A claim with the pod as owner and the annotation is the pod's claim, whatever its name."""

    async def story(cluster: ControlledCluster) -> None:
        made = cluster.create(pod())
        cluster.create(claim("by-annotation", made))
        await cluster.wait(1)
        assert list(statuses(cluster)) == [{"name": "acme-resource", "resourceClaimName": "by-annotation"}]

    controlled(story)


def test_find_created_claim_in_cache() -> None:
    """A claim that the controller created within the last hour is not recreated, even if another client deletes it."""

    async def story(cluster: ControlledCluster) -> None:
        cluster.create(TEMPLATE)
        cluster.create(pod())
        await cluster.wait(1)
        (found,) = cluster.all("ResourceClaim")
        cluster.delete("ResourceClaim", found.metadata.name)
        await cluster.wait(1)
        assert cluster.all("ResourceClaim") == []
        assert statuses(cluster)[0]["resourceClaimName"] == found.metadata.name
        await cluster.wait(3600)
        cluster.patch("ResourceClaimTemplate", "my-template", {"metadata": {"labels": {"touched": "yes"}}})
        await cluster.wait(1)
        assert len(cluster.all("ResourceClaim")) == 1

    controlled(story)


def test_pods_that_need_nothing() -> None:
    """pod-deleted, no-volumes, and a pod whose claim the user creates."""

    async def story(cluster: ControlledCluster) -> None:
        cluster.create({**pod("ending"), "metadata": {"name": "ending", "finalizers": ["example.com/keep"]}})
        cluster.delete("Pod", "ending")
        cluster.create({**pod("plain"), "spec": {"containers": [{"name": "main", "image": "x"}]}})
        cluster.create(pod("by-name", templated=False))
        cluster.create(TEMPLATE)
        await cluster.wait(1)
        assert cluster.all("ResourceClaim") == []
        assert cluster.events("FailedResourceClaimCreation") == []

    controlled(story)


def test_create_with_other_claim() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
        cluster.create(claim("test-pod-acme-resource", namespace="other"))
        cluster.create(TEMPLATE)
        cluster.create(pod())
        await cluster.wait(1)
        assert len(cluster.all("ResourceClaim")) == 2
        assert len(statuses(cluster)) == 1

    controlled(story)


@pytest.mark.parametrize(
    ("pod_name", "claim_name", "wanted"),
    [
        ("web", "gpu", "web-gpu-"),
        ("p" * 30, "c" * 25, "p" * 30 + "-" + "c" * 25 + "-"),
        ("p" * 100, "c" * 50, f"{'p' * 37}-{'c' * 18}"),
    ],
)
def test_long_names_are_shortened_proportionally(pod_name: str, claim_name: str, wanted: str) -> None:
    assert generate_name(pod_name, claim_name) == wanted


# -- reservations ---------------------------------------------------------------------------------------------------


def reservation_story(
    *,
    pods: Sequence[tuple[str, str]] = (("test-pod", "Pending"),),
    reserved_for: Sequence[str] = ("test-pod",),
    protected: bool = False,
    deleted: bool = False,
    owned: bool = False,
    other_kind: bool = False,
) -> tuple[list[str], bool, bool] | None:
    """The pods that reserve the claim in the end, and whether it is allocated and protected; None if it was deleted."""

    async def story(cluster: ControlledCluster) -> tuple[list[str], bool, bool] | None:
        made: dict[str, ApiObject] = {}
        for name, phase in pods:
            found = cluster.create(pod(name, "node-1", templated=False))
            assert isinstance(found, Pod)
            made[name] = cluster.set_phase(found, phase) if phase != "Pending" else found
        gone = cluster.create(pod("gone", "node-1", templated=False))
        cluster.store.delete("Pod", "default", "gone", grace_s=0)
        finalizers = [FINALIZER] if protected else ["example.com/keep"] if deleted else []
        created = cluster.create(claim(owner=made["test-pod"] if owned else None, finalizers=finalizers))
        written = reserved(created, *(made.get(name, gone) for name in reserved_for))
        if other_kind:
            foreign = {"apiGroup": "foo.com", "resource": "foo", "name": "foo", "uid": "123"}
            status = written.extra["status"]
            status["reservedFor"] = [*status.get("reservedFor", ()), foreign]
        cluster.store.write(created, written)
        if deleted:
            cluster.delete("ResourceClaim", "test-claim")
        await cluster.wait(2)
        left = cluster.store.find("ResourceClaim", "default", "test-claim")
        if left is None:
            return None
        return consumers(cluster), is_allocated(cluster), FINALIZER in left.metadata.finalizers

    return controlled(story)


def test_stay_reserved() -> None:
    """stay-reserved-seen, stay-reserved-not-seen (the store is never stale)."""
    assert reservation_story() == (["test-pod"], True, False)


def test_clear_reserved_structured() -> None:
    assert reservation_story(pods=(), reserved_for=["gone"], protected=True) == ([], False, False)


def test_dont_clear_reserved_podgroup_feature_disabled() -> None:
    """A consumer other than a pod keeps its reservation."""
    assert reservation_story(pods=(), reserved_for=(), protected=True, other_kind=True) == (["foo"], True, True)


def test_dont_clear_reserved_structured() -> None:
    assert reservation_story(reserved_for=["test-pod", "gone"], protected=True) == (["test-pod"], True, True)


def test_clear_reserved_structured_deleted() -> None:
    """No finalizer is left: the claim is deleted."""
    assert reservation_story(pods=(), reserved_for=["gone"], protected=True, deleted=True) is None


def test_structured_deleted() -> None:
    assert reservation_story(pods=(), reserved_for=(), protected=True, deleted=True) is None


def test_clear_reserved_when_done() -> None:
    """An allocation without the scheduler's finalizer belongs to another component."""
    assert reservation_story(pods=[("test-pod", "Succeeded")]) == ([], True, False)


def test_remove_reserved() -> None:
    assert reservation_story(reserved_for=["gone", "test-pod"]) == (["test-pod"], True, False)


def test_delete_claim_when_done() -> None:
    assert reservation_story(pods=[("test-pod", "Succeeded")], owned=True, protected=True) is None


def test_clean_up_pod_reservation_with_non_pod_reservation_present() -> None:
    found = reservation_story(pods=[("test-pod", "Succeeded")], other_kind=True)
    assert found == (["foo"], True, False)


@pytest.mark.parametrize("node", ["node-1", ""])
def test_add_reserved(node: str) -> None:
    """The controller reserves for a pod with a node; the scheduler does it for all others."""

    async def story(cluster: ControlledCluster) -> None:
        cluster.create(pod(node=node, templated=False))
        created = cluster.create(claim())
        cluster.store.write(created, reserved(created))
        await cluster.wait(1)
        assert consumers(cluster) == (["test-pod"] if node else [])

    controlled(story)


def test_a_claim_is_released_when_its_unscheduled_pod_is_deleted() -> None:
    async def story(cluster: ControlledCluster) -> None:
        made = cluster.create(
            {**pod(templated=False), "metadata": {"name": "test-pod", "finalizers": ["example.com/keep"]}}
        )
        created = cluster.create(claim(finalizers=[FINALIZER]))
        cluster.store.write(created, reserved(created, made))
        await cluster.wait(1)
        assert consumers(cluster) == ["test-pod"]
        cluster.delete("Pod", "test-pod")
        await cluster.wait(1)
        assert (consumers(cluster), is_allocated(cluster)) == ([], False)

    controlled(story)
