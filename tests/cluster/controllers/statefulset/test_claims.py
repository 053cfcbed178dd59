"""Claims of a StatefulSet: creation from templates, retention, deletion.

Mirrors: pkg/controller/statefulset/stateful_pod_control_test.go; stateful_set_test.go TestStaleOwnerRefOnScaleup
"""

from __future__ import annotations

import pytest

from kubesim.cluster.store.watches import WatchEvent
from tests.support.cluster.controlled import ControlledCluster, controlled
from tests.support.workloads.sets import CLAIM_TEMPLATE, by_ordinal, get_set, messages, settle, stateful_set

CLAIM = "PersistentVolumeClaim"


def _owners(cluster: ControlledCluster) -> dict[str, list[str]]:
    return {
        claim.metadata.name: [each.name for each in claim.metadata.owner_references] for claim in cluster.all(CLAIM)
    }


def test_a_claim_is_created_before_its_pod_and_stays_on_scale_down() -> None:
    async def story(cluster: ControlledCluster) -> None:
        created: list[str] = []

        def note(change: WatchEvent) -> None:
            if change.type == "ADDED":
                created.append(change.object.metadata.name)

        for kind in (CLAIM, "Pod"):
            cluster.store.watch(kind, note)
        cluster.create(stateful_set(2, volumeClaimTemplates=[CLAIM_TEMPLATE]))
        await settle(cluster)
        assert created == ["data-db-0", "db-0", "data-db-1", "db-1"]
        assert messages(cluster)[:2] == [
            "Create Claim data-db-0 Pod db-0 in StatefulSet db success",
            "Create Pod db-0 in StatefulSet db successful",
        ]
        cluster.patch("StatefulSet", "db", {"spec": {"replicas": 0}})
        await settle(cluster)
        assert _owners(cluster) == {"data-db-0": [], "data-db-1": []}
        cluster.patch("StatefulSet", "db", {"spec": {"replicas": 2}})
        await settle(cluster)
        assert created[4:] == ["db-0", "db-1"]

    controlled(story, only="StatefulSet")


@pytest.mark.parametrize(
    ("deleted", "scaled", "before", "after"),
    [
        ("Retain", "Retain", [], []),
        ("Delete", "Retain", ["db"], ["db"]),
        ("Retain", "Delete", [], ["db-1"]),
        ("Delete", "Delete", ["db"], ["db-1"]),
    ],
)
def test_the_retention_policy_decides_who_owns_a_claim(
    deleted: str, scaled: str, before: list[str], after: list[str]
) -> None:
    async def story(cluster: ControlledCluster) -> None:
        policy = {"whenDeleted": deleted, "whenScaled": scaled}
        template = [CLAIM_TEMPLATE]
        cluster.create(stateful_set(2, volumeClaimTemplates=template, persistentVolumeClaimRetentionPolicy=policy))
        await settle(cluster)
        assert _owners(cluster)["data-db-1"] == before
        cluster.patch("StatefulSet", "db", {"spec": {"replicas": 1}})
        await cluster.wait(1)
        assert _owners(cluster)["data-db-1"] == after
        assert _owners(cluster)["data-db-0"] == before

    controlled(story, only="StatefulSet")


def test_a_changed_policy_updates_the_claims_of_running_pods() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(1, volumeClaimTemplates=[CLAIM_TEMPLATE]))
        await settle(cluster)
        policy = {"whenDeleted": "Delete", "whenScaled": "Retain"}
        cluster.patch("StatefulSet", "db", {"spec": {"persistentVolumeClaimRetentionPolicy": policy}})
        await cluster.wait(1)
        assert _owners(cluster) == {"data-db-0": ["db"]}

    controlled(story, only="StatefulSet")


def test_a_pod_waits_until_the_claim_of_its_predecessor_is_deleted() -> None:
    async def story(cluster: ControlledCluster) -> None:
        policy = {"whenDeleted": "Retain", "whenScaled": "Delete"}
        template = [CLAIM_TEMPLATE]
        cluster.create(stateful_set(1, volumeClaimTemplates=template, persistentVolumeClaimRetentionPolicy=policy))
        await settle(cluster)
        cluster.patch("StatefulSet", "db", {"spec": {"replicas": 0}})
        await settle(cluster, 2)
        cluster.patch("StatefulSet", "db", {"spec": {"replicas": 1}})
        await cluster.wait(5)
        assert by_ordinal(cluster) == {}
        cluster.store.remove(CLAIM, "default", "data-db-0")
        cluster.patch("StatefulSet", "db", {"metadata": {"labels": {"wake": "up"}}})
        await cluster.wait(1)
        assert list(by_ordinal(cluster)) == [0]

    controlled(story, only="StatefulSet")


def test_a_claim_that_is_being_deleted_fails_the_creation() -> None:
    async def story(cluster: ControlledCluster) -> None:
        claim = {**CLAIM_TEMPLATE, "apiVersion": "v1", "kind": CLAIM}
        cluster.create({**claim, "metadata": {"name": "data-db-0", "finalizers": ["kubernetes.io/pvc-protection"]}})
        cluster.delete(CLAIM, "data-db-0")
        cluster.create(stateful_set(1, volumeClaimTemplates=[CLAIM_TEMPLATE]))
        await cluster.wait(1)
        assert by_ordinal(cluster) == {}
        (event,) = cluster.events("FailedCreate")
        assert event.type == "Warning"
        assert event.message == "Create Pod db-0 in StatefulSet db failed error: pvc data-db-0 is being deleted"
        assert event.count > 1  # it is retried with growing delays
        assert get_set(cluster).status.observed_generation == 1

    controlled(story, only="StatefulSet")


def test_deleted_claims_of_a_pending_pod_are_recreated() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(1, volumeClaimTemplates=[CLAIM_TEMPLATE]))
        await cluster.wait(1)
        for claim in cluster.all(CLAIM):
            cluster.store.remove(CLAIM, "default", claim.metadata.name)
        cluster.patch("StatefulSet", "db", {"metadata": {"labels": {"wake": "up"}}})
        await cluster.wait(1)
        assert _owners(cluster) == {"data-db-0": []}

    controlled(story, only="StatefulSet")


def test_a_claim_owned_by_another_controller_is_unchanged() -> None:
    async def story(cluster: ControlledCluster) -> None:
        claim = {**CLAIM_TEMPLATE, "apiVersion": "v1", "kind": CLAIM}
        owner = {"apiVersion": "v1", "kind": "Node", "name": "other", "uid": "123", "controller": True}
        cluster.create({**claim, "metadata": {"name": "data-db-0", "ownerReferences": [owner]}})
        policy = {"whenDeleted": "Delete", "whenScaled": "Retain"}
        template = [CLAIM_TEMPLATE]
        cluster.create(stateful_set(1, volumeClaimTemplates=template, persistentVolumeClaimRetentionPolicy=policy))
        await settle(cluster)
        assert _owners(cluster) == {"data-db-0": ["other"]}
        (event,) = cluster.events("ConflictingController")
        assert event.message == (
            "PersistentVolumeClaim data-db-0 has a conflicting OwnerReference that acts as a manging controller, "
            "the retention policy is ignored for this claim"
        )

    controlled(story, only="StatefulSet")
