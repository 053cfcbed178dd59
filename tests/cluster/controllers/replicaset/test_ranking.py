"""The order in which surplus pods are deleted.

Adapted from: pkg/controller/controller_utils_test.go TestSortingActivePodsWithRanks; replica_set_test.go
TestGetPodsToDelete
"""

from __future__ import annotations

import pytest

from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import Container, ContainerStatus, Pod, PodCondition, PodSpec, PodStatus
from kubesim.api.timestamps import SECOND, format_time, parse_time
from kubesim.cluster.controllers.replicaset.ranking import compare, pods_to_delete, rank

NOW = parse_time("2026-01-31T12:00:00Z")
HOUR = 3600 * SECOND
MONTH = 31 * 24 * HOUR
COST = "controller.kubernetes.io/pod-deletion-cost"


def pod(
    node: str = "node",
    phase: str = "Running",
    *,
    ready: int | None = None,
    created: int | None = None,
    restarts: tuple[int, int] = (0, 0),
    cost: str = "",
    name: str = "",
) -> Pod:
    """`ready` and `created` are ages; -1 is a readiness of unknown age."""
    since = format_time(NOW - ready) if ready is not None and ready >= 0 else None
    conditions = () if ready is None else (PodCondition(type="Ready", status="True", last_transition_time=since),)
    return Pod(
        metadata=ObjectMeta(
            name=name,
            creation_timestamp=None if created is None else format_time(NOW - created),
            annotations={COST: cost} if cost else {},
        ),
        spec=PodSpec(node_name=node, init_containers=(Container(name="sidecar", restart_policy="Always"),)),
        status=PodStatus(
            phase=phase,
            conditions=conditions,
            container_statuses=(ContainerStatus(name="main", restart_count=restarts[0]),),
            init_container_statuses=(ContainerStatus(name="sidecar", restart_count=restarts[1]),),
        ),
    )


UNSCHEDULED = pod("", "Pending")
PENDING = pod(phase="Pending")
UNKNOWN = pod(phase="Unknown")
NOT_READY = pod()
READY_UNKNOWN_SINCE = pod(ready=-1)
READY_NOW = pod(ready=0, created=0)
READY_THEN = pod(ready=MONTH, created=MONTH)
RESTARTED = pod(ready=0, created=0, restarts=(9001, 0))
SIDECAR_RESTARTED = pod(ready=0, created=0, restarts=(9001, 9001))
CREATED_THEN = pod(ready=0, created=MONTH)
CHEAP = pod(ready=0, created=MONTH, cost="10")
DEAR = pod(ready=0, created=MONTH, cost="100")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *((same, same) for same in (UNSCHEDULED, PENDING, UNKNOWN, NOT_READY, CREATED_THEN)),
        *((same, same) for same in (READY_NOW, READY_THEN, RESTARTED, CHEAP)),
        (pod("", "Pending", created=5 * HOUR), pod("", "Pending", created=8 * HOUR)),
        (pod("", ready=5 * HOUR, created=MONTH), pod("", ready=8 * HOUR, created=MONTH)),
    ],
)
def test_pods_of_about_the_same_age_are_equal(one: Pod, other: Pod) -> None:
    assert compare(rank(one), rank(other), NOW) == 0
    assert compare(rank(other), rank(one), NOW) == 0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((UNSCHEDULED, 1), (PENDING, 2)),
        ((UNSCHEDULED, 2), (PENDING, 1)),
        ((PENDING, 1), (UNKNOWN, 2)),
        ((UNKNOWN, 1), (NOT_READY, 2)),
        ((NOT_READY, 1), (READY_UNKNOWN_SINCE, 1)),
        ((READY_UNKNOWN_SINCE, 1), (READY_NOW, 1)),
        ((READY_NOW, 2), (READY_UNKNOWN_SINCE, 1)),
        ((READY_NOW, 1), (READY_THEN, 1)),
        ((READY_NOW, 2), (READY_THEN, 1)),
        ((RESTARTED, 1), (READY_NOW, 1)),
        ((SIDECAR_RESTARTED, 1), (RESTARTED, 1)),
        ((READY_NOW, 2), (RESTARTED, 1)),
        ((READY_NOW, 1), (CREATED_THEN, 1)),
        ((CREATED_THEN, 2), (READY_NOW, 1)),
        ((CHEAP, 2), (DEAR, 1)),
        ((pod("", ready=2 * HOUR, created=MONTH), 1), (pod("", ready=5 * HOUR, created=MONTH), 1)),
    ],
)
def test_the_first_pod_is_deleted_before_the_second(first: tuple[Pod, int], second: tuple[Pod, int]) -> None:
    """With the number of pods of the same owner on its node."""
    assert compare(rank(*first), rank(*second), NOW) < 0
    assert compare(rank(*second), rank(*first), NOW) > 0


def test_a_deletion_cost_that_is_not_a_number_is_ignored() -> None:
    assert rank(pod(cost="+5")).deletion_cost == 0


U = pod("", "Pending", name="unscheduled")
P = pod("n", "Pending", name="pending")
N = pod("n", name="not-ready")
R1 = pod("n1", ready=-1, name="ready-1")
R2 = pod("n2", ready=-1, name="ready-2")


@pytest.mark.parametrize(
    ("pods", "related", "count", "expected"),
    [
        ([], None, 0, []),
        ([N, R1], None, 2, [N, R1]),
        ([R1, N], None, 1, [N]),
        ([R1, R1, R2, N, P, U], None, 6, [R1, R1, R2, N, P, U]),
        ([R1, R1, R2, N, P, U], [], 6, [R1, R1, R2, N, P, U]),
        ([P, U], None, 1, [U]),
        ([R1, N, N], None, 2, [N, N]),
        ([R1, R2], [R1, R2, R2], 1, [R2]),
        ([P, N], None, 1, [P]),
        ([R1, R2, N, P, U], None, 3, [U, P, N]),
    ],
)
def test_pods_to_delete(pods: list[Pod], related: list[Pod] | None, count: int, expected: list[Pod]) -> None:
    found = pods_to_delete(pods, pods if related is None else related, count, NOW)
    assert [one.metadata.name for one in found] == [one.metadata.name for one in expected]
