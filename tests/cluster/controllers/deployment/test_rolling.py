"""Sizes of the new and old ReplicaSets in a rolling update.

Adapted from: rolling_test.go; util/deployment_util_test.go TestNewRSNewReplicas
"""

from __future__ import annotations

import pytest

from kubesim.cluster.controllers.deployment.rolling import (
    cleanup_unhealthy_replicas,
    new_size,
    reconcile_new_replica_set,
    reconcile_old_replica_sets,
    scale_down_old_replica_sets,
)
from tests.support.cluster.deployments import deployment, replica_set


@pytest.mark.parametrize(
    ("replicas", "surge", "old", "new", "expected"),
    [
        (10, 0, 10, 0, None),
        (10, 2, 10, 0, 2),
        (10, 2, 5, 0, 7),
        (10, 2, 10, 2, None),
        (10, 2, 2, 11, 10),
    ],
)
def test_the_new_replica_set_gets_what_the_surge_allows(
    replicas: int, surge: int, old: int, new: int, expected: int | None
) -> None:
    new_set, old_set = replica_set("new", new), replica_set("old", old)
    resize = reconcile_new_replica_set(deployment(replicas, surge, 0), [new_set, old_set], new_set)
    assert (resize and resize.size) == expected


@pytest.mark.parametrize(
    ("replicas", "unavailable", "old", "new", "ready_old", "ready_new", "expected"),
    [
        (10, 0, 10, 0, 10, 0, 9),
        (10, 2, 10, 0, 10, 0, 8),
        (10, 2, 10, 0, 8, 0, 8),
        (10, 2, 10, 0, 9, 0, 8),
        (10, 2, 8, 2, 8, 0, None),
    ],
    ids=["one", "two", "unhealthy ones", "one of each", "new ones are not available yet"],
)
def test_old_pods_are_removed_while_enough_stay_available(
    replicas: int, unavailable: int, old: int, new: int, ready_old: int, ready_new: int, expected: int | None
) -> None:
    plan = reconcile_old_replica_sets(
        deployment(replicas, 0, unavailable),
        [replica_set("old", old, available=ready_old)],
        replica_set("new", new, available=ready_new),
    )
    assert (plan[-1].size if plan else None) == expected


@pytest.mark.parametrize(("ready", "budget", "expected"), [(8, 1, 1), (8, 3, 2), (8, 0, 0), (10, 3, 0)])
def test_unavailable_pods_are_removed_within_the_budget(ready: int, budget: int, expected: int) -> None:
    plan, is_settled = cleanup_unhealthy_replicas([replica_set("old", 10, available=ready)], budget)
    assert is_settled
    assert sum(10 - resize.size for resize in plan) == expected


@pytest.mark.parametrize(
    ("unavailable", "ready", "old", "expected"),
    [(0, 10, 10, 9), (2, 10, 10, 8), (2, 8, 10, None), (2, 10, 0, None), (2, 1, 10, None)],
)
def test_available_pods_are_removed_down_to_the_minimum(
    unavailable: int, ready: int, old: int, expected: int | None
) -> None:
    least = 10 - max(unavailable, 1)  # no surge and no unavailability means one unavailable pod
    plan = scale_down_old_replica_sets([replica_set("old", old, available=ready)], replica_set("new", 0), least)
    assert (plan[0].size if plan else None) == expected


@pytest.mark.parametrize(
    ("strategy", "replicas", "new", "surge", "expected"),
    [("RollingUpdate", 1, 5, 1, 5), ("RollingUpdate", 6, 2, 10, 6), ("Recreate", 3, 1, 1, 3)],
)
def test_size_of_the_new_replica_set(strategy: str, replicas: int, new: int, surge: int, expected: int) -> None:
    made = deployment(replicas, surge, 1, strategy=strategy)
    assert new_size(made, [replica_set("five", 5)], replica_set("new", new)) == expected


def test_unhealthy_pods_of_the_oldest_replica_set_are_removed_first() -> None:
    old = [replica_set("b", 3, created=2, available=0), replica_set("a", 3, created=1, available=1)]
    plan, _ = cleanup_unhealthy_replicas(old, 4)
    assert [(resize.replica_set.metadata.name, resize.size) for resize in plan] == [("a", 1), ("b", 1)]


def test_scaling_down_waits_for_a_replica_set_that_reports_surplus_pods() -> None:
    """It was just scaled down from 4 to 2 and still reports 4 available pods."""
    old = [replica_set("a", 2, created=1, available=4), replica_set("b", 3, created=2, available=0)]
    assert reconcile_old_replica_sets(deployment(4, 1, 1), old, replica_set("new", 2, available=2)) == []


def test_a_replica_set_can_lose_unhealthy_and_healthy_pods_in_one_sync() -> None:
    old = [replica_set("old", 10, available=9)]
    plan = reconcile_old_replica_sets(deployment(10, 0, 2), old, replica_set("new", 0))
    assert [resize.size for resize in plan] == [9, 8]
