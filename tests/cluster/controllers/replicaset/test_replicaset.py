"""A ReplicaSet keeps the requested number of pods; a ReplicationController does the same."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.cluster.registry.deletion import DeleteOptions
from tests.support.cluster.controlled import ControlledCluster, controlled
from tests.support.cluster.workload_manifests import workload

BOTH = pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController"])


def live(cluster: ControlledCluster) -> list[Pod]:
    return [pod for pod in cluster.pods() if pod.metadata.deletion_timestamp is None]


def assign(cluster: ControlledCluster, node: str = "n") -> None:
    """Run every pod on a node, so that it terminates slowly."""
    for pod in cluster.pods():
        cluster.store.write(pod, pod.changed(spec=pod.spec.changed(node_name=node)))
    cluster.make_all_ready()


@BOTH
def test_pods_are_created_from_the_template_and_counted(kind: str) -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(workload(kind))
        await cluster.wait()
        cluster.make_all_ready()
        await cluster.wait()
        pods = cluster.pods()
        assert len(pods) == 3
        for pod in pods:
            [owner] = pod.metadata.owner_references
            assert (owner.kind, owner.name, owner.controller, owner.block_owner_deletion) == (kind, "web", True, True)
            assert pod.metadata.labels == {"app": "web"}
            assert pod.metadata.generate_name == "web-"
            assert pod.metadata.name.startswith("web-")
        status = cluster.get(kind, "web").status
        counts = (status.replicas, status.ready_replicas, status.available_replicas, status.fully_labeled_replicas)
        assert counts == (3, 3, 3, 3)
        created = cluster.events("SuccessfulCreate")
        assert {event.message for event in created} == {f"Created pod: {pod.metadata.name}" for pod in pods}
        component = {"ReplicaSet": "replicaset-controller", "ReplicationController": "replication-controller"}[kind]
        assert {event.source.component for event in created} == {component}

    controlled(story)


def test_the_status_counts_the_pods_at_the_start_of_the_sync() -> None:
    async def story(cluster: ControlledCluster) -> None:
        seen: list[dict[str, Any]] = []
        cluster.store.watch("ReplicaSet", lambda change: seen.append(change.object.to_json().get("status", {})))
        cluster.create(workload("ReplicaSet"))
        await cluster.wait()
        assert seen[1:] == [
            {"replicas": 0, "terminatingReplicas": 0, "observedGeneration": 1},
            {"replicas": 3, "fullyLabeledReplicas": 3, "terminatingReplicas": 0, "observedGeneration": 1},
        ]

    controlled(story)


@BOTH
def test_a_deleted_pod_is_replaced_before_it_has_terminated(kind: str) -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(workload(kind, replicas=2))
        await cluster.wait()
        assign(cluster)
        await cluster.wait()
        cluster.delete("Pod", cluster.pods()[0].metadata.name)
        await cluster.wait(0.1)
        assert (len(cluster.pods()), len(live(cluster))) == (3, 2)
        if kind == "ReplicaSet":
            assert cluster.get(kind, "web").status.terminating_replicas == 1
        cluster.remove_ending()
        await cluster.wait(0.1)
        assert len(cluster.pods()) == 2
        if kind == "ReplicaSet":
            assert cluster.get(kind, "web").status.terminating_replicas == 0

    controlled(story)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_finished_is_replaced_and_stays(phase: str) -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(workload("ReplicaSet", replicas=1))
        await cluster.wait()
        cluster.set_phase(cluster.pods()[0], phase)
        await cluster.wait()
        assert sorted(pod.status.phase for pod in cluster.pods()) == sorted([phase, "Pending"])
        assert cluster.get("ReplicaSet", "web").status.replicas == 1

    controlled(story)


def test_a_pod_whose_labels_no_longer_match_is_released_and_replaced() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(workload("ReplicaSet", replicas=1))
        await cluster.wait()
        name = cluster.pods()[0].metadata.name
        cluster.patch("Pod", name, {"metadata": {"labels": {"app": "other"}}})
        await cluster.wait()
        assert cluster.get("Pod", name).metadata.owner_references == ()
        assert len([pod for pod in cluster.pods() if pod.metadata.labels == {"app": "web"}]) == 1

    controlled(story)


def test_a_matching_orphan_pod_is_adopted() -> None:
    async def story(cluster: ControlledCluster) -> None:
        template = workload("ReplicaSet")["spec"]["template"]
        cluster.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare", **template["metadata"]}}
            | {"spec": template["spec"]}
        )
        cluster.create(workload("ReplicaSet", replicas=2))
        await cluster.wait()
        assert len(cluster.pods()) == 2
        assert cluster.get("Pod", "bare").metadata.owner_references[0].name == "web"
        assert len(cluster.events("SuccessfulCreate")) == 1

    controlled(story)


def test_a_matching_orphan_created_later_is_surplus() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(workload("ReplicaSet", replicas=1))
        await cluster.wait()
        assign(cluster)
        template = workload("ReplicaSet")["spec"]["template"]
        cluster.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare", **template["metadata"]}}
            | {"spec": template["spec"]}
        )
        await cluster.wait()
        assert cluster.store.find("Pod", "default", "bare") is None, "it has no node, so it goes first"
        assert [event.message for event in cluster.events("SuccessfulDelete")] == ["Deleted pod: bare"]

    controlled(story)


def test_the_pod_with_the_highest_deletion_cost_stays() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(workload("ReplicaSet"))
        await cluster.wait()
        assign(cluster)
        kept = cluster.pods()[1].metadata.name
        cost = {"controller.kubernetes.io/pod-deletion-cost": "100"}
        cluster.patch("Pod", kept, {"metadata": {"annotations": cost}})
        cluster.patch("ReplicaSet", "web", {"spec": {"replicas": 1}})
        await cluster.wait()
        assert [pod.metadata.name for pod in live(cluster)] == [kept]
        assert len(cluster.events("SuccessfulDelete")) == 2

    controlled(story)


def test_a_pod_is_available_after_being_ready_for_min_ready_seconds() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(workload("ReplicaSet", replicas=1, minReadySeconds=10))
        await cluster.wait(1.5)
        cluster.make_all_ready()  # the ready time counts from the whole second
        await cluster.wait(9.4)
        assert cluster.get("ReplicaSet", "web").status.available_replicas == 0
        await cluster.wait(0.2)
        assert cluster.get("ReplicaSet", "web").status.available_replicas == 1

    controlled(story)


def test_pods_that_cannot_be_created_are_a_condition_and_an_event() -> None:
    """A batch of one fails, and is retried after 5, 10, 20 ms, ..."""

    async def story(cluster: ControlledCluster) -> None:
        manifest = workload("ReplicaSet")
        manifest["spec"]["template"]["spec"]["priorityClassName"] = "missing"
        cluster.create(manifest)
        await cluster.wait(0.06)
        [condition] = cluster.get("ReplicaSet", "web").status.conditions
        assert (condition.type, condition.status, condition.reason) == ("ReplicaFailure", "True", "FailedCreate")
        assert "no PriorityClass with name missing was found" in condition.message
        events = cluster.events("FailedCreate")
        assert {event.type for event in events} == {"Warning"}
        assert all(event.message.startswith("Error creating: pods ") for event in events)
        priority_class = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 5}
        cluster.create({**priority_class, "metadata": {"name": "missing"}})
        await cluster.wait(1)
        assert cluster.get("ReplicaSet", "web").status.conditions == ()
        assert len(cluster.pods()) == 3

    controlled(story)


def test_a_sync_creates_at_most_500_pods() -> None:
    async def story(cluster: ControlledCluster) -> None:
        counts: list[int] = []
        cluster.store.watch("ReplicaSet", lambda _: counts.append(len(cluster.pods())))
        cluster.create(workload("ReplicaSet", replicas=501))
        await cluster.wait()
        assert counts == [0, 500, 501, 501], "created, then one status for each step"

    controlled(story)


def test_a_replica_set_being_deleted_creates_no_pods() -> None:
    async def story(cluster: ControlledCluster) -> None:
        manifest = workload("ReplicaSet", replicas=1)
        manifest["metadata"]["finalizers"] = ["example.com/wait"]
        cluster.create(manifest)
        await cluster.wait()
        cluster.delete("ReplicaSet", "web", DeleteOptions())
        cluster.delete("Pod", cluster.pods()[0].metadata.name)
        await cluster.wait()
        assert cluster.pods() == []
        assert cluster.get("ReplicaSet", "web").status.replicas == 0

    controlled(story)


@pytest.mark.parametrize("crowded_one", [0, 1])
def test_pods_of_all_replica_sets_of_a_deployment_count_as_doubled_up(crowded_one: int) -> None:
    """Two pods of the old ReplicaSet, one of them on a node with a pod of the new one: that one is deleted first."""

    async def story(cluster: ControlledCluster) -> None:
        strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        cluster.create(workload("Deployment", replicas=2, strategy=strategy))
        await cluster.wait()
        crowded = cluster.pods()[crowded_one]
        for pod in cluster.pods():
            node = "b" if pod.metadata.name == crowded.metadata.name else "a"
            cluster.store.write(pod, pod.changed(spec=pod.spec.changed(node_name=node)))
        cluster.make_all_ready()
        await cluster.wait()
        containers = [{"name": "main", "image": "app:2"}]
        cluster.patch("Deployment", "web", {"spec": {"template": {"spec": {"containers": containers}}}})
        await cluster.wait()
        [new] = [pod for pod in cluster.pods() if not pod.spec.node_name]
        cluster.store.write(new, new.changed(spec=new.spec.changed(node_name="b")))
        cluster.make_all_ready()
        await cluster.wait(0.1)
        ending = [pod.metadata.name for pod in cluster.pods() if pod.metadata.deletion_timestamp is not None]
        assert ending == [crowded.metadata.name]

    controlled(story)
