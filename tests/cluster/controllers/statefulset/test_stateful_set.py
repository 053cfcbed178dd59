"""A StatefulSet in a cluster: order, scaling, updates, terminated pods.

Mirrors: pkg/controller/statefulset/stateful_set_control_test.go; stateful_set_test.go
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster.registry.deletion import DeleteOptions
from tests.support.cluster.controlled import ControlledCluster, controlled
from tests.support.workloads.sets import (
    by_ordinal,
    get_set,
    image_patch,
    images,
    messages,
    rolling,
    settle,
    stateful_set,
)

POLICIES = pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])


def _names(cluster: ControlledCluster) -> list[str]:
    return [pod.metadata.name for pod in by_ordinal(cluster).values()]


def _counts(cluster: ControlledCluster) -> tuple[int, ...]:
    """replicas, ready, available, current, updated"""
    status = get_set(cluster).status
    return (
        status.replicas,
        status.ready_replicas,
        status.available_replicas,
        status.current_replicas,
        status.updated_replicas,
    )


# -- order ----------------------------------------------------------------------------------------------------------


def test_each_pod_waits_for_the_one_before() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(3))
        for count in (1, 2, 3):
            await cluster.wait(5)
            assert _names(cluster) == [f"db-{n}" for n in range(count)]
            assert _counts(cluster) == (count, count - 1, count - 1, count, count)
            cluster.make_all_ready()
        assert messages(cluster) == [f"Create Pod db-{n} in StatefulSet db successful" for n in range(3)]
        assert {(event.type, event.reason) for event in cluster.events()} == {("Normal", "SuccessfulCreate")}

    controlled(story)


def test_parallel_pods_do_not_wait() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(5, podManagementPolicy="Parallel"))
        await cluster.wait(0.1)
        assert _names(cluster) == [f"db-{n}" for n in range(5)]
        assert _counts(cluster) == (5, 0, 0, 5, 5)

    controlled(story)


def test_the_status_does_not_count_a_pod_created_in_the_same_sync() -> None:
    async def story(cluster: ControlledCluster) -> None:
        seen: list[int] = []
        cluster.store.watch("StatefulSet", lambda change: seen.append(change.object.status.replicas))  # type: ignore[attr-defined]
        cluster.create(stateful_set(1))
        await cluster.wait(1)
        assert seen == [0, 0, 1]

    controlled(story)


def test_a_deleted_pod_is_recreated_once_it_is_gone() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(3))
        await settle(cluster)
        old = by_ordinal(cluster)[1]
        cluster.delete("Pod", "db-1", DeleteOptions(grace_s=30))
        await cluster.wait(5)
        assert by_ordinal(cluster)[1].metadata.uid == old.metadata.uid
        assert _counts(cluster)[3:] == (2, 2)
        cluster.remove_ending()
        await cluster.wait(0.1)
        assert by_ordinal(cluster)[1].metadata.uid != old.metadata.uid
        assert [event.count for event in cluster.events("SuccessfulCreate") if "db-1" in event.message] == [2]

    controlled(story)


@POLICIES
@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_terminated_pod_is_deleted_and_recreated(policy: str, phase: str) -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(2, podManagementPolicy=policy))
        await settle(cluster)
        old = by_ordinal(cluster)[0]
        cluster.set_phase(old, phase, ready=False)
        await cluster.wait(1)
        assert by_ordinal(cluster)[0].metadata.uid != old.metadata.uid
        assert messages(cluster, "SuccessfulDelete") == ["Delete Pod db-0 in StatefulSet db successful"]

    controlled(story)


@POLICIES
def test_scaling_down_deletes_the_highest_ordinals(policy: str) -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(4, podManagementPolicy=policy))
        await settle(cluster)
        cluster.patch("StatefulSet", "db", {"spec": {"replicas": 1}})
        await cluster.wait(1)
        ending = [n for n, pod in by_ordinal(cluster).items() if pod.metadata.deletion_timestamp is not None]
        assert ending == ([3] if policy == "OrderedReady" else [1, 2, 3])
        await settle(cluster)
        assert _names(cluster) == ["db-0"]
        assert _counts(cluster) == (1, 1, 1, 1, 1)

    controlled(story)


def test_scaling_down_waits_for_healthy_pods() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(3))
        await settle(cluster)
        cluster.set_phase(by_ordinal(cluster)[0], "Running", ready=False)
        cluster.patch("StatefulSet", "db", {"spec": {"replicas": 1}})
        await cluster.wait(5)
        assert messages(cluster, "SuccessfulDelete") == []
        cluster.make_all_ready()
        await cluster.wait(1)
        assert messages(cluster, "SuccessfulDelete") == ["Delete Pod db-2 in StatefulSet db successful"]

    controlled(story)


def test_the_lowest_unready_condemned_pod_may_be_deleted() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(3))
        await settle(cluster)
        cluster.set_phase(by_ordinal(cluster)[2], "Running", ready=False)
        cluster.patch("StatefulSet", "db", {"spec": {"replicas": 1}})
        await settle(cluster)
        assert _names(cluster) == ["db-0"]

    controlled(story)


def test_a_set_being_deleted_creates_no_pods() -> None:
    async def story(cluster: ControlledCluster) -> None:
        manifest = stateful_set(3)
        manifest["metadata"]["finalizers"] = ["example.com/wait"]
        cluster.create(manifest)
        cluster.delete("StatefulSet", "db")
        await cluster.wait(1)
        assert _names(cluster) == []

    controlled(story)


def test_ordinals_can_start_elsewhere_and_move() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(2, ordinals={"start": 2}))
        await settle(cluster)
        assert _names(cluster) == ["db-2", "db-3"]
        cluster.patch("StatefulSet", "db", {"spec": {"ordinals": {"start": 3}}})
        await settle(cluster)
        assert _names(cluster) == ["db-3", "db-4"]

    controlled(story)


# -- updates --------------------------------------------------------------------------------------------------------


@POLICIES
@pytest.mark.parametrize(("before", "after"), [(3, 3), (3, 5), (5, 3)])
def test_a_rolling_update_reaches_all_pods(policy: str, before: int, after: int) -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(before, podManagementPolicy=policy))
        await settle(cluster)
        cluster.patch("StatefulSet", "db", {"spec": {"replicas": after, **image_patch("two")["spec"]}})
        await settle(cluster, 15)
        assert images(cluster) == ["two"] * after
        status = get_set(cluster).status
        assert status.current_revision == status.update_revision
        assert _counts(cluster) == (after,) * 5

    controlled(story)


@POLICIES
def test_pods_are_updated_one_at_a_time_from_the_highest(policy: str) -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(3, podManagementPolicy=policy))
        await settle(cluster)
        old = get_set(cluster).status.current_revision
        cluster.patch("StatefulSet", "db", image_patch("two"))
        expected = [["one", "one", "two"], ["one", "two", "two"], ["two", "two", "two"]]
        for n, now in enumerate(expected):
            await cluster.wait(1)
            cluster.remove_ending()
            await cluster.wait(1)
            assert images(cluster) == now
            assert get_set(cluster).status.current_revision == old
            assert _counts(cluster) == (3, 2, 2, 2 - n, n + 1)
            cluster.make_all_ready()
        await cluster.wait(1)
        assert get_set(cluster).status.current_revision != old

    controlled(story)


def test_a_partition_keeps_the_lower_pods_at_the_old_revision() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(3, updateStrategy=rolling(partition=2)))
        await settle(cluster)
        cluster.patch("StatefulSet", "db", image_patch("two"))
        await settle(cluster)
        assert images(cluster) == ["one", "one", "two"]
        assert _counts(cluster) == (3, 3, 3, 2, 1)
        cluster.delete("Pod", "db-0")
        await settle(cluster)
        assert images(cluster) == ["one", "one", "two"]
        cluster.patch("StatefulSet", "db", {"spec": {"replicas": 4}})
        await settle(cluster)
        assert images(cluster) == ["one", "one", "two", "two"]
        cluster.patch("StatefulSet", "db", {"spec": {"updateStrategy": rolling(partition=0)}})
        await settle(cluster)
        assert images(cluster) == ["two"] * 4

    controlled(story)


def test_on_delete_updates_no_pod() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(3, updateStrategy={"type": "OnDelete"}))
        await settle(cluster)
        cluster.patch("StatefulSet", "db", image_patch("two"))
        await settle(cluster)
        assert images(cluster) == ["one"] * 3
        cluster.delete("Pod", "db-1")
        await settle(cluster)
        assert images(cluster) == ["one", "two", "one"]

    controlled(story)


def test_a_stuck_ordinal_blocks_the_update_that_would_repair_it() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(3))
        await settle(cluster, 1)
        await cluster.wait(1)
        cluster.patch("StatefulSet", "db", image_patch("two"))
        await cluster.wait(60)
        assert _names(cluster) == ["db-0", "db-1"]
        assert images(cluster) == ["one", "one"]
        cluster.delete("Pod", "db-1")
        await settle(cluster)
        assert images(cluster) == ["two", "two", "two"]

    controlled(story)


def test_parallel_updates_replace_broken_old_pods_and_wait_for_broken_new_ones() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(3, podManagementPolicy="Parallel"))
        await settle(cluster)
        cluster.set_phase(by_ordinal(cluster)[2], "Running", ready=False)
        cluster.patch("StatefulSet", "db", image_patch("two"))
        await cluster.wait(1)
        cluster.remove_ending()
        await cluster.wait(60)
        assert images(cluster) == ["one", "one", "two"]

    controlled(story)


def test_a_reused_template_renumbers_its_revision() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(2))
        await settle(cluster)
        first = get_set(cluster).status.current_revision
        cluster.patch("StatefulSet", "db", image_patch("two"))
        await settle(cluster)
        second = get_set(cluster).status.current_revision
        cluster.patch("StatefulSet", "db", image_patch("one"))
        await settle(cluster)
        assert images(cluster) == ["one", "one"]
        assert get_set(cluster).status.current_revision == first
        numbers = {each.metadata.name: each.revision for each in cluster.all("ControllerRevision")}
        assert numbers == {first: 3, second: 2}

    controlled(story)


@pytest.mark.parametrize(("limit", "kept"), [(0, 1), (2, 3), (-1, 5)])
def test_old_revisions_beyond_the_limit_are_deleted(limit: int, kept: int) -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(1, revisionHistoryLimit=limit))
        await settle(cluster, 2)
        for image in ("two", "three", "four", "five"):
            cluster.patch("StatefulSet", "db", image_patch(image))
            await settle(cluster, 3)
        numbers = sorted(each.revision for each in cluster.all("ControllerRevision"))
        assert numbers == [1, 2, 3, 4, 5][-kept:]

    controlled(story)


# -- minReadySeconds ------------------------------------------------------------------------------------------------


def test_the_next_pod_waits_until_the_previous_one_is_available() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(2, minReadySeconds=10))
        await cluster.wait(1.5)
        cluster.make_all_ready()
        await cluster.wait(9)
        assert _counts(cluster)[:3] == (1, 1, 0)
        assert _names(cluster) == ["db-0"]
        await cluster.wait(0.6)  # counted from the whole second in which it became ready
        assert _counts(cluster)[:3] == (2, 1, 1)
        assert _names(cluster) == ["db-0", "db-1"]

    controlled(story)


def test_an_update_also_waits_for_availability() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(2, minReadySeconds=10, podManagementPolicy="Parallel"))
        await cluster.wait(1)
        cluster.make_all_ready()
        await cluster.wait(20)
        cluster.patch("StatefulSet", "db", image_patch("two"))
        await cluster.wait(1)
        cluster.remove_ending()
        await cluster.wait(1)
        cluster.set_phase(by_ordinal(cluster)[1], "Running", ready=True)
        await cluster.wait(9)
        assert images(cluster) == ["one", "two"]
        await cluster.wait(2)
        assert images(cluster) == ["two", "two"]

    controlled(story)


# -- owners ---------------------------------------------------------------------------------------------------------


def _loose_pod(name: str, **metadata: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "one"}]}
    meta = {"name": name, "labels": {"app": "x"}, **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def test_a_pod_with_a_matching_name_is_adopted_and_gets_its_identity() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(1))
        await settle(cluster, 2)
        cluster.patch("StatefulSet", "db", {"spec": {"replicas": 0}})
        await settle(cluster, 2)
        cluster.create(_loose_pod("db-0"))
        cluster.create(_loose_pod("other"))
        cluster.patch("StatefulSet", "db", {"spec": {"replicas": 1}})
        await cluster.wait(1)
        owned = {pod.metadata.name: bool(pod.metadata.owner_references) for pod in cluster.pods()}
        assert owned == {"db-0": True, "other": False}
        cluster.make_all_ready()
        await cluster.wait(1)
        pod = cluster.get("Pod", "db-0")
        assert pod.metadata.labels["statefulset.kubernetes.io/pod-name"] == "db-0"
        assert messages(cluster, "SuccessfulUpdate") == ["Update Pod db-0 in StatefulSet db successful"]

    controlled(story)


def test_a_pod_whose_labels_do_not_match_is_released() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(1))
        await settle(cluster, 2)
        cluster.patch("Pod", "db-0", {"metadata": {"labels": {"app": "y"}}})
        await cluster.wait(1)
        assert cluster.get("Pod", "db-0").metadata.owner_references == ()
        assert messages(cluster, "FailedCreate") == []  # its name is taken, which emits no Event

    controlled(story)
