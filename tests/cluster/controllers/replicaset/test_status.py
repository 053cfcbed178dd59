"""The counts and conditions of a ReplicaSet.

Adapted from: replica_set_utils_test.go TestCalculateStatus, TestCalculateStatusConditions
"""

from __future__ import annotations

import pytest

from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import Pod, PodCondition, PodStatus
from kubesim.api.timestamps import SECOND, format_time, parse_time
from kubesim.api.workloads.apps import (
    ReplicaSet,
    ReplicaSetCondition,
    ReplicaSetStatus,
    ReplicationController,
    ReplicationControllerStatus,
)
from kubesim.api.workloads.templates import PodTemplateSpec
from kubesim.cluster.controllers.pods import next_availability_check
from kubesim.cluster.controllers.replicaset.status import (
    ReplicaCounts,
    calculate_status,
    count_replicas,
    failure_reason,
)

NOW = parse_time("2026-01-31T12:00:00Z")
FEW, ALL = {"name": "foo"}, {"name": "foo", "type": "production"}
HOUR = 3600


def pod(labels: dict[str, str], *, ready_for: float | None = 0) -> Pod:
    conditions: tuple[PodCondition, ...] = ()
    if ready_for is not None:
        since = format_time(NOW - round(ready_for * SECOND))
        conditions = (PodCondition(type="Ready", status="True", last_transition_time=since),)
    return Pod(metadata=ObjectMeta(labels=labels), status=PodStatus(conditions=conditions))


@pytest.mark.parametrize(
    ("pods", "min_ready", "expected"),
    [
        ([pod(ALL)], 0, (1, 1, 1, 1)),
        ([pod(FEW)], 0, (1, 0, 1, 1)),
        ([pod(ALL), pod(ALL)], 0, (2, 2, 2, 2)),
        ([pod(FEW), pod(FEW)], 0, (2, 0, 2, 2)),
        ([pod(FEW), pod(ALL)], 0, (2, 1, 2, 2)),
        ([pod(ALL, ready_for=None)], 0, (1, 1, 0, 0)),
        ([pod(ALL)], HOUR, (1, 1, 1, 0)),
        ([pod(ALL, ready_for=HOUR)], HOUR, (1, 1, 1, 1)),
        ([pod(ALL, ready_for=2 * HOUR)], HOUR, (1, 1, 1, 1)),
    ],
)
def test_counts_of_pods(pods: list[Pod], min_ready: int, expected: tuple[int, int, int, int]) -> None:
    template = PodTemplateSpec(metadata=ObjectMeta(labels=ALL))
    assert count_replicas(pods, template, min_ready, NOW) == ReplicaCounts(*expected)


def test_only_a_replica_set_counts_terminating_pods() -> None:
    counts = ReplicaCounts(1, 1, 1, 1)
    of_set = calculate_status(ReplicaSet(), counts, 2, None, NOW)
    assert isinstance(of_set, ReplicaSetStatus)
    assert of_set.terminating_replicas == 2
    of_controller = calculate_status(ReplicationController(), counts, 2, None, NOW)
    assert isinstance(of_controller, ReplicationControllerStatus)
    assert "terminatingReplicas" not in of_controller.to_json()


FAILING = ReplicaSetCondition(type="ReplicaFailure", status="True")


@pytest.mark.parametrize(
    ("before", "existing", "error", "expected"),
    [
        ((), 1, "fake", [("FailedCreate", "fake")]),
        ((), 3, "fake", [("FailedDelete", "fake")]),
        ((FAILING,), 1, "", []),
        ((FAILING,), 1, "fake", [("", "")]),
        ((), 1, "", []),
    ],
)
def test_replica_failure_lasts_until_the_failure_is_over(
    before: tuple[ReplicaSetCondition, ...], existing: int, error: str, expected: list[tuple[str, str]]
) -> None:
    owner = ReplicaSet(status=ReplicaSetStatus(conditions=before))
    failure = (failure_reason(existing, 2), error) if error else None
    status = calculate_status(owner, ReplicaCounts(existing, 0, 0, 0), 0, failure, NOW)
    assert [(condition.reason, condition.message) for condition in status.conditions] == expected


def test_the_next_available_pod_decides_when_to_check_again() -> None:
    """Adapted from: replica_set_test.go TestReplicaSetAvailabilityCheck, with whole seconds."""
    pods = [pod(ALL, ready_for=None), pod(ALL), pod(ALL, ready_for=2), pod(ALL, ready_for=4)]
    assert next_availability_check(pods, 5, NOW) == 1 * SECOND
    assert next_availability_check(pods[:1], 5, NOW) is None
    assert next_availability_check([pod(ALL, ready_for=6)], 5, NOW) is None
