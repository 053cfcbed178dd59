"""When a finished Job expires.

Adapted from: pkg/controller/ttlafterfinished/ttlafterfinished_controller_test.go TestTimeLeft
"""

from __future__ import annotations

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.api.workloads.batch import JobStatus
from kubesim.cluster.controllers.job.outcome.ending import new_condition
from kubesim.cluster.controllers.job.ttl import expires_at
from tests.support.cluster.batch import NOW, make_job


@pytest.mark.parametrize("end", ["Complete", "Failed"])
@pytest.mark.parametrize(("ago", "ttl", "left"), [(0, None, None), (0, 0, 0), (0, 10, 10), (10, 15, 5)])
def test_the_ttl_starts_at_the_end(end: str, ago: int, ttl: int | None, left: int | None) -> None:
    condition = new_condition(end, "True", "", "", NOW - ago * SECOND)
    job = make_job(ttl_seconds_after_finished=ttl, status=JobStatus(conditions=(condition,)))
    assert expires_at(job) == (None if left is None else NOW + left * SECOND)


def test_a_running_job_does_not_expire() -> None:
    assert expires_at(make_job(ttl_seconds_after_finished=100)) is None


def test_a_job_being_deleted_does_not_expire_again() -> None:
    status = JobStatus(conditions=(new_condition("Complete", "True", "", "", NOW),))
    assert expires_at(make_job(ttl_seconds_after_finished=0, deleting=True, status=status)) is None
