"""Pod garbage collection: the cases of upstream's gc_controller_test.go, and the controller in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ObjectMeta
from kubesim.api.node import Node, NodeCondition, NodeSpec, NodeStatus, Taint
from kubesim.api.pod import Pod, PodSpec, PodStatus
from kubesim.cluster.controllers.nodes.pod_gc import (
    missing_nodes,
    terminating_out_of_service,
    too_many_terminated,
    unscheduled_terminating,
)
from tests.support.cluster.controlled import ControlledCluster, controlled

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
ENDS = "2000-01-01T00:00:00Z"


def pod(
    name: str, phase: str = "Running", node: str = "", *, ends: bool = False, reason: str = "", age: int = 0
) -> Pod:
    metadata = ObjectMeta(name=name, creation_timestamp=f"2000-01-01T00:00:{age:02}Z")
    return Pod(
        kind="Pod",
        metadata=metadata.changed(deletion_timestamp=ENDS) if ends else metadata,
        spec=PodSpec(node_name=node),
        status=PodStatus(phase=phase, reason=reason),
    )


def node(name: str, *, ready: bool, out_of_service: bool = False) -> Node:
    taints = (Taint(key=OUT_OF_SERVICE, effect="NoExecute"),) if out_of_service else ()
    conditions = (NodeCondition(type="Ready", status=str(ready)),)
    return Node(
        kind="Node",
        metadata=ObjectMeta(name=name),
        spec=NodeSpec(taints=taints),
        status=NodeStatus(conditions=conditions),
    )


FAILED, SUCCEEDED, RUNNING = "Failed", "Succeeded", "Running"


@pytest.mark.parametrize(
    ("pods", "threshold", "deleted"),
    [
        ([("a", FAILED), ("b", SUCCEEDED)], 0, []),
        ([("a", FAILED), ("b", SUCCEEDED), ("c", FAILED)], 1, ["a", "b"]),
        ([("a", RUNNING), ("b", SUCCEEDED), ("c", FAILED)], 1, ["b"]),
        ([("a", FAILED), ("b", SUCCEEDED)], 1, ["a"]),
        ([("a", FAILED), ("b", SUCCEEDED)], 5, []),
        ([("a", FAILED), ("b", SUCCEEDED), ("c", FAILED, "Evicted")], 1, ["c", "a"]),
        ([("a", RUNNING), ("b", SUCCEEDED), ("c", FAILED, "Evicted")], 1, ["c"]),
    ],
)
def test_terminated_pods_beyond_the_threshold(pods: list[tuple[str, ...]], threshold: int, deleted: list[str]) -> None:
    made = [pod(item[0], item[1], reason=item[2] if len(item) > 2 else "", age=n) for n, item in enumerate(pods)]
    assert [item.pod.metadata.name for item in too_many_terminated(made, threshold)] == deleted


@pytest.mark.parametrize("phase", ["Pending", "Running", "Unknown", "Failed", "Succeeded"])
def test_terminating_pods_without_a_node(phase: str) -> None:
    pods = [pod("a", phase), pod("b", phase, ends=True), pod("c", phase, "n", ends=True)]
    assert [item.pod.metadata.name for item in unscheduled_terminating(pods)] == ["b"]


@pytest.mark.parametrize(
    ("ready", "out_of_service", "deleted"),
    [(True, False, []), (False, False, []), (True, True, []), (False, True, ["b"])],
)
def test_terminating_pods_on_an_out_of_service_node(ready: bool, out_of_service: bool, deleted: list[str]) -> None:
    pods = [pod("a", node="w"), pod("b", node="w", ends=True), pod("c", node="other", ends=True)]
    nodes = {"w": node("w", ready=ready, out_of_service=out_of_service)}
    assert [item.pod.metadata.name for item in terminating_out_of_service(pods, nodes)] == deleted


def test_missing_nodes() -> None:
    pods = [pod("a", node="gone"), pod("b", node="here"), pod("c"), pod("d", node="gone")]
    assert missing_nodes(pods, {"here": node("here", ready=True)}) == ["gone"]


def run_pod(cluster: ControlledCluster, name: str, on: str, **metadata: Any) -> Pod:
    spec = {"nodeName": on, "containers": [{"name": "c", "image": "i"}]}
    made = cluster.create({"kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec})
    assert isinstance(made, Pod)
    return cluster.set_phase(made, "Running", ready=True) if on else made


@pytest.mark.parametrize("seed", range(3))
def test_pods_of_a_deleted_node(seed: int) -> None:
    async def story(cluster: ControlledCluster) -> None:
        for name in ("n1", "n2"):
            cluster.create({"kind": "Node", "metadata": {"name": name}})
            run_pod(cluster, f"on-{name}", name)
        await cluster.wait(10)
        seen = []
        cluster.store.watch("Pod", lambda change: seen.append((change.type, change.object)))
        cluster.delete("Node", "n1")
        await cluster.wait(39.9)
        assert [item.metadata.name for item in cluster.pods()] == ["on-n1", "on-n2"], "the node may come back"
        await cluster.wait(20.2)
        assert [item.metadata.name for item in cluster.pods()] == ["on-n2"]
        failed = seen[0][1]
        assert isinstance(failed, Pod)
        assert failed.status.phase == "Failed"
        (condition,) = (c for c in failed.status.conditions if c.type == "DisruptionTarget")
        assert (condition.reason, condition.message) == ("DeletionByPodGC", "PodGC: node no longer exists")
        assert [kind for kind, _ in seen] == ["MODIFIED", "MODIFIED", "DELETED"]

    controlled(story, seed)


def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create({"kind": "Node", "metadata": {"name": "n1"}})
        run_pod(cluster, "p", "n1")
        cluster.delete("Node", "n1")
        await cluster.wait(25)
        cluster.create({"kind": "Node", "metadata": {"name": "n1"}})
        await cluster.wait(120)
        assert len(cluster.pods()) == 1

    controlled(story)


def test_a_pod_for_a_node_that_never_existed() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create({"kind": "Node", "metadata": {"name": "n1"}})
        run_pod(cluster, "p", "ghost")
        await cluster.wait(61)
        assert not cluster.pods()

    controlled(story)


def test_a_cluster_without_nodes_keeps_its_pods() -> None:
    async def story(cluster: ControlledCluster) -> None:
        run_pod(cluster, "p", "ghost")
        await cluster.wait(300)
        assert len(cluster.pods()) == 1

    controlled(story)


def test_a_pod_with_a_finalizer_and_no_node_becomes_failed() -> None:
    async def story(cluster: ControlledCluster) -> None:
        run_pod(cluster, "p", "", finalizers=["example.com/f"])
        cluster.delete("Pod", "p")
        assert cluster.get("Pod", "p").status.phase == "Pending"
        await cluster.wait(21)
        assert cluster.get("Pod", "p").status.phase == "Failed"

    controlled(story)
