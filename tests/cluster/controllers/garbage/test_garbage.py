"""Owners and dependents: which objects are deleted with an owner."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ApiObject, ObjectMeta, OwnerReference
from kubesim.cluster.controllers.garbage.decisions import GarbageAction, References, decide
from kubesim.cluster.registry.deletion import DeleteOptions
from tests.support.cluster.controlled import ControlledCluster, controlled

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"


def reference(owner: ApiObject, **changes: Any) -> dict[str, Any]:
    body = {"apiVersion": "v1", "kind": owner.kind, "name": owner.metadata.name, "uid": owner.metadata.uid}
    return {**body, "blockOwnerDeletion": True, **changes}


def config_map(cluster: ControlledCluster, name: str, *owners: dict[str, Any], **metadata: Any) -> ApiObject:
    return cluster.create({"kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": [*owners], **metadata}})


def names(cluster: ControlledCluster, kind: str = "ConfigMap") -> list[str]:
    return [obj.metadata.name for obj in cluster.all(kind) if obj.metadata.name != "kube-root-ca.crt"]


def pod(cluster: ControlledCluster, name: str, *owners: dict[str, Any]) -> ApiObject:
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    return cluster.create({"kind": "Pod", "metadata": {"name": name, "ownerReferences": [*owners]}, "spec": spec})


def test_background_deletes_the_owner_immediately_and_then_its_dependents() -> None:
    async def story(cluster: ControlledCluster) -> None:
        owner = config_map(cluster, "owner")
        child = config_map(cluster, "child", reference(owner))
        config_map(cluster, "grandchild", reference(child))
        await cluster.wait(0.1)
        assert names(cluster) == ["child", "grandchild", "owner"]
        cluster.delete("ConfigMap", "owner")
        assert names(cluster) == ["child", "grandchild"]
        await cluster.wait(0.1)
        assert names(cluster) == []
        assert not cluster.events()

    controlled(story)


def test_foreground_deletes_the_dependents_first() -> None:
    async def story(cluster: ControlledCluster) -> None:
        owner = config_map(cluster, "owner")
        pod(cluster, "blocking", reference(owner))
        pod(cluster, "other", reference(owner, blockOwnerDeletion=False))
        cluster.delete("ConfigMap", "owner", DeleteOptions(propagation_policy="Foreground"))
        await cluster.wait(0.1)
        assert cluster.get("ConfigMap", "owner").metadata.finalizers == (FOREGROUND,)
        assert all(item.metadata.deletion_timestamp for item in cluster.pods())
        cluster.delete("Pod", "blocking", DeleteOptions(grace_s=0))
        await cluster.wait(0.1)
        assert names(cluster) == [], "the other one does not block"
        assert names(cluster, "Pod") == ["other"]

    controlled(story)


def test_foreground_deletion_is_recursive() -> None:
    async def story(cluster: ControlledCluster) -> None:
        owner = config_map(cluster, "owner")
        child = config_map(cluster, "child", reference(owner))
        pod(cluster, "leaf", reference(child))
        await cluster.wait(0.1)
        cluster.delete("ConfigMap", "owner", DeleteOptions(propagation_policy="Foreground"))
        await cluster.wait(0.1)
        assert cluster.get("ConfigMap", "child").metadata.finalizers == (FOREGROUND,)
        cluster.remove_ending()
        await cluster.wait(0.1)
        assert names(cluster) == []

    controlled(story)


def test_orphan_releases_the_dependents_first() -> None:
    async def story(cluster: ControlledCluster) -> None:
        owner = config_map(cluster, "owner")
        config_map(cluster, "child", reference(owner))
        cluster.delete("ConfigMap", "owner", DeleteOptions(propagation_policy="Orphan"))
        assert cluster.get("ConfigMap", "owner").metadata.finalizers == (ORPHAN,)
        await cluster.wait(0.1)
        assert names(cluster) == ["child"]
        assert cluster.get("ConfigMap", "child").metadata.owner_references == ()

    controlled(story)


def test_an_owner_that_never_existed() -> None:
    async def story(cluster: ControlledCluster) -> None:
        owner = config_map(cluster, "owner")
        config_map(cluster, "missing", reference(owner, name="nobody"))
        config_map(cluster, "another", reference(owner, uid="not-that-one"))
        config_map(cluster, "kind", reference(owner, kind="Secret"))
        config_map(cluster, "fine", reference(owner))
        await cluster.wait(0.1)
        assert names(cluster) == ["fine", "owner"]

    controlled(story)


def test_one_owner_that_exists_is_enough() -> None:
    async def story(cluster: ControlledCluster) -> None:
        first, second = config_map(cluster, "first"), config_map(cluster, "second")
        config_map(cluster, "child", reference(first), reference(second))
        cluster.delete("ConfigMap", "first")
        await cluster.wait(0.1)
        (left,) = cluster.get("ConfigMap", "child").metadata.owner_references
        assert left.name == "second", "the reference to the one that is gone goes"
        cluster.delete("ConfigMap", "second")
        await cluster.wait(0.1)
        assert names(cluster) == []

    controlled(story)


def test_an_owner_in_another_namespace_is_ignored() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create({"kind": "Namespace", "metadata": {"name": "other"}})
        owner = cluster.create({"kind": "ConfigMap", "metadata": {"name": "owner", "namespace": "other"}})
        config_map(cluster, "child", reference(owner))
        await cluster.wait(0.1)
        assert "child" not in names(cluster)
        (event,) = cluster.events("OwnerRefInvalidNamespace")
        uid = owner.metadata.uid
        shown = f"[v1/ConfigMap, namespace: default, name: owner, uid: {uid}]"
        assert event.message == f'ownerRef {shown} does not exist in namespace "default"'

    controlled(story)


def test_a_cluster_scoped_object_cannot_have_a_namespaced_owner() -> None:
    async def story(cluster: ControlledCluster) -> None:
        owner = config_map(cluster, "owner")
        metadata = {"name": "odd", "ownerReferences": [reference(owner)]}
        cluster.create({"kind": "PriorityClass", "metadata": metadata, "value": 1})
        await cluster.wait(0.1)
        assert names(cluster, "PriorityClass") == ["odd"]

    controlled(story)


def test_a_cluster_scoped_owner() -> None:
    async def story(cluster: ControlledCluster) -> None:
        node = cluster.create({"kind": "Node", "metadata": {"name": "n"}})
        config_map(cluster, "child", reference(node))
        await cluster.wait(0.1)
        assert names(cluster) == ["child"]
        cluster.delete("Node", "n")
        await cluster.wait(0.1)
        assert names(cluster) == []

    controlled(story)


def test_a_pod_without_dependents_is_deleted_in_the_foreground() -> None:
    async def story(cluster: ControlledCluster) -> None:
        pod(cluster, "p")
        cluster.delete("Pod", "p", DeleteOptions(propagation_policy="Foreground"))
        await cluster.wait(0.1)
        assert cluster.get("Pod", "p").metadata.finalizers == ()
        cluster.remove_ending()
        assert names(cluster, "Pod") == []

    controlled(story)


def test_owner_and_dependent_that_wait_for_each_other() -> None:
    async def story(cluster: ControlledCluster) -> None:
        first = config_map(cluster, "first")
        second = config_map(cluster, "second", reference(first))
        await cluster.wait(0.1)
        cluster.patch("ConfigMap", "first", {"metadata": {"ownerReferences": [reference(second)]}})
        await cluster.wait(0.1)
        cluster.delete("ConfigMap", "first", DeleteOptions(propagation_policy="Foreground"))
        await cluster.wait(0.5)
        assert names(cluster) == []

    controlled(story)


def obj(*finalizers: str, owned: bool = True, ends: bool = False) -> ApiObject:
    owners = (OwnerReference(uid="o", block_owner_deletion=True),) if owned else ()
    metadata = ObjectMeta(uid="x", finalizers=finalizers, owner_references=owners)
    return ApiObject(metadata=metadata.changed(deletion_timestamp="2000-01-01T00:00:00Z") if ends else metadata)


REFERENCE = (OwnerReference(uid="o"),)
DEPENDENT = ApiObject(
    metadata=ObjectMeta(uid="d", owner_references=(OwnerReference(uid="x", block_owner_deletion=True),))
)


@pytest.mark.parametrize(
    ("item", "references", "dependents", "action"),
    [
        (obj(owned=False), References(), (), GarbageAction()),
        (obj(ends=True), References(dangling=REFERENCE), (), GarbageAction()),
        (obj(), References(solid=REFERENCE), (), GarbageAction()),
        (obj(), References(solid=REFERENCE, dangling=REFERENCE), (), GarbageAction(release=("o",))),
        (obj(), References(solid=REFERENCE, waiting=REFERENCE), (), GarbageAction(release=("o",))),
        (obj(), References(dangling=REFERENCE), (), GarbageAction(delete="Background")),
        (obj(), References(waiting=REFERENCE), (), GarbageAction(delete="Background")),
        (obj(), References(waiting=REFERENCE), (DEPENDENT,), GarbageAction(delete="Foreground")),
        (obj(ORPHAN), References(dangling=REFERENCE), (), GarbageAction(delete="Orphan")),
        (obj(FOREGROUND), References(dangling=REFERENCE), (), GarbageAction(delete="Foreground")),
        (obj(FOREGROUND, ends=True), References(), (), GarbageAction(finished=True)),
        (obj(FOREGROUND, ends=True), References(), (DEPENDENT,), GarbageAction(visit=(DEPENDENT,))),
    ],
)
def test_decisions(
    item: ApiObject, references: References, dependents: tuple[ApiObject, ...], action: GarbageAction
) -> None:
    assert decide(item, references, dependents) == action
