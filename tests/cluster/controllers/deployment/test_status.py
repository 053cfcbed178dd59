"""Whether a rollout is complete, progresses, or has timed out, and when it is checked again.

Adapted from: progress_test.go; util/deployment_util_test.go TestDeploymentComplete, TestDeploymentProgressing,
TestDeploymentTimedOut, TestGetCondition, TestSetCondition, TestRemoveCondition
"""

from __future__ import annotations

import pytest

from kubesim.api.timestamps import SECOND, parse_time
from kubesim.api.workloads.apps import DeploymentCondition, DeploymentStatus, ReplicaSet, ReplicaSetCondition
from kubesim.cluster.controllers.deployment.conditions import (
    find_condition,
    with_condition,
    without_condition,
)
from kubesim.cluster.controllers.deployment.status import (
    calculate_rollout_status,
    calculate_status,
    is_complete,
    is_progressing,
    is_timed_out,
    next_progress_check,
)
from tests.support.cluster.deployments import counted, deployment, replica_set

NEVER = 2**31 - 1
LATER = "2017-02-15T19:49:00Z"
TIME = "2017-02-15T18:49:00Z"


def progressing(status: str, reason: str = "", time: str | None = TIME) -> DeploymentCondition:
    return DeploymentCondition(
        type="Progressing", status=status, reason=reason, last_update_time=time, last_transition_time=time
    )


UPDATED = progressing("True", "ReplicaSetUpdated")
COMPLETE = progressing("True", "NewReplicaSetAvailable")
TIMED_OUT = progressing("False", "ProgressDeadlineExceeded")


@pytest.mark.parametrize(
    ("replicas", "actual", "updated", "available", "expected"),
    [
        (5, 5, 5, 4, False),
        (5, 5, 5, 3, False),
        (5, 5, 5, 5, True),
        (5, 5, 4, 5, False),
        (1, 2, 1, 1, False),
        (1, 1, 1, 0, False),
    ],
)
def test_complete(replicas: int, actual: int, updated: int, available: int, expected: bool) -> None:
    status = counted(actual, updated, available)
    assert is_complete(deployment(replicas, 1, 1, status=status), status) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((10, 4, 4, 4), (10, 6, 4, 4), True),
        ((10, 4, 4, 4), (10, 4, 4, 4), False),
        ((10, 4, 6, 6), (8, 4, 6, 6), True),
        ((10, 7, 3, 3), (10, 6, 3, 3), False),
        ((10, 4, 7, 7), (8, 8, 5, 5), True),
        ((10, 10, 9, 8), (10, 10, 10, 8), True),
        ((10, 10, 10, 9), (10, 10, 10, 10), True),
    ],
)
def test_progress(before: tuple[int, int, int, int], after: tuple[int, int, int, int], expected: bool) -> None:
    def status(current: int, updated: int, ready: int, available: int) -> DeploymentStatus:
        return counted(current, updated, available, ready)

    assert is_progressing(deployment(10, status=status(*before)), status(*after)) == expected


@pytest.mark.parametrize(
    ("deadline", "reason", "since", "expected"),
    [
        (None, "", "2016-01-01T00:01:09Z", False),
        (NEVER, "", "2016-01-01T00:01:09Z", False),
        (10, "", "2016-01-01T00:01:09Z", True),
        (10, "", "2016-01-01T00:01:11Z", False),
        (10, "NewReplicaSetAvailable", "2016-01-01T00:00:00Z", False),
    ],
)
def test_timed_out(deadline: int | None, reason: str, since: str, expected: bool) -> None:
    status = counted(0, 0, 0, conditions=(progressing("True", reason, since),))
    made = deployment(1, deadline=deadline, status=status)
    assert is_timed_out(made, status, parse_time("2016-01-01T00:01:20Z")) == expected


@pytest.mark.parametrize(
    ("deadline", "replicas", "available", "conditions", "now", "expected"),
    [
        (None, 4, 2, (), TIME, None),
        (NEVER, 4, 2, (), TIME, None),
        (60, 4, 2, (), TIME, None),
        (60, 3, 3, (), TIME, None),
        (60, 3, 0, (TIMED_OUT,), TIME, None),
        (60, 3, 1, (progressing("True"),), "2017-02-15T18:49:30Z", 31),
        (60, 3, 1, (progressing("True"),), "2017-02-15T18:49:59Z", 2),
        (60, 3, 1, (progressing("True"),), "2017-02-15T18:49:59.1Z", 0.905),
        (60, 3, 1, (progressing("True"),), "2017-02-15T18:50:00Z", 0.005),
        (60, 3, 1, (progressing("True"),), "2017-02-15T18:50:01Z", 0.005),
        (60, 3, 1, (progressing("True"),), "2017-02-15T18:51:00Z", 0.005),
        (60, 3, 1, (COMPLETE,), "2017-02-15T18:51:00Z", None),
    ],
)
def test_a_stuck_rollout_is_checked_at_its_deadline(
    deadline: int | None,
    replicas: int,
    available: int,
    conditions: tuple[DeploymentCondition, ...],
    now: str,
    expected: float | None,
) -> None:
    """One second after the deadline, or at the deadline where upstream polls."""
    status = counted(3, 3, available, conditions=conditions)
    made = deployment(replicas, deadline=deadline, status=status)
    after = next_progress_check(made, status, parse_time(now))
    assert (after if after is None else after / SECOND) == expected


def sets(**numbers: tuple[int, int, int]) -> list[ReplicaSet]:
    return [
        replica_set(name, size, actual=actual, available=available)
        for name, (size, actual, available) in numbers.items()
    ]


@pytest.mark.parametrize(
    ("deadline", "counts", "condition", "all_sets", "expected"),
    [
        pytest.param(None, (3, 2, 2, 2), UPDATED, {"bar": (0, 1, 1), "foo": (3, 2, 2)}, None, id="no deadline"),
        pytest.param(60, (3, 3, 3, 3), COMPLETE, {"bar": (3, 3, 3)}, COMPLETE, id="one ReplicaSet"),
        pytest.param(
            60,
            (3, 2, 2, 2),
            UPDATED,
            {"bar": (0, 1, 1), "foo": (3, 2, 2)},
            UPDATED.changed(last_update_time=LATER),
            id="progress after progress",
        ),
        pytest.param(
            60,
            (3, 2, 2, 2),
            TIMED_OUT,
            {"bar": (0, 1, 1), "foo": (3, 2, 2)},
            progressing("True", "ReplicaSetUpdated", LATER),
            id="progress after a timeout",
        ),
        pytest.param(
            60,
            (3, 2, 2, 2),
            None,
            {"bar": (0, 1, 1), "foo": (3, 2, 2)},
            progressing("True", "ReplicaSetUpdated", LATER),
            id="progress from nothing",
        ),
        pytest.param(
            60,
            (3, 3, 3, 3),
            UPDATED,
            {"foo": (3, 3, 3)},
            COMPLETE.changed(last_update_time=LATER),
            id="complete after progress",
        ),
        pytest.param(
            60,
            (3, 3, 3, 3),
            TIMED_OUT,
            {"foo": (3, 3, 3)},
            progressing("True", "NewReplicaSetAvailable", LATER),
            id="complete after a timeout",
        ),
        pytest.param(
            60,
            (3, 3, 3, 3),
            None,
            {"foo": (3, 3, 3)},
            progressing("True", "NewReplicaSetAvailable", LATER),
            id="complete from nothing",
        ),
        pytest.param(
            60,
            (0, 3, 3, 3),
            UPDATED,
            {"bar": (0, 0, 0)},
            COMPLETE.changed(last_update_time=LATER),
            id="complete without a new ReplicaSet",
        ),
        pytest.param(
            60,
            (3, 2, 2, 2),
            UPDATED,
            {"foo": (3, 2, 2)},
            progressing("False", "ProgressDeadlineExceeded", LATER),
            id="times out",
        ),
        pytest.param(60, (3, 2, 2, 2), TIMED_OUT, {"foo": (3, 2, 2)}, TIMED_OUT, id="timed out before"),
    ],
)
def test_the_condition_progressing(
    deadline: int | None,
    counts: tuple[int, int, int, int],
    condition: DeploymentCondition | None,
    all_sets: dict[str, tuple[int, int, int]],
    expected: DeploymentCondition | None,
) -> None:
    replicas, actual, updated, available = counts
    status = counted(actual, updated, available, conditions=() if condition is None else (condition,))
    made = deployment(replicas, deadline=deadline, status=status)
    everything = sets(**all_sets)
    new = next((one for one in everything if one.metadata.name == "foo"), None)
    after = calculate_rollout_status(made, everything, new, parse_time(LATER))
    found = find_condition(after, "Progressing")
    assert (found and found.changed(message="")) == (expected and expected.changed(message=""))


def test_a_changed_condition_moves_to_the_end() -> None:
    available = DeploymentCondition(type="Available", status="True", reason="AwesomeController")
    status = with_condition(with_condition(DeploymentStatus(), progressing("False", "ForSomeReason")), available)
    assert [condition.type for condition in status.conditions] == ["Progressing", "Available"]
    changed = with_condition(status, progressing("True", "BecauseItIs"))
    assert [(c.type, c.reason) for c in changed.conditions] == [
        ("Available", "AwesomeController"),
        ("Progressing", "BecauseItIs"),
    ]
    assert with_condition(changed, progressing("True", "BecauseItIs", LATER)) == changed


def test_conditions_can_be_found_and_removed() -> None:
    status = counted(0, 0, 0, conditions=(UPDATED,))
    assert find_condition(status, "ReplicaFailure") is None
    assert without_condition(status, "ReplicaFailure") == status
    assert without_condition(status, "Progressing").conditions == ()
    assert without_condition(DeploymentStatus(), "Progressing") == DeploymentStatus()


def test_available_needs_the_minimum_of_replicas() -> None:
    """25% of 5 is one: three are too few."""
    made = deployment(5, "25%", "25%")
    for available, expected in ((3, "False"), (4, "True")):
        status = calculate_status(made, sets(foo=(5, 5, available)), None, parse_time(TIME))
        condition = find_condition(status, "Available")
        assert condition is not None
        assert condition.status == expected
        assert status.unavailable_replicas == 5 - available


def test_terminating_replicas_are_unknown_if_a_replica_set_omits_them() -> None:
    [one] = sets(foo=(1, 1, 1))
    unreported = one.changed(status=one.status.changed(observed_generation=1))
    reported = one.changed(status=one.status.changed(observed_generation=1, terminating_replicas=2))
    made = deployment(1)
    assert calculate_status(made, [one, reported], one, 0).terminating_replicas == 2
    assert calculate_status(made, [unreported, reported], one, 0).terminating_replicas is None


def test_the_failure_of_the_new_replica_set_is_reported_first() -> None:
    def failing(name: str) -> ReplicaSet:
        condition = ReplicaSetCondition(type="ReplicaFailure", status="True", reason="FailedCreate", message=name)
        one = replica_set(name, 1)
        return one.changed(status=one.status.changed(conditions=(condition,)))

    new = failing("new")
    status = calculate_rollout_status(deployment(1, deadline=60), [failing("old"), new], new, parse_time(TIME))
    condition = find_condition(status, "ReplicaFailure")
    assert condition is not None
    assert condition.message == "new"
