"""Scaling a Deployment: one active ReplicaSet gets all pods, several share them proportionally.

Adapted from: sync_test.go TestScale; util/deployment_util_test.go TestGetReplicaSetFraction
"""

from __future__ import annotations

import pytest

from kubesim.api.workloads.apps import ReplicaSet
from kubesim.cluster.controllers.deployment.limits import max_surge, replicas_of
from kubesim.cluster.controllers.deployment.revisions import DESIRED_REPLICAS, MAX_REPLICAS, replicas_annotations
from kubesim.cluster.controllers.deployment.scaling import is_scaling_event, plan_scaling, proportion
from tests.support.cluster.deployments import counted, deployment, replica_set

Sizes = dict[str, int]  # the new one is called "new"; old ones are sorted by age, newest first


@pytest.mark.parametrize(
    ("replicas", "before", "surge", "sizes", "expected"),
    [
        pytest.param(12, 10, (0, 0), {"new": 10}, {"new": 12}, id="10 -> 12"),
        pytest.param(5, 10, (0, 0), {"new": 10}, {"new": 5}, id="10 -> 5"),
        pytest.param(10, 5, (0, 0), {"new": 2, "a": 3}, {"new": 4, "a": 6}, id="5 -> 10"),
        pytest.param(3, 5, (0, 0), {"new": 2, "a": 3}, {"new": 1, "a": 2}, id="5 -> 3"),
        pytest.param(4, 9, (0, 0), {"new": 8, "a": 1}, {"new": 4, "a": 0}, id="9 -> 4"),
        pytest.param(10, 7, (0, 0), {"new": 2, "a": 3, "b": 2}, {"new": 3, "a": 4, "b": 3}, id="7 -> 10"),
        pytest.param(8, 13, (0, 0), {"new": 2, "a": 8, "b": 3}, {"new": 1, "a": 5, "b": 2}, id="13 -> 8"),
        pytest.param(4, 3, (0, 0), {"new": 1, "a": 1, "b": 1}, {"new": 2, "a": 1, "b": 1}, id="leftover 3 -> 4"),
        pytest.param(2, 3, (0, 0), {"new": 1, "a": 1, "b": 1}, {"new": 1, "a": 1, "b": 0}, id="leftover 3 -> 2"),
        pytest.param(5, 4, (0, 0), {"a": 2, "b": 2}, {"a": 3, "b": 2}, id="no new one 4 -> 5"),
        pytest.param(0, 6, (0, 0), {"new": 3, "a": 2, "b": 1}, {"new": 0, "a": 0, "b": 0}, id="6 -> 0"),
        pytest.param(6, 6, (0, 0), {"new": 0, "a": 0, "b": 0}, {"new": 6, "a": 0, "b": 0}, id="0 -> 6"),
        pytest.param(20, 10, (2, 2), {"new": 6, "a": 6}, {"new": 11, "a": 11}, id="with surge pods"),
        pytest.param(50, 10, (6, 3), {"new": 5, "a": 8}, {"new": 22, "a": 34}, id="surge and size"),
        pytest.param(14, 10, (0, 0), {"a": 7, "b": 3}, {"a": 10, "b": 4}, id="size and template"),
        pytest.param(2, 2, (1, 1), {"new": 2, "a": 1}, {"new": 2, "a": 1}, id="saturated but broken"),
    ],
)
def test_sizes_after_scaling(replicas: int, before: int, surge: tuple[int, int], sizes: Sizes, expected: Sizes) -> None:
    made, was = deployment(replicas, surge[0], 1), deployment(before, surge[1], 1)
    new, old = _sets(sizes, replicas_annotations(was))
    after = dict(sizes) | {resize.replica_set.metadata.name: resize.size for resize in plan_scaling(made, new, old)}
    assert after == expected


def test_a_failed_scaling_is_compensated() -> None:
    """One of three ReplicaSets could not be scaled: its annotation has the old size."""
    made = deployment(5, 0, 1)
    new, old = _sets({"new": 2, "a": 1, "b": 1}, replicas_annotations(made))
    stale = old[0].changed(metadata=old[0].metadata.changed(annotations={DESIRED_REPLICAS: "3", MAX_REPLICAS: "3"}))
    plan = {resize.replica_set.metadata.name: resize.size for resize in plan_scaling(made, new, [stale, old[1]])}
    assert plan == {"new": 2, "a": 2, "b": 1}


def test_a_saturated_new_replica_set_removes_old_pods() -> None:
    made = deployment(2, 1, 1)
    new = replica_set("new", 2, available=2, annotations=replicas_annotations(made))
    plan = plan_scaling(made, new, [replica_set("a", 1, annotations=replicas_annotations(made))])
    assert [(resize.replica_set.metadata.name, resize.size) for resize in plan] == [("a", 0)]


def _sets(sizes: Sizes, annotations: dict[str, str]) -> tuple[ReplicaSet | None, list[ReplicaSet]]:
    made = [
        replica_set(name, size, created=9 - n, annotations=annotations) for n, (name, size) in enumerate(sizes.items())
    ]
    new = made.pop(0) if "new" in sizes else None
    return new, made


@pytest.mark.parametrize(
    ("replicas", "actual", "surge", "size", "annotation", "expected"),
    [
        (0, 0, 0, 10, None, -10),
        (10, 0, 0, 5, None, 0),
        (10, 0, 0, 5, "0", 0),
        (120, 100, 0, 50, None, 10),
        (120, 100, 0, 50, "0", 10),
        (120, 0, 0, 50, "100", 10),
        (120, 0, 10, 50, "110", 9),
        (10, 0, 0, 6, "12", -1),
        (100, 0, 10, 50, "130", -8),
    ],
)
def test_share_of_one_replica_set(
    replicas: int, actual: int, surge: int, size: int, annotation: str | None, expected: int
) -> None:
    made = deployment(replicas, surge, 1, status=counted(actual, 0, 0))
    one = replica_set("one", size, annotations={} if annotation is None else {MAX_REPLICAS: annotation})
    far = 1000 if expected > 0 else -1000
    assert proportion(made, one, far, 0) == expected


def test_a_scaling_is_detected_by_the_annotation() -> None:
    made = deployment(3, 1, 1)
    stale = {DESIRED_REPLICAS: "2"}
    assert is_scaling_event(made, [replica_set("one", 2, annotations=stale)])
    assert not is_scaling_event(made, [replica_set("one", 0, annotations=stale)])
    assert not is_scaling_event(made, [replica_set("one", 2, annotations=replicas_annotations(made))])
    assert replicas_annotations(made) == {
        DESIRED_REPLICAS: str(replicas_of(made)),
        MAX_REPLICAS: str(3 + max_surge(made)),
    }
