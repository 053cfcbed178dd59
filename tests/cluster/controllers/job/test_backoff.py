"""The back-off before a Job replaces a failed pod.

Adapted from: pkg/controller/job/backoff_utils_test.go; job_controller_test.go
TestGetPodCreationInfoForIndependentIndexes
"""

from __future__ import annotations

import pytest

from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
)
from kubesim.api.timestamps import SECOND, format_time
from kubesim.cluster.controllers.job.outcome.backoff import (
    NO_FAILURES,
    BackoffRecord,
    new_backoff_record,
    remaining_time,
    remaining_time_of_index,
)
from kubesim.cluster.controllers.job.outcome.job_pods import finished_time
from kubesim.cluster.controllers.job.sync_plan import plan_sync
from tests.support.cluster.batch import NOW, make_job, make_pod


def ended(phase: str, seconds: int) -> Pod:
    """A pod that terminated this many seconds before or after NOW."""
    return make_pod(phase, finished_at=format_time(NOW + seconds * SECOND))


@pytest.mark.parametrize(
    ("old", "succeeded", "failed", "expected"),
    [
        pytest.param(0, [], [0], (1, NOW), id="one new failure"),
        pytest.param(0, [], [0, -1], (2, NOW), id="two new failures"),
        pytest.param(0, [0], [-2, -1], (0, 0), id="two failures followed by success"),
        pytest.param(0, [-2], [0, -4, -3, -1], (2, NOW), id="two failures, one success and two more failures"),
        pytest.param(2, [], [0], (3, NOW), id="failure count 2 and one new failure"),
        pytest.param(0, [0], [0], (0, 0), id="success and failure at same timestamp"),
        pytest.param(0, [], [], (0, 0), id="no success, no failure"),
        pytest.param(0, [0], [], (0, 0), id="one success"),
    ],
)
def test_record_of_failures(old: int, succeeded: list[int], failed: list[int], expected: tuple[int, int]) -> None:
    before = BackoffRecord(old, 0)
    after = new_backoff_record(
        before, [ended("Succeeded", at) for at in succeeded], [ended("Failed", at) for at in failed]
    )
    assert (after.failures_after_last_success, after.last_failure_time) == expected


@pytest.mark.parametrize(
    ("failures", "since", "expected"),
    [
        pytest.param(0, 0, 0, id="no failures"),
        pytest.param(1, 0, 10, id="one failure, just now"),
        pytest.param(1, 1, 9, id="one failure, 1 s ago"),
        pytest.param(1, 10, 0, id="one failure, as long ago as the delay"),
        pytest.param(1, 11, 0, id="one failure, longer ago than the delay"),
        pytest.param(3, 0, 40, id="three failures"),
        pytest.param(6, 0, 320, id="six failures, below the maximum"),
        pytest.param(7, 0, 600, id="seven failures, the maximum"),
        pytest.param(2_000_000_000, 0, 600, id="any number of failures"),
    ],
)
def test_remaining_time(failures: int, since: int, expected: int) -> None:
    assert remaining_time(BackoffRecord(failures, NOW), NOW + since * SECOND) == expected * SECOND


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(None, 0, id="no failures"),
        pytest.param(make_pod("Failed", failures=2, finished_at=None, deleted_at=NOW), 40, id="two previous failures"),
        pytest.param(
            make_pod("Failed", failures=1, ignored=1, finished_at=None, deleted_at=NOW),
            40,
            id="one previous failure counted and one ignored",
        ),
    ],
)
def test_remaining_time_of_an_index(pod: Pod | None, expected: int) -> None:
    assert remaining_time_of_index(pod, NOW) == expected * SECOND


# -- the end of a pod -----------------------------------------------------------------------------------------------


def container(finished: int | None = None, *, name: str = "", running: bool = False) -> ContainerStatus:
    """`finished` is in seconds from NOW; None: the runtime does not report it."""
    if running:
        return ContainerStatus(name=name, state=ContainerState(running=ContainerStateRunning()))
    moment = None if finished is None else format_time(NOW + finished * SECOND)
    return ContainerStatus(
        name=name, state=ContainerState(terminated=ContainerStateTerminated(finished_at=moment, exit_code=0))
    )


def ready_condition(status: str, at: int) -> PodCondition:
    return PodCondition(type="Ready", status=status, last_transition_time=format_time(NOW + at * SECOND))


SIDECAR = PodSpec(init_containers=(Container(name="sidecar", restart_policy="Always"),))
DELETED = ObjectMeta(deletion_timestamp=format_time(NOW))


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(
            Pod(status=PodStatus(container_statuses=(container(-1), container(0), container(-2)))),
            0,
            id="the last of several containers",
        ),
        pytest.param(
            Pod(
                metadata=DELETED,
                status=PodStatus(container_statuses=(container(-1), container(running=True), container(-2))),
            ),
            0,
            id="one container runs: deletionTimestamp",
        ),
        pytest.param(
            Pod(metadata=DELETED, status=PodStatus(container_statuses=(container(running=True),))),
            0,
            id="deletionTimestamp",
        ),
        pytest.param(
            Pod(
                metadata=DELETED.changed(deletion_grace_period_seconds=30),
                status=PodStatus(container_statuses=(container(running=True),)),
            ),
            -30,
            id="deletionTimestamp without the grace period",
        ),
        pytest.param(
            Pod(status=PodStatus(container_statuses=(container(),), conditions=(ready_condition("False", 0),))),
            0,
            id="the time at which Ready became False",
        ),
        pytest.param(
            Pod(
                metadata=DELETED,
                status=PodStatus(container_statuses=(container(),), conditions=(ready_condition("True", -30),)),
            ),
            0,
            id="not the time at which Ready became True",
        ),
        pytest.param(
            Pod(
                metadata=ObjectMeta(creation_timestamp=format_time(NOW)),
                status=PodStatus(container_statuses=(container(),)),
            ),
            0,
            id="creationTimestamp",
        ),
        pytest.param(
            Pod(
                spec=SIDECAR,
                status=PodStatus(
                    container_statuses=(container(-1),), init_container_statuses=(container(0, name="sidecar"),)
                ),
            ),
            0,
            id="a sidecar ends last",
        ),
    ],
)
def test_finished_time(pod: Pod, expected: int) -> None:
    assert finished_time(pod) == NOW + expected * SECOND


# -- each index waits on its own ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failed", "created", "wait"),
    [
        pytest.param({0: None, 1: None}, (0, 1), None, id="no index has failed"),
        pytest.param({0: -20, 1: -20}, (0, 1), None, id="both have waited long enough"),
        pytest.param({0: 0, 1: -20}, (1,), None, id="one has waited long enough"),
        pytest.param({0: -3, 1: 0}, (), 7, id="the shorter wait counts"),
    ],
)
def test_indexes_wait_independently(failed: dict[int, int | None], created: tuple[int, ...], wait: int | None) -> None:
    pods = [
        make_pod("Failed", f"pod-{index}", index=index, failures=0, finished_at=format_time(NOW + at * SECOND))
        for index, at in failed.items()
        if at is not None
    ]
    job = make_job(2, 2, indexed=True, backoff_limit_per_index=5)
    plan = plan_sync(job, pods, NO_FAILURES, NOW)
    assert plan.changes.create == created
    assert plan.sync_after == (None if wait is None else wait * SECOND)
