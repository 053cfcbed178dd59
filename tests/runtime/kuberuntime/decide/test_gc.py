"""Which dead containers and sandboxes are removed, and in which order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kubesim.runtime.kuberuntime.decide.gc import (
    GCPolicy,
    containers_to_delete_in_pod,
    evict_containers,
    evict_sandboxes,
)
from kubesim.runtime.protocol import ContainerInfo, SandboxInfo
from kubesim.runtime.types import ContainerRecord, ContainerRuntimeState, RuntimePodStatus


@dataclass(frozen=True)
class States:
    removed: frozenset[str] = frozenset()
    ended: frozenset[str] = frozenset()

    def should_pod_content_be_removed(self, uid: str) -> bool:
        return uid in self.removed

    def should_pod_runtime_be_removed(self, uid: str) -> bool:
        return uid in self.ended


ALIVE = States()


def dead(
    id_: str, created_at: int, state: ContainerRuntimeState = "exited", pod: str = "p", name: str = "web"
) -> ContainerInfo:
    return ContainerInfo(id_, f"sandbox-{pod}", pod, name, 0, state, created_at)


def evicted(
    containers: Iterable[ContainerInfo],
    policy: GCPolicy,
    states: States = ALIVE,
    *,
    ready: bool = True,
    all_: bool = False,
) -> list[str]:
    evictions = evict_containers(
        containers, policy, states, now=100, all_sources_ready=ready, evict_non_deleted_pods=all_
    )
    return [eviction.id for eviction in evictions]


def test_the_oldest_are_removed_first_and_the_newest_stays() -> None:
    assert evicted([dead("b", 2), dead("a", 1), dead("c", 3), dead("run", 0, "running")], GCPolicy()) == ["a", "b"]


def test_recently_exited_containers_do_not_count() -> None:
    assert evicted([dead("a", 1), dead("b", 2), dead("young", 60)], GCPolicy(min_age=50)) == ["a"]


def test_names_are_counted_separately() -> None:
    assert evicted([dead("a", 1), dead("b", 2, name="side"), dead("c", 3, pod="q")], GCPolicy()) == []


def test_everything_of_a_removed_pod_is_removed_once_all_sources_are_ready() -> None:
    containers = [dead("a", 1), dead("b", 2)]
    removed = States(removed=frozenset({"p"}))
    assert evicted(containers, GCPolicy(), removed) == ["b", "a"]
    assert evicted(containers, GCPolicy(), removed, ready=False) == ["a"]


def test_pods_that_ended_lose_their_containers_only_when_requested() -> None:
    ended = States(ended=frozenset({"p"}))
    assert evicted([dead("a", 1)], GCPolicy(), ended) == []
    assert evicted([dead("a", 1)], GCPolicy(), ended, all_=True) == ["a"]


def test_a_total_limit_gives_each_container_a_fair_share() -> None:
    containers = [dead("a1", 1), dead("a2", 2), dead("a3", 3), dead("b1", 4, name="side"), dead("c1", 5, pod="q")]
    assert evicted(containers, GCPolicy(max_per_pod_container=-1, max_containers=3)) == ["a1", "a2"]
    assert evicted(containers, GCPolicy(max_per_pod_container=-1, max_containers=2)) == ["a1", "a2", "a3"]


def test_unknown_containers_are_killed_before_removal() -> None:
    (eviction,) = evict_containers(
        [dead("a", 1, "unknown"), dead("b", 2)], GCPolicy(), ALIVE, now=100, all_sources_ready=True
    )
    assert eviction.kill_first


def sandbox(id_: str, created_at: int, ready: bool = False) -> SandboxInfo:
    return SandboxInfo(id_, "p", "", "", 0, ready, created_at)


def test_sandboxes_are_removed_when_they_are_empty_dead_and_not_the_newest() -> None:
    sandboxes = [sandbox("one", 1), sandbox("two", 2), sandbox("three", 3), sandbox("four", 4)]
    in_use = ContainerInfo("c", "two", "p", "web", 0, "exited", 0)
    assert evict_sandboxes(sandboxes, [in_use], ALIVE) == ["one", "three"]
    assert evict_sandboxes(sandboxes, [in_use], States(removed=frozenset({"p"}))) == ["four", "three", "one"]
    assert evict_sandboxes([sandbox("up", 1, ready=True), sandbox("new", 2)], [], ALIVE) == []


def test_when_a_container_exits_older_dead_ones_of_that_name_are_removed() -> None:
    records = (
        ContainerRecord("w3", "web", "running", created_at=3),
        ContainerRecord("w2", "web", "exited", created_at=2),
        ContainerRecord("w1", "web", "exited", created_at=1),
        ContainerRecord("s1", "side", "exited", created_at=1),
    )
    status = RuntimePodStatus("p", containers=records)
    assert [r.id for r in containers_to_delete_in_pod(status, 1, "w2")] == ["w1"]
    assert [r.id for r in containers_to_delete_in_pod(status, 0)] == ["w2", "w1", "s1"]
    assert containers_to_delete_in_pod(status, 0, "gone") == ()
