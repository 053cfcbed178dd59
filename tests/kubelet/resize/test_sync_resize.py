"""Resizes by kubelet v1.30, which decides in the sync of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.features import FeatureGates
from kubesim.kubelet.resize.allocation_manager import AllocationManager
from kubesim.kubelet.resize.sync_resize import AllocationAtSync, requests_differ
from kubesim.kubelet.status.resize_conditions import resize_status
from tests.support.allocation import AllocatingKubelet, container, make, played, resizable_pod

GATES = FeatureGates({"InPlacePodVerticalScaling": True}, "v1.30")
RUNNING = {"phase": "Running"}


class Kubelet(AllocatingKubelet):
    kind: type[AllocationManager] = AllocationAtSync

    async def sync(self, pod: Pod) -> tuple[str, str]:
        """The value of `status.resize` after a sync of this pod, and its allocated CPU."""
        assert isinstance(self.manager, AllocationAtSync)
        self.pods.update(pod)
        synced, refused = await self.manager.resize_at_sync(self.manager.update_pod(pod))
        assert synced.spec == pod.spec  # as in the manifest, even if it was rejected
        had = self.manager.update_pod(pod).spec.containers
        both = zip(pod.spec.containers, had, strict=True)
        assert list(refused) == [one.name for one, other in both if one.resources.requests != other.resources.requests]
        return resize_status(self.conditions.get(pod.metadata.uid)), self.allocated_cpu(pod.metadata.uid)


@pytest.mark.parametrize(
    ("cpu", "status", "expected"),
    [
        ("2", RUNNING, ("InProgress", "2")),
        ("4", RUNNING, ("Deferred", "1")),
        ("5", RUNNING, ("Infeasible", "1")),
        ("2", {"phase": "Pending"}, ("", "1")),
    ],
)
def test_a_sync_compares_with_the_node(cpu: str, status: dict[str, Any], expected: tuple[str, str]) -> None:
    async def story() -> None:
        kubelet = Kubelet(gates=GATES)
        await kubelet.add(make("a", "1"), make("b", "1"))
        assert await kubelet.sync(make("a", cpu, status=status)) == expected
        assert kubelet.events == []
        assert not kubelet.manager.has_pending_resizes()

    played(story)


def test_a_reverted_resize_is_not_deferred_any_more() -> None:
    async def story() -> None:
        kubelet = Kubelet(gates=GATES)
        await kubelet.add(make("a", "1"), make("b", "1"))
        assert await kubelet.sync(make("a", "4", status=RUNNING)) == ("Deferred", "1")
        assert await kubelet.sync(make("a", "1", status=RUNNING)) == ("", "1")

    played(story)


def test_released_resources_do_not_trigger_a_deferred_resize() -> None:
    async def story() -> None:
        kubelet = Kubelet(gates=GATES)
        await kubelet.add(make("a", "1"), make("b", "1"))
        await kubelet.sync(make("a", "4", status=RUNNING))
        assert await kubelet.resize(make("a", "2", status=RUNNING)) == [("PodResizePending", "Deferred", 1)]
        assert kubelet.synced == []

    played(story)


def test_limits_alone_are_not_admitted() -> None:
    async def story() -> None:
        kubelet = Kubelet(gates=GATES)
        await kubelet.add(make("a", "1"))
        limited = make("a", "1", limited=True, status=RUNNING)
        assert await kubelet.sync(limited) == ("", "1")
        assert kubelet.manager.update_pod(limited) is limited

    played(story)


def test_a_container_with_a_different_number_of_requests_ends_the_search() -> None:
    before = resizable_pod("a", container("x", {"cpu": "1"}), container("y", {"cpu": "1"}))
    more = resizable_pod("a", container("x", {"cpu": "1", "memory": "1Gi"}), container("y", {"cpu": "2"}))
    assert not requests_differ(more, before)
    assert requests_differ(resizable_pod("a", container("x", {"cpu": "1"}), container("y", {"cpu": "2"})), before)
    assert not requests_differ(resizable_pod("a", container("x"), container("y", {"cpu": "1000m"})), before)
