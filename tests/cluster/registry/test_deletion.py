"""Graceful deletion: grace periods, finalizers, and immediate removal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.api.meta import ApiObject, ObjectMeta
from kubesim.api.pod import Pod, PodSpec, PodStatus
from kubesim.api.timestamps import SECOND, format_time, parse_time
from kubesim.cluster.registry.deletion import DeleteOptions, Deletion, is_done, plan_deletion
from kubesim.errors import ApiError

NOW = parse_time("2026-01-01T00:00:00Z")


def pod(node: str = "n", phase: str = "Running", grace_s: int = 30, **metadata: object) -> Pod:
    return Pod(
        api_version="v1",
        kind="Pod",
        metadata=ObjectMeta(name="p", namespace="d", uid="u", generation=1).changed(**metadata),
        spec=PodSpec(node_name=node, termination_grace_period_seconds=grace_s),
        status=PodStatus(phase=phase),
    )


def after(obj: ApiObject, grace_s: int | None = None, now: int = NOW) -> Deletion:
    return plan_deletion(obj, DeleteOptions(grace_s=grace_s), now)


def marked(plan: Deletion) -> ObjectMeta:
    assert plan.marked is not None
    return plan.marked.metadata


def test_a_running_pod_gets_its_own_grace_period() -> None:
    plan = after(pod(grace_s=7))
    assert not plan.removed
    assert marked(plan).deletion_timestamp == format_time(NOW + 7 * SECOND)
    assert marked(plan).deletion_grace_period_seconds == 7
    assert marked(plan).generation == 2


@pytest.mark.parametrize("ended", [pod(node=""), pod(phase="Succeeded"), pod(phase="Failed"), pod(grace_s=0)])
def test_a_pod_without_processes_is_marked_and_removed_immediately(ended: Pod) -> None:
    plan = after(ended)
    assert plan.removed
    assert marked(plan).deletion_grace_period_seconds == 0


def test_a_negative_grace_period_is_one_second() -> None:
    assert marked(after(pod(), grace_s=-5)).deletion_grace_period_seconds == 1


def test_a_grace_period_can_only_be_shortened() -> None:
    dying = pod(deletion_timestamp=format_time(NOW + 30 * SECOND), deletion_grace_period_seconds=30)
    assert after(dying) == Deletion(None, False)
    assert after(dying, grace_s=60) == Deletion(None, False)
    shorter = marked(after(dying, grace_s=10, now=NOW + 2 * SECOND))
    assert shorter.deletion_timestamp == format_time(NOW + 10 * SECOND)
    assert shorter.generation == 1, "only the first request counts"


# (current grace period, requested one, resulting one; None: nothing changes, "immediately": removed)
SECOND_REQUESTS = [
    (-1, -1, None),
    (-1, 0, 0),
    (-1, 1, None),
    (-1, 2, None),
    (0, -1, "at once"),
    (0, 0, "at once"),
    (0, 1, "at once"),
    (0, 2, "at once"),
    (1, -1, None),
    (1, 0, 0),
    (1, 1, None),
    (1, 2, None),
    (2, -1, 1),
    (2, 0, 0),
    (2, 1, 1),
    (2, 2, None),
]


@pytest.mark.parametrize(("held", "asked", "expected"), SECOND_REQUESTS)
def test_a_second_request(held: int, asked: int, expected: int | str | None) -> None:
    dying = pod(deletion_timestamp=format_time(NOW + held * SECOND), deletion_grace_period_seconds=held)
    plan = after(dying, grace_s=asked)
    if expected is None:
        assert plan == Deletion(None, False)
    elif expected == "at once":
        assert plan == Deletion(None, True)
    else:
        assert marked(plan).deletion_grace_period_seconds == expected
        assert plan.removed == (expected == 0)


def test_a_shorter_grace_period_counts_from_the_first_request_and_is_at_least_a_second() -> None:
    overdue = pod(deletion_timestamp=format_time(NOW - 60 * SECOND), deletion_grace_period_seconds=60)
    plan = after(overdue, grace_s=50)
    assert not plan.removed
    assert marked(plan).deletion_timestamp == format_time(NOW)
    assert marked(plan).deletion_grace_period_seconds == 1
    dying = pod(deletion_timestamp=format_time(NOW + 30 * SECOND), deletion_grace_period_seconds=30)
    late = marked(after(dying, grace_s=5, now=NOW + 12 * SECOND))
    assert (late.deletion_timestamp, late.deletion_grace_period_seconds) == (format_time(NOW + 12 * SECOND), 1)
    forced = after(overdue, grace_s=0)
    assert forced.removed
    assert marked(forced).deletion_timestamp == format_time(NOW)


def test_the_deletion_timestamp_is_never_in_the_past() -> None:
    dying = pod(deletion_timestamp=format_time(NOW + 30 * SECOND), deletion_grace_period_seconds=30)
    plan = after(dying, grace_s=0, now=NOW + 20 * SECOND)
    assert plan.removed
    assert marked(plan).deletion_timestamp == format_time(NOW + 20 * SECOND)


def test_finalizers_block_any_object() -> None:
    assert not after(pod(node="", finalizers=("example.com/f",))).removed
    config_map = ApiObject(kind="ConfigMap", metadata=ObjectMeta(name="c", finalizers=("example.com/f",)))
    plan = after(config_map)
    assert not plan.removed
    assert marked(plan).deletion_grace_period_seconds == 0
    assert plan.marked is not None
    assert after(plan.marked) == Deletion(None, False), "again changes nothing"
    assert is_done(plan.marked.changed(metadata=marked(plan).changed(finalizers=())))


def test_removing_the_last_finalizer_keeps_the_grace_period() -> None:
    dying = pod(deletion_timestamp=format_time(NOW + 30 * SECOND), deletion_grace_period_seconds=30)
    assert not is_done(dying)


def test_dependents() -> None:
    orphan = plan_deletion(pod(), DeleteOptions(propagation_policy="Orphan"), NOW)
    assert marked(orphan).finalizers == ("orphan",)
    held = pod(finalizers=("orphan", "example.com/f"))
    foreground = plan_deletion(held, DeleteOptions(propagation_policy="Foreground"), NOW)
    assert marked(foreground).finalizers == ("example.com/f", "foregroundDeletion")
    background = plan_deletion(held, DeleteOptions(propagation_policy="Background"), NOW)
    assert marked(background).finalizers == ("example.com/f",)
    with pytest.raises(ApiError, match="cannot be both set"):
        plan_deletion(pod(), DeleteOptions(propagation_policy="Orphan", orphan_dependents=True), NOW)


@pytest.mark.parametrize(("kind", "orphans"), [("ReplicationController", True), ("Job", True), ("ReplicaSet", False)])
def test_dependents_by_default(kind: str, orphans: bool) -> None:
    obj = ApiObject(kind=kind, metadata=ObjectMeta(name="x", namespace="d", uid="u"))
    plan = plan_deletion(obj, DeleteOptions(), NOW)
    assert plan.removed == (not orphans)
    if orphans:
        assert marked(plan).finalizers == ("orphan",)
    assert plan_deletion(obj, DeleteOptions(propagation_policy="Background"), NOW) == Deletion(None, True)
    waiting = obj.changed(metadata=obj.metadata.changed(finalizers=("foregroundDeletion",)))
    assert marked(plan_deletion(waiting, DeleteOptions(), NOW)).finalizers == ("foregroundDeletion",)


def test_preconditions() -> None:
    with pytest.raises(ApiError, match=r"UID in the precondition \(other\)") as refused:
        plan_deletion(pod(), DeleteOptions(uid="other"), NOW)
    assert refused.value.code == 409
    assert refused.value.details == {"name": "p", "kind": "Pod"}
    with pytest.raises(ApiError, match=r"ResourceVersion in the precondition \(7\)"):
        plan_deletion(pod(resource_version="8"), DeleteOptions(resource_version="7"), NOW)


@given(st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(-1, 60)), min_size=1, max_size=6))
def test_the_deletion_time_only_moves_forward(requests: list[tuple[int, int | None]]) -> None:
    current: ApiObject = pod()
    now, end = NOW, None
    for pause_s, grace_s in requests:
        now += pause_s * SECOND
        plan = after(current, grace_s, now)
        if plan.marked is not None:
            current = plan.marked
            moment = parse_time(current.metadata.deletion_timestamp or "")
            assert moment >= now
            assert end is None or moment <= max(end, now)
            end = moment
        if plan.removed:
            break
    assert current.metadata.generation == 2
