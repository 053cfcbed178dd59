"""A request is allocated only if the node has the resources; a deferred one waits.

Cases marked so are adapted from upstream's pkg/kubelet/allocation/allocation_manager_test.go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.kubelet.resize.allocation_manager import is_resized
from kubesim.kubelet.resize.resize_events import resize_event_message
from kubesim.kubelet.resize.resize_feasibility import NodePolicies
from kubesim.trace.records import CriCall
from tests.support.allocation import AllocatingKubelet, make, played
from tests.support.played import Played, pod

IN_PROGRESS, PENDING = "PodResizeInProgress", "PodResizePending"


def test_a_pod_that_fits_gets_its_request() -> None:
    """Upstream: TestAllocationManagerAddPod."""

    async def story() -> None:
        kubelet = AllocatingKubelet()
        assert await kubelet.add(make("a", "3"), make("b", "2")) == [
            ("", ""),
            ("OutOfcpu", "Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000"),
        ]
        assert kubelet.allocated_cpu("a") == "3"
        assert kubelet.state.get("b") is None

    played(story)


def test_after_a_restart_a_pod_is_admitted_with_its_allocation() -> None:
    """Upstream: TestAllocationManagerAddPod, request different from current allocation."""

    async def story() -> None:
        before = AllocatingKubelet()
        await before.add(make("a", "1"))
        kubelet = AllocatingKubelet(state=before.state)
        assert await kubelet.add(make("a", "8")) == [("", "")]
        assert kubelet.allocated_cpu("a") == "1"

    played(story)


def test_a_resize_from_one_request_to_another() -> None:
    """Upstream: TestRetryPendingResizesMultipleConditions."""

    async def story() -> None:
        kubelet = AllocatingKubelet()
        await kubelet.add(make("a", "500m"))

        def reported() -> list[str]:
            events, kubelet.events = kubelet.events, []
            return list(map(str, events))

        assert await kubelet.resize(make("a", "1", "1Gi", generation=1)) == [(IN_PROGRESS, "", 1)]
        resources = '"containers":[{"name":"c1","resources":{"requests":{"cpu":"1","memory":"1Gi"}}}]'
        assert reported() == [f'Normal ResizeStarted Pod resize started: {{{resources},"generation":1}}']

        both = [(PENDING, "Deferred", 2), (IN_PROGRESS, "", 1)]
        assert await kubelet.resize(make("a", "5", "4500Mi", generation=2)) == both
        lacking = "Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000"
        assert kubelet.conditions.get("a")[0].message == lacking
        resources = '"containers":[{"name":"c1","resources":{"requests":{"cpu":"5","memory":"4500Mi"}}}]'
        assert reported() == [
            f'Warning ResizeDeferred Pod resize OutOfcpu: {{{resources},"generation":2,"error":"{lacking}"}}'
        ]
        assert await kubelet.resize(make("a", "5", "4500Mi", generation=2)) == both
        assert reported() == []  # once is enough

        assert await kubelet.resize(make("a", "1", "1Gi", generation=3)) == [(IN_PROGRESS, "", 1)]  # taken back
        assert await kubelet.resize(make("a", "1", "1Gi", generation=4)) == [(IN_PROGRESS, "", 1)]
        assert reported() == []
        assert await kubelet.resize(make("a", "500m", generation=5)) == [(IN_PROGRESS, "", 5)]
        assert kubelet.allocated_cpu("a") == "500m"

    played(story)


@pytest.mark.parametrize(
    ("cpu", "memory", "reason"),
    [("500m", "250Mi", ""), ("2", "250Mi", ""), ("3500m", "1Gi", "Deferred"), ("500m", "4Gi", "Deferred")],
)
def test_only_resources_that_are_free_are_allocated(cpu: str, memory: str, reason: str) -> None:
    """Upstream: TestRetryPendingResizes."""

    async def story() -> None:
        kubelet = AllocatingKubelet()
        await kubelet.add(make("a", "1", "500Mi"), make("b", "1", "500Mi"))
        kind = PENDING if reason else IN_PROGRESS
        assert await kubelet.resize(make("a", cpu, memory)) == [(kind, reason, 1)]
        assert kubelet.allocated_cpu("a") == ("1" if reason else cpu)
        assert kubelet.synced == ["a"]
        assert kubelet.manager.has_pending_resizes() == bool(reason)

    played(story)


@pytest.mark.parametrize(
    ("policies", "limited", "cpu", "memory", "message"),
    [
        (NodePolicies("static"), True, "2", "1Gi", 'Guaranteed Pods alongside CPU Manager policy "static"'),
        (NodePolicies("static"), True, "1", "2Gi", ""),
        (NodePolicies("none", "Static"), True, "1", "2Gi", 'Guaranteed Pods alongside Memory Manager policy "Static"'),
        (NodePolicies("static", "Static"), True, "2", "2Gi", 'alongside CPU Manager policy "static"'),
        (NodePolicies("static", "Static"), False, "2", "2Gi", ""),
    ],
)
def test_a_permanent_allocation_cannot_be_resized(
    policies: NodePolicies, limited: bool, cpu: str, memory: str, message: str
) -> None:
    """Upstream: TestRetryPendingResizesGuanteedQOSPods."""

    async def story() -> None:
        kubelet = AllocatingKubelet(policies)
        await kubelet.add(make("a", "1", "1Gi", limited=limited))
        reported = await kubelet.resize(make("a", cpu, memory, limited=limited))
        if not message:
            assert reported == [(IN_PROGRESS, "", 1)]
            return
        assert reported == [(PENDING, "Infeasible", 1)]
        assert message in kubelet.conditions.get("a")[0].message
        assert str(kubelet.events[0]).startswith("Warning ResizeInfeasible Pod resize Infeasible: {")
        assert not kubelet.manager.has_pending_resizes()  # waiting would not help

    played(story)


def test_the_order_of_pending_resizes() -> None:
    """Upstream: TestSortPendingResizes."""

    async def story() -> None:
        def pods(cpu: Callable[[int], str]) -> list[Pod]:
            return [
                make("0", cpu(0)),
                make("1", cpu(1), priority=100),
                make("2", cpu(2), status={"qosClass": "Guaranteed"}),
                *(make(str(number), cpu(number)) for number in (3, 4, 5)),
            ]

        for order in (range(6), range(5, -1, -1)):
            kubelet = AllocatingKubelet()
            for small in pods(lambda _: "500m"):
                kubelet.pods.update(small)
                kubelet.state.set(small)
            # The first requests less; the others request more than is free.
            for large in pods(lambda number: "8" if number else "100m"):
                kubelet.pods.update(large)
            kubelet.conditions.set_pending("3", "Deferred", "", 1, 10 * SECOND)
            kubelet.conditions.set_pending("4", "Deferred", "", 1, 20 * SECOND)
            for number in order:
                await kubelet.manager.push_pending_resize(str(number))
            await kubelet.manager.retry_pending_resizes()
            assert kubelet.synced == ["0", "1", "2", "3", "4", "5"]

    played(story)


def test_pending_resizes_are_checked_every_three_minutes() -> None:
    async def story() -> None:
        kubelet = AllocatingKubelet()
        retries = asyncio.create_task(kubelet.manager.run())
        await kubelet.clock.sleep(0)
        await kubelet.add(make("a", "1"), make("b", "3"))
        await kubelet.resize(make("a", "2"))
        kubelet.synced.clear()
        await kubelet.clock.sleep(3 * MINUTE - SECOND)
        assert kubelet.synced == []
        await kubelet.clock.sleep(2 * SECOND)
        assert kubelet.synced == ["a"]  # its condition has a new time
        kubelet.pods.remove(make("b", "3"))
        await kubelet.clock.sleep(3 * MINUTE)
        assert kubelet.reported("a") == [(IN_PROGRESS, "", 1)]
        retries.cancel()

    played(story)


def test_nothing_is_allocated_before_every_source_reported() -> None:
    async def story() -> None:
        kubelet = AllocatingKubelet()
        retries = asyncio.create_task(kubelet.manager.run())
        await kubelet.clock.sleep(0)
        await kubelet.add(make("a", "1"))
        kubelet.sources.all_ready = False
        assert await kubelet.resize(make("a", "2")) == []
        await kubelet.clock.sleep(31 * SECOND)
        assert kubelet.reported("a") == []
        kubelet.sources.all_ready = True
        await kubelet.clock.sleep(30 * SECOND)
        assert kubelet.reported("a") == [(IN_PROGRESS, "", 1)]
        retries.cancel()

    played(story)


def test_changes_that_count_as_a_resize() -> None:
    assert not is_resized(make("a", "1"), make("a", "1000m", labels={}))
    assert is_resized(make("a", "1"), make("a", "2"))
    assert is_resized(make("a", "1"), make("a", "1", "1Gi"))
    assert is_resized(make("a", "1"), make("a", "1", resources={"limits": {"cpu": "2"}}))
    assert is_resized(None, make("a", "1"))


def test_the_text_of_an_event() -> None:
    """Upstream: pkg/kubelet/events/resize_test.go."""
    asking = Pod.from_json(
        {
            "spec": {
                "initContainers": [
                    {"name": "c0", "resources": {"requests": {"cpu": "0.1"}, "limits": {"cpu": "200m"}}}
                ],
                "containers": [
                    {"name": "c1", "resources": {"requests": {"memory": "100", "cpu": "2"}}},
                    {"name": "c2"},
                ],
            }
        }
    )
    assert resize_event_message("Pod resize error", asking, 2, "a < b") == (
        'Pod resize error: {"initContainers":[{"name":"c0","resources":{"limits":{"cpu":"200m"},'
        '"requests":{"cpu":"100m"}}}],"containers":[{"name":"c1","resources":{"requests":{"cpu":"2","memory":"100"}}},'
        '{"name":"c2","resources":{}}],"generation":2,"error":"a \\u003c b"}'
    )


# -- on a node ------------------------------------------------------------------------------------------------------


def asking(name: str, cpu: str) -> dict[str, Any]:
    manifest = pod(name)
    manifest["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return manifest


def patch(at: str, cpu: str) -> dict[str, Any]:
    body = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}}
    return {"at": at, "patch": {"pod": "web", "subresource": "resize", "patch": body}}


SMALL = [{"name": "node-1", "capacity": {"cpu": "2"}}]


def test_a_deferred_resize_survives_a_restart_of_the_kubelet() -> None:
    story = Played(
        patch("10s", "1500m"),
        {"at": "20s", "restart": "kubelet"},
        {"at": "30s", "delete": {"pod": "other"}},
        objects=[asking("web", "500m"), asking("other", "1")],
        nodes=SMALL,
        expect=[
            {"pod": "web", "event": "ResizeDeferred", "by": "11s"},
            {"pod": "web", "condition": "PodResizePending", "by": "11s"},
            {"pod": "web", "event": "ResizeStarted", "by": "30s", "never": True},
            {"pod": "web", "event": "ResizeCompleted", "by": "40s"},
            {"pod": "web", "restartCount": 1, "never": True},
        ],
    )
    assert story.result.ok, story.result.expectations_failed
    (updated,) = story.when(CriCall, "web", call="UpdateContainerResources")
    assert 30 < updated < 40


def test_a_reverted_resize_leaves_nothing() -> None:
    story = Played(
        patch("10s", "1500m"),
        patch("20s", "500m"),
        {"at": "30s", "delete": {"pod": "other"}},
        objects=[asking("web", "500m"), asking("other", "1")],
        nodes=SMALL,
        expect=[{"pod": "web", "event": "ResizeStarted", "never": True}],
    )
    assert story.result.ok
    assert story.when(CriCall, "web", call="UpdateContainerResources") == []


def test_a_pending_resize_does_not_keep_time_from_being_skipped() -> None:
    """Every three minutes the pending resize is checked, and nothing else happens."""
    objects = [asking("web", "500m"), asking("other", "1")]
    one, other = (
        Played(patch("10s", "1500m"), objects=objects, nodes=SMALL, duration="30m", every_tick=every)
        for every in (False, True)
    )
    assert [record.to_json() for record in one.records] == [record.to_json() for record in other.records]
    assert len(one.records) < 400
