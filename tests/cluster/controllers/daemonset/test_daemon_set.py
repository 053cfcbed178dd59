"""A DaemonSet in a cluster: new and changed nodes, updates, terminated pods.

Mirrors: pkg/controller/daemon/daemon_controller_test.go; update_test.go
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster.registry.deletion import DeleteOptions
from tests.support.cluster.controlled import ControlledCluster, controlled
from tests.support.workloads.sets import (
    add_node,
    bind,
    daemon_set,
    get_daemon_set,
    image_patch,
    images_by_node,
    messages,
    rolling,
    settle,
    template,
)

STRATEGIES = pytest.mark.parametrize("strategy", [{"type": "OnDelete"}, rolling(maxUnavailable=1)], ids=str)


def _counts(cluster: ControlledCluster) -> tuple[int, ...]:
    """desired, current, misscheduled, ready, updated, available"""
    status = get_daemon_set(cluster).status
    return (
        status.desired_number_scheduled,
        status.current_number_scheduled,
        status.number_misscheduled,
        status.number_ready,
        status.updated_number_scheduled,
        status.number_available,
    )


def _taint(key: str, effect: str) -> dict[str, Any]:
    return {"spec": {"taints": [{"key": key, "effect": effect}]}}


@STRATEGIES
def test_each_node_gets_a_pod(strategy: dict[str, Any]) -> None:
    async def story(cluster: ControlledCluster) -> None:
        for name in "abc":
            add_node(cluster, name)
        cluster.create(daemon_set(updateStrategy=strategy))
        await cluster.wait(1)
        assert images_by_node(cluster) == {"a": ["one"], "b": ["one"], "c": ["one"]}
        assert _counts(cluster) == (3, 3, 0, 0, 3, 0)
        assert get_daemon_set(cluster).status.number_unavailable == 3
        bind(cluster)
        cluster.make_all_ready()
        add_node(cluster, "d")
        await cluster.wait(1)
        assert _counts(cluster) == (4, 4, 0, 3, 4, 3)
        names = [pod.metadata.name for pod in cluster.pods()]
        assert sorted(messages(cluster)) == sorted(f"Created pod: {name}" for name in names)
        (revision,) = cluster.all("ControllerRevision")
        labels = {pod.metadata.labels["controller-revision-hash"] for pod in cluster.pods()}
        assert labels == {revision.metadata.labels["controller-revision-hash"]}
        assert {pod.metadata.labels["pod-template-generation"] for pod in cluster.pods()} == {"1"}

    controlled(story)


def test_without_nodes_no_pod_is_created() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(daemon_set())
        await cluster.wait(1)
        assert cluster.pods() == []
        assert _counts(cluster) == (0,) * 6
        assert get_daemon_set(cluster).status.observed_generation == 1

    controlled(story)


def test_the_pod_of_a_new_node_waits_until_the_node_is_ready() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}})
        cluster.create(daemon_set())
        await cluster.wait(1)
        assert _counts(cluster)[:2] == (0, 0)
        cluster.patch("Node", "a", {"spec": {"taints": None}})
        await cluster.wait(1)
        assert _counts(cluster)[:2] == (1, 1)

    controlled(story)


def test_the_status_counts_the_last_created_pod_one_sync_later() -> None:
    async def story(cluster: ControlledCluster) -> None:
        for name in "ab":
            add_node(cluster, name)
        seen: list[int] = []
        cluster.store.watch(
            "DaemonSet",
            lambda change: seen.append(change.object.status.current_number_scheduled),  # type: ignore[attr-defined]
        )
        cluster.create(daemon_set())
        await cluster.wait(1)
        assert seen == [0, 1, 2]

    controlled(story)


def test_pods_follow_node_labels() -> None:
    async def story(cluster: ControlledCluster) -> None:
        add_node(cluster, "a", {"disk": "ssd"})
        add_node(cluster, "b")
        cluster.create(daemon_set(template=template(nodeSelector={"disk": "ssd"})))
        await settle(cluster, 2)
        assert images_by_node(cluster) == {"a": ["one"]}
        cluster.patch("Node", "b", {"metadata": {"labels": {"disk": "ssd"}}})
        cluster.patch("Node", "a", {"metadata": {"labels": {"disk": None}}})
        await cluster.wait(0.1)
        assert images_by_node(cluster) == {"b": ["one"]}
        (gone,) = messages(cluster, "SuccessfulDelete")
        assert gone.startswith("Deleted pod: agent-")
        await settle(cluster, 2)
        assert _counts(cluster) == (1, 1, 0, 1, 1, 1)

    controlled(story)


@pytest.mark.parametrize(
    ("effect", "counts", "pods"),
    [("NoSchedule", (0, 0, 1, 0, 0, 0), 1), ("NoExecute", (0, 0, 0, 0, 0, 0), 0)],
)
def test_a_taint_that_is_not_tolerated(effect: str, counts: tuple[int, ...], pods: int) -> None:
    async def story(cluster: ControlledCluster) -> None:
        add_node(cluster, "a")
        cluster.create(daemon_set())
        await settle(cluster, 2)
        cluster.patch("Node", "a", _taint("dedicated", effect))
        # A taint that affects no pods does not wake the controller; the next change does.
        cluster.patch("DaemonSet", "agent", {"metadata": {"labels": {"wake": "up"}}})
        await settle(cluster, 2)
        assert (_counts(cluster), len(cluster.pods())) == (counts, pods)
        cluster.patch("Node", "a", {"spec": {"taints": None}})
        await settle(cluster, 2)
        assert _counts(cluster) == (1, 1, 0, 1, 1, 1)

    controlled(story)


def test_a_cordoned_node_keeps_and_gets_daemon_pods() -> None:
    async def story(cluster: ControlledCluster) -> None:
        add_node(cluster, "a")
        unschedulable = {"unschedulable": True, **_taint("node.kubernetes.io/unschedulable", "NoSchedule")["spec"]}
        cluster.patch("Node", "a", {"spec": unschedulable})
        cluster.create(daemon_set())
        await settle(cluster, 2)
        assert _counts(cluster) == (1, 1, 0, 1, 1, 1)

    controlled(story)


def test_a_deleted_pod_is_replaced_after_it_has_terminated() -> None:
    async def story(cluster: ControlledCluster) -> None:
        add_node(cluster, "a")
        cluster.create(daemon_set())
        await settle(cluster, 2)
        (old,) = cluster.pods()
        cluster.delete("Pod", old.metadata.name, DeleteOptions(grace_s=30))
        await cluster.wait(5)
        assert len(cluster.pods()) == 1
        cluster.set_phase(cluster.pods()[0], "Succeeded", ready=False)
        await cluster.wait(0.1)
        assert len(cluster.pods()) == 2
        assert messages(cluster, "SucceededDaemonPod") == []

    controlled(story)


def test_failed_pods_are_deleted_with_back_off() -> None:
    async def story(cluster: ControlledCluster) -> None:
        add_node(cluster, "a")
        cluster.create(daemon_set())
        times = []
        for _ in range(4):
            await cluster.wait(0.1)
            bind(cluster)
            (pod,) = cluster.pods()
            cluster.set_phase(pod, "Failed", ready=False)
            begun = cluster.elapsed()
            while cluster.pods() and cluster.pods()[0].metadata.uid == pod.metadata.uid:
                await cluster.wait(0.05)
            times.append(round(cluster.elapsed() - begun))
        assert times == [0, 1, 2, 4]
        found = messages(cluster, "FailedDaemonPod")
        assert len(found) == 4
        assert all(
            text.startswith("Found failed daemon pod default/agent-")
            and text.endswith(" on node a, will try to kill it")
            for text in found
        )

    controlled(story)


def test_a_pod_that_succeeded_is_replaced() -> None:
    async def story(cluster: ControlledCluster) -> None:
        add_node(cluster, "a")
        cluster.create(daemon_set())
        await settle(cluster, 2)
        (old,) = cluster.pods()
        cluster.set_phase(old, "Succeeded", ready=False)
        await cluster.wait(1)
        (new,) = cluster.pods()
        assert new.metadata.uid != old.metadata.uid
        (event,) = cluster.events("SucceededDaemonPod")
        message = f"Found succeeded daemon pod default/{old.metadata.name} on node a, will try to delete it"
        assert (event.type, event.message) == ("Normal", message)

    controlled(story)


def test_a_pod_of_a_deleted_node_is_deleted() -> None:
    async def story(cluster: ControlledCluster) -> None:
        add_node(cluster, "a")
        cluster.create(daemon_set())
        await cluster.wait(1)
        cluster.store.remove("Node", "", "a")
        cluster.patch("DaemonSet", "agent", {"metadata": {"labels": {"wake": "up"}}})
        await cluster.wait(1)
        assert cluster.pods() == []

    controlled(story)


def test_a_set_being_deleted_creates_no_pods() -> None:
    async def story(cluster: ControlledCluster) -> None:
        add_node(cluster, "a")
        manifest = daemon_set()
        manifest["metadata"]["finalizers"] = ["example.com/wait"]
        cluster.create(manifest)
        cluster.delete("DaemonSet", "agent")
        await cluster.wait(1)
        assert cluster.pods() == []

    controlled(story)


# -- updates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2])
def test_a_rolling_update_replaces_a_few_at_a_time(limit: int) -> None:
    async def story(cluster: ControlledCluster) -> None:
        for name in "abcde":
            add_node(cluster, name)
        cluster.create(daemon_set(updateStrategy=rolling(maxUnavailable=limit)))
        await settle(cluster, 2)
        cluster.patch("DaemonSet", "agent", image_patch("two"))
        done = 0
        while done < 5:
            await cluster.wait(1)
            ending = [pod for pod in cluster.pods() if pod.metadata.deletion_timestamp is not None]
            assert len(ending) == min(limit, 5 - done)
            cluster.remove_ending()
            await cluster.wait(1)
            done += len(ending)
            now = [image for (image,) in images_by_node(cluster).values()]
            assert sorted(now) == ["one"] * (5 - done) + ["two"] * done
            bind(cluster)
            cluster.make_all_ready()
        await cluster.wait(1)
        assert _counts(cluster) == (5, 5, 0, 5, 5, 5)
        assert [each.revision for each in cluster.all("ControllerRevision")] == [1, 2]
        assert {pod.metadata.labels["pod-template-generation"] for pod in cluster.pods()} == {"2"}

    controlled(story)


def test_the_seed_decides_which_node_is_updated_first() -> None:
    async def story(cluster: ControlledCluster) -> str:
        for name in "abc":
            add_node(cluster, name)
        cluster.create(daemon_set())
        await settle(cluster, 2)
        cluster.patch("DaemonSet", "agent", image_patch("two"))
        await cluster.wait(1)
        (first,) = [pod.spec.node_name for pod in cluster.pods() if pod.metadata.deletion_timestamp is not None]
        return first

    assert {controlled(story, seed) for seed in range(10)} == {"a", "b", "c"}


def test_an_update_waits_for_a_new_pod_that_is_not_ready() -> None:
    async def story(cluster: ControlledCluster) -> None:
        for name in "abc":
            add_node(cluster, name)
        cluster.create(daemon_set())
        await settle(cluster, 2)
        cluster.patch("DaemonSet", "agent", image_patch("two"))
        await cluster.wait(1)
        cluster.remove_ending()
        await cluster.wait(60)
        assert _counts(cluster) == (3, 3, 0, 2, 1, 2)
        cluster.patch("DaemonSet", "agent", image_patch("three"))
        await cluster.wait(1)
        cluster.remove_ending()
        await cluster.wait(60)
        assert sorted(images_by_node(cluster).values()) == [["one"], ["one"], ["three"]]

    controlled(story)


def test_a_surge_keeps_a_pod_on_every_node() -> None:
    async def story(cluster: ControlledCluster) -> None:
        for name in "ab":
            add_node(cluster, name)
        surge = rolling(maxSurge=1, maxUnavailable=0)
        cluster.create(daemon_set(updateStrategy=surge, minReadySeconds=5))
        await settle(cluster, 2)
        await cluster.wait(10)
        cluster.patch("DaemonSet", "agent", image_patch("two"))
        await cluster.wait(1)
        assert sorted(images_by_node(cluster).values()) == [["one"], ["one", "two"]]
        bind(cluster)
        (new,) = [pod for pod in cluster.pods() if pod.spec.containers[0].image == "two"]
        cluster.set_phase(new, "Running", ready=True)
        await cluster.wait(3)
        assert sorted(images_by_node(cluster).values()) == [["one"], ["one", "two"]]
        await cluster.wait(3.5)
        assert sorted(images_by_node(cluster).values()) == [["one", "two"], ["two"]]

    controlled(story)


def test_on_delete_updates_no_pod() -> None:
    async def story(cluster: ControlledCluster) -> None:
        for name in "ab":
            add_node(cluster, name)
        cluster.create(daemon_set(updateStrategy={"type": "OnDelete"}))
        await settle(cluster, 2)
        cluster.patch("DaemonSet", "agent", image_patch("two"))
        await settle(cluster, 2)
        assert images_by_node(cluster) == {"a": ["one"], "b": ["one"]}
        (pod,) = [each for each in cluster.pods() if each.spec.node_name == "b"]
        cluster.delete("Pod", pod.metadata.name)
        await settle(cluster, 2)
        assert images_by_node(cluster) == {"a": ["one"], "b": ["two"]}
        assert _counts(cluster)[4] == 1

    controlled(story)


def test_old_revisions_are_deleted_and_a_reused_template_is_renumbered() -> None:
    async def story(cluster: ControlledCluster) -> None:
        add_node(cluster, "a")
        cluster.create(daemon_set(revisionHistoryLimit=1))
        await settle(cluster, 2)
        for image in ("two", "three", "two"):
            cluster.patch("DaemonSet", "agent", image_patch(image))
            await settle(cluster, 3)
        assert sorted(each.revision for each in cluster.all("ControllerRevision")) == [3, 4]
        assert images_by_node(cluster) == {"a": ["two"]}

    controlled(story)


def test_the_newest_of_equal_revisions_is_kept_and_pods_are_relabelled() -> None:
    async def story(cluster: ControlledCluster) -> None:
        add_node(cluster, "a")
        cluster.create(daemon_set())
        await settle(cluster, 2)
        (revision,) = cluster.all("ControllerRevision")
        copy = {**revision.to_json(), "revision": 5}
        labels = {"app": "x", "controller-revision-hash": "copy"}
        cluster.create({**copy, "metadata": {"name": "copy", "labels": labels}})
        cluster.patch("DaemonSet", "agent", {"metadata": {"labels": {"wake": "up"}}})
        await cluster.wait(1)
        assert [each.metadata.name for each in cluster.all("ControllerRevision")] == ["copy"]
        (pod,) = cluster.pods()
        assert pod.metadata.labels["controller-revision-hash"] == "copy"

    controlled(story)


def test_a_revision_name_used_by_another_template_is_a_collision() -> None:
    async def story(cluster: ControlledCluster) -> None:
        add_node(cluster, "a")
        cluster.create(daemon_set())
        await settle(cluster, 2)
        (revision,) = cluster.all("ControllerRevision")
        name = revision.metadata.name
        cluster.store.remove("ControllerRevision", "default", name)
        cluster.create(
            {
                "apiVersion": "apps/v1",
                "kind": "ControllerRevision",
                "metadata": {"name": name},
                "data": {"spec": {}},
                "revision": 1,
            }
        )
        await cluster.wait(1)
        assert get_daemon_set(cluster).status.collision_count == 1
        assert len(cluster.all("ControllerRevision")) == 2

    controlled(story)


def test_rejected_pods_are_retried_later() -> None:
    async def story(cluster: ControlledCluster) -> None:
        for name in "abc":
            add_node(cluster, name)
        cluster.create(daemon_set(template=template(priorityClassName="missing")))
        await cluster.wait(1)
        assert cluster.pods() == []
        events = cluster.events("FailedCreate")
        assert {event.type for event in events} == {"Warning"}
        assert all(event.message.startswith("Error creating: pods ") for event in events)
        assert sum(event.count for event in events) < 20
        assert _counts(cluster) == (3, 0, 0, 0, 0, 0)

    controlled(story)
