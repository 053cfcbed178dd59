"""A namespace is deleted after its content: pods first, then the rest."""

from __future__ import annotations

from kubesim.cluster.controllers.namespaces import ensure_namespace
from kubesim.cluster.registry.deletion import DeleteOptions
from kubesim.cluster.registry.registry import Target, delete
from kubesim.cluster.store.kinds import resource_of
from tests.support.cluster.controlled import ControlledCluster, controlled


def fill(cluster: ControlledCluster) -> None:
    ensure_namespace(cluster.store, "t")
    cluster.create({"kind": "ConfigMap", "metadata": {"name": "c", "namespace": "t"}})


def end(cluster: ControlledCluster) -> None:
    delete(cluster.store, Target(resource_of("Namespace"), "", "t"), DeleteOptions())


def test_an_empty_namespace_is_deleted_after_five_seconds() -> None:
    async def story(cluster: ControlledCluster) -> None:
        fill(cluster)
        end(cluster)
        await cluster.wait(4.9)
        assert cluster.get("Namespace", "t").extra["status"]["phase"] == "Terminating"
        assert cluster.store.find("ConfigMap", "t", "c") is not None
        await cluster.wait(0.2)
        assert cluster.store.find("ConfigMap", "t", "c") is None
        assert cluster.store.find("Namespace", "", "t") is None

    controlled(story)


def test_the_deletion_waits_for_pods() -> None:
    async def story(cluster: ControlledCluster) -> None:
        fill(cluster)
        spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
        cluster.create({"kind": "Pod", "metadata": {"name": "p", "namespace": "t"}, "spec": spec})
        end(cluster)
        await cluster.wait(6)
        assert cluster.store.get("Pod", "t", "p").metadata.deletion_timestamp is not None
        assert cluster.store.find("ConfigMap", "t", "c") is not None, "nothing else is deleted before the pods"
        assert {c["reason"] for c in cluster.get("Namespace", "t").extra["status"]["conditions"]} == {
            "ResourcesDiscovered",
            "ParsedGroupVersions",
            "ContentDeleted",
            "ContentRemoved",
            "ContentHasNoFinalizers",
        }
        cluster.store.delete("Pod", "t", "p", grace_s=0)
        await cluster.wait(11)
        assert cluster.store.find("Namespace", "", "t") is None

    controlled(story)


def test_a_finalizer_blocks_the_namespace() -> None:
    async def story(cluster: ControlledCluster) -> None:
        fill(cluster)
        metadata = {"name": "held", "namespace": "t", "finalizers": ["example.com/f"]}
        cluster.create({"kind": "ConfigMap", "metadata": metadata})
        end(cluster)
        await cluster.wait(10)
        conditions = {c["type"]: c for c in cluster.get("Namespace", "t").extra["status"]["conditions"]}
        remaining = conditions["NamespaceContentRemaining"]
        assert remaining["message"] == "Some resources are remaining: configmaps. has 1 resource instances"
        held = conditions["NamespaceFinalizersRemaining"]["message"]
        assert held == "Some content in the namespace has finalizers remaining: example.com/f in 1 resource instances"
        stored = cluster.store.get("ConfigMap", "t", "held")
        cluster.store.write(stored, stored.changed(metadata=stored.metadata.changed(finalizers=())))
        await cluster.wait(10)
        assert cluster.store.find("Namespace", "", "t") is None

    controlled(story)
