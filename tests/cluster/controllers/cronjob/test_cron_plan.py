"""When a CronJob starts a Job, and when its next sync is.

Adapted from: pkg/controller/cronjob/cronjob_controllerv2_test.go TestControllerV2SyncCronJob,
TestControllerV2CleanupFinishedJobs; utils_test.go
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ObjectMeta
from kubesim.api.timestamps import MILLISECOND, MINUTE, SECOND, format_time, parse_time
from kubesim.api.workloads.batch import CronJob, CronJobSpec, CronJobStatus, Job, JobStatus
from kubesim.cluster.controllers.cronjob.cron_plan import (
    InvalidSchedule,
    missed_runs,
    next_schedule_delay,
    plan_cron_job,
    schedule_of,
)
from kubesim.cluster.controllers.cronjob.new_job import job_reference, new_job
from kubesim.cluster.controllers.job.outcome.ending import new_condition

HOUR, DAY = 60 * MINUTE, 24 * 60 * MINUTE
DELTA = 100 * MILLISECOND
TOP = parse_time("2016-05-19T10:00:00Z")
PRIOR, BEFORE, AFTER = TOP - HOUR + MINUTE, TOP - MINUTE, TOP + MINUTE
WEEK_LATER = TOP + 7 * DAY
SHORT, MEDIUM, LONG = 10, 2 * 60 * 60, 1_000_000


def cron_job(created: int, last: int | None = None, schedule: str = "0 * * * ?", **spec: Any) -> CronJob:
    return CronJob(
        kind="CronJob",
        metadata=ObjectMeta(
            name="mycronjob", namespace="default", uid="1a2b3c", creation_timestamp=format_time(created)
        ),
        spec=CronJobSpec(schedule=schedule, **{"concurrency_policy": "Allow", **spec}),
        status=CronJobStatus(last_schedule_time=None if last is None else format_time(last)),
    )


def made_by(owner: CronJob, scheduled: int, *, done: bool, uid: str = "1234", end: str = "Complete") -> Job:
    job = new_job(owner, scheduled)
    status = JobStatus(start_time=format_time(scheduled))
    if done:
        conditions = (new_condition(end, "True", "", "", scheduled + 10 * SECOND),)
        status = status.changed(conditions=conditions, completion_time=format_time(scheduled + 10 * SECOND))
    return job.changed(metadata=job.metadata.changed(uid=uid), status=status)


# policy, deadline, now -> started, Warnings, until the next sync
NEVER_RAN: list[Any] = [
    pytest.param({"schedule": "obvious error schedule"}, BEFORE, False, 1, None, id="not valid schedule"),
    pytest.param({"time_zone": "bad timezone"}, BEFORE, False, 1, None, id="not valid time zone"),
    *(
        pytest.param({"concurrency_policy": policy}, BEFORE, False, 0, MINUTE + DELTA, id=f"not time, {policy}")
        for policy in ("Allow", "Forbid", "Replace")
    ),
    pytest.param({"time_zone": "America/New_York"}, BEFORE, False, 0, MINUTE + DELTA, id="not time in zone"),
    *(
        pytest.param({"concurrency_policy": policy}, AFTER, True, 0, HOUR - MINUTE + DELTA, id=f"is time, {policy}")
        for policy in ("Allow", "Forbid", "Replace")
    ),
    pytest.param({"time_zone": "America/New_York"}, AFTER, True, 0, HOUR - MINUTE + DELTA, id="is time in zone"),
    pytest.param(
        {"time_zone": "America/New_York", "schedule": "TZ=UTC 0 * * * ?"},
        AFTER,
        True,
        1,
        HOUR - MINUTE + DELTA,
        id="TZ is also set in schedule",
    ),
    pytest.param({"suspend": True}, AFTER, False, 0, None, id="is time, suspended"),
    pytest.param(
        {"starting_deadline_seconds": SHORT},
        AFTER + 11 * MINUTE,
        False,
        0,
        HOUR - 12 * MINUTE + DELTA,
        id="is time, past deadline",
    ),
    pytest.param(
        {"starting_deadline_seconds": LONG}, AFTER, True, 0, HOUR - MINUTE + DELTA, id="is time, not past deadline"
    ),
]


@pytest.mark.parametrize(("spec", "now", "starts", "warnings", "requeue"), NEVER_RAN)
def test_never_ran(spec: dict[str, Any], now: int, starts: bool, warnings: int, requeue: int | None) -> None:
    plan = plan_cron_job(cron_job(BEFORE, **spec), [], (), now)
    assert plan.start == (TOP if starts else None)
    assert sum(event.type == "Warning" for event in plan.events) == warnings
    assert plan.sync_after == requeue


@pytest.mark.parametrize(
    ("spec", "now", "start", "warnings", "requeue"),
    [
        *(
            pytest.param({"concurrency_policy": policy}, BEFORE, None, 0, MINUTE + DELTA, id=f"not time, {policy}")
            for policy in ("Allow", "Forbid", "Replace")
        ),
        *(
            pytest.param({"concurrency_policy": policy}, AFTER, TOP, 0, HOUR - MINUTE + DELTA, id=f"is time, {policy}")
            for policy in ("Allow", "Forbid", "Replace")
        ),
        pytest.param({"suspend": True}, AFTER, None, 0, None, id="is time, suspended"),
        pytest.param(
            {"starting_deadline_seconds": SHORT}, AFTER, None, 0, HOUR - MINUTE + DELTA, id="is time, past deadline"
        ),
        pytest.param(
            {"starting_deadline_seconds": LONG}, AFTER, TOP, 0, HOUR - MINUTE + DELTA, id="is time, not past deadline"
        ),
        *(
            pytest.param(
                {"concurrency_policy": policy, **({} if deadline is None else {"starting_deadline_seconds": deadline})},
                WEEK_LATER,
                WEEK_LATER,
                warnings,
                HOUR + DELTA,
                id=f"long overdue, deadline {deadline}, {policy}",
            )
            for policy in ("Allow", "Forbid", "Replace")
            for deadline, warnings in ((None, 1), (LONG, 1), (MEDIUM, 0), (SHORT, 0))
        ),
    ],
)
def test_previous_run_has_finished(
    spec: dict[str, Any], now: int, start: int | None, warnings: int, requeue: int | None
) -> None:
    owner = cron_job(TOP - HOUR - MINUTE, PRIOR, **spec)
    job = made_by(owner, PRIOR, done=True)
    owner = owner.changed(status=owner.status.changed(active=(job_reference(job),)))
    plan = plan_cron_job(owner, [job], {job.metadata.name}, now)
    assert (plan.start, plan.sync_after) == (start, requeue)
    assert sum(event.type == "Warning" for event in plan.events) == warnings
    assert f"Saw completed job: {job.metadata.name}, condition: Complete" in [event.message for event in plan.events]
    assert (plan.status.active, plan.status.last_successful_time) == ((), format_time(PRIOR + 10 * SECOND))


@pytest.mark.parametrize(
    ("spec", "now", "starts", "replaced", "requeue"),
    [
        *(
            pytest.param({"concurrency_policy": policy}, BEFORE, False, 0, MINUTE + DELTA, id=f"not time, {policy}")
            for policy in ("Allow", "Forbid", "Replace")
        ),
        pytest.param({}, AFTER, True, 0, HOUR - MINUTE + DELTA, id="is time, Allow"),
        pytest.param({"concurrency_policy": "Forbid"}, AFTER, False, 0, HOUR - MINUTE + DELTA, id="is time, Forbid"),
        pytest.param({"concurrency_policy": "Replace"}, AFTER, True, 1, HOUR - MINUTE + DELTA, id="is time, Replace"),
        pytest.param({"suspend": True}, AFTER, False, 0, None, id="is time, suspended"),
        pytest.param(
            {"starting_deadline_seconds": SHORT}, AFTER, False, 0, HOUR - MINUTE + DELTA, id="is time, past deadline"
        ),
        pytest.param(
            {"starting_deadline_seconds": LONG}, AFTER, True, 0, HOUR - MINUTE + DELTA, id="is time, not past deadline"
        ),
    ],
)
def test_previous_run_is_still_active(
    spec: dict[str, Any], now: int, starts: bool, replaced: int, requeue: int | None
) -> None:
    owner = cron_job(TOP - HOUR - MINUTE, PRIOR, **spec)
    job = made_by(owner, PRIOR, done=False)
    owner = owner.changed(status=owner.status.changed(active=(job_reference(job),)))
    plan = plan_cron_job(owner, [job], {job.metadata.name}, now)
    assert (plan.start, len(plan.replaced), plan.sync_after) == (TOP if starts else None, replaced, requeue)
    forbidden = [event.message for event in plan.events if event.reason == "JobAlreadyActive"]
    if spec.get("concurrency_policy") == "Forbid" and now == AFTER:
        assert forbidden == ["Not starting job because prior execution is running and concurrency policy is Forbid"]
    else:
        assert not forbidden


@pytest.mark.parametrize(
    ("created", "last", "spec", "now", "starts", "requeue"),
    [
        pytest.param(BEFORE, None, {}, TOP, False, HOUR - MINUTE + DELTA, id="never ran, not time"),
        pytest.param(BEFORE - HOUR, None, {}, BEFORE, True, HOUR + DELTA, id="never ran, is time"),
        pytest.param(
            BEFORE - HOUR,
            None,
            {"starting_deadline_seconds": SHORT},
            BEFORE + 11 * SECOND,
            False,
            HOUR - 11 * SECOND + DELTA,
            id="never ran, past deadline",
        ),
        pytest.param(
            BEFORE - HOUR,
            None,
            {"starting_deadline_seconds": LONG},
            BEFORE + 9 * SECOND,
            True,
            HOUR - 9 * SECOND + DELTA,
            id="never ran, not past deadline",
        ),
        pytest.param(BEFORE - HOUR, BEFORE, {}, TOP, False, HOUR - MINUTE + DELTA, id="ran, not time"),
        pytest.param(BEFORE - HOUR, BEFORE, {}, TOP + HOUR, True, HOUR - MINUTE + DELTA, id="ran, is time"),
    ],
)
def test_every_hour(created: int, last: int | None, spec: dict[str, Any], now: int, starts: bool, requeue: int) -> None:
    plan = plan_cron_job(cron_job(created, last, "@every 1h", **spec), [], (), now)
    assert (plan.start is not None, plan.sync_after) == (starts, requeue)


def test_a_deleted_job_in_the_active_list_is_reported_as_missing() -> None:
    owner = cron_job(TOP - HOUR, PRIOR)
    job = made_by(owner, PRIOR, done=False)
    owner = owner.changed(status=owner.status.changed(active=(job_reference(job),)))
    plan = plan_cron_job(owner, [], (), BEFORE)
    assert plan.status.active == ()
    assert [event.message for event in plan.events] == [f"Active job went missing: {job.metadata.name}"]
    kept = plan_cron_job(owner, [], {job.metadata.name}, BEFORE)  # the Job exists, but now has another controller
    assert len(kept.status.active) == 1


def test_a_job_that_another_client_created_is_reported() -> None:
    owner = cron_job(TOP - HOUR, PRIOR)
    job = made_by(owner, PRIOR, done=False)
    (event,) = plan_cron_job(owner, [job], (), BEFORE).events
    assert (event.reason, event.message) == (
        "UnexpectedJob",
        f"Saw a job that the controller did not create or forgot: {job.metadata.name}",
    )


def test_a_cron_job_being_deleted_starts_no_job() -> None:
    owner = cron_job(BEFORE)
    owner = owner.changed(metadata=owner.metadata.changed(deletion_timestamp=format_time(TOP)))
    plan = plan_cron_job(owner, [], (), AFTER)
    assert (plan.start, plan.sync_after) == (None, None)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        pytest.param({}, [], id="no limits"),
        pytest.param(
            {"successful_jobs_history_limit": 1, "failed_jobs_history_limit": 1}, ["a", "b", "d"], id="1 each"
        ),
        pytest.param({"successful_jobs_history_limit": 0}, ["a", "b", "c"], id="no successful one"),
        pytest.param({"failed_jobs_history_limit": 0}, ["d", "e"], id="no failed one"),
        pytest.param({"successful_jobs_history_limit": 3, "failed_jobs_history_limit": 2}, [], id="not more than that"),
    ],
)
def test_history_limits(limits: dict[str, Any], expected: list[str]) -> None:
    """The oldest Jobs are deleted first."""
    owner = cron_job(TOP - 10 * HOUR, PRIOR, **limits)
    ends = {
        "c": (-2, "Complete"),
        "a": (-4, "Complete"),
        "b": (-3, "Complete"),
        "e": (-1, "Failed"),
        "d": (-5, "Failed"),
    }
    jobs = [made_by(owner, TOP + hours * HOUR, done=True, uid=uid, end=end) for uid, (hours, end) in ends.items()]
    plan = plan_cron_job(owner, jobs, (), BEFORE)
    assert [job.metadata.uid for job in plan.expired] == expected


# -- scheduled times ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "created", "last", "deadline", "now", "earliest", "latest", "missed"),
    [
        pytest.param("0 * * * *", 0, None, None, 30 * SECOND, 0, None, "none", id="now before next schedule"),
        pytest.param("0 * * * *", 0, None, None, 61 * MINUTE, 0, HOUR, "none", id="now just after next schedule"),
        pytest.param(
            "0 * * * *", 10 * SECOND, None, None, 301 * MINUTE, 10 * SECOND, 5 * HOUR, "few", id="missed 5 schedules"
        ),
        pytest.param(
            "30 6-16/4 * * 1-5",
            0,
            30 * MINUTE,
            None,
            DAY + 31 * MINUTE,
            30 * MINUTE,
            DAY + 30 * MINUTE,
            "few",
            id="complex schedule",
        ),
        pytest.param(
            "30 10,11,12 * * 1-5",
            0,
            30 * MINUTE,
            None,
            30 * HOUR + 30 * MINUTE,
            30 * MINUTE,
            None,
            "few",
            id="another complex schedule",
        ),
        pytest.param(
            "30 6-16/4 * * 1-5",
            0,
            30 * MINUTE,
            None,
            4 * DAY + 31 * MINUTE,
            30 * MINUTE,
            4 * DAY + 30 * MINUTE,
            "few",
            id="longer diff between executions",
        ),
        pytest.param(
            "30 6-16/4 * * 1-5",
            0,
            None,
            None,
            DAY + 31 * MINUTE,
            0,
            DAY + 30 * MINUTE,
            "few",
            id="shorter diff between executions",
        ),
        pytest.param(
            "@every 1h",
            -59 * MINUTE,
            MINUTE,
            None,
            7 * DAY,
            MINUTE,
            6 * DAY + 23 * HOUR + MINUTE,
            "many",
            id="@every schedule",
        ),
        pytest.param("0 * * * *", 0, 0, None, 30 * SECOND, 0, None, "none", id="created and scheduled at once"),
        pytest.param(
            "*/5 * * * *", 0, 30 * MINUTE, None, 31 * MINUTE, 30 * MINUTE, None, "none", id="from lastScheduleTime"
        ),
        pytest.param(
            "*/5 * * * *", 0, 30 * MINUTE, 60, 31 * MINUTE, 30 * MINUTE, None, "none", id="within the deadline"
        ),
        pytest.param(
            "*/5 * * * *", 0, 30 * MINUTE, 60, 32 * MINUTE, 31 * MINUTE, None, "none", id="outside the deadline"
        ),
    ],
)
def test_missed_runs(
    schedule: str,
    created: int,
    last: int | None,
    deadline: int | None,
    now: int,
    earliest: int,
    latest: int | None,
    missed: str,
) -> None:
    spec = {} if deadline is None else {"starting_deadline_seconds": deadline}
    owner = cron_job(TOP + created, None if last is None else TOP + last, schedule, **spec)
    runs = missed_runs(owner, TOP + now, schedule_of(owner), within_deadline=True)
    assert (runs.earliest, runs.latest) == (TOP + earliest, None if latest is None else TOP + latest)
    assert (runs.some, runs.many) == (missed != "none", missed == "many")


def test_a_schedule_without_times_is_invalid() -> None:
    owner = cron_job(TOP + 10 * SECOND, None, "59 23 31 2 *")
    with pytest.raises(InvalidSchedule, match="time difference between two schedules is less than 1 second"):
        missed_runs(owner, TOP + HOUR, schedule_of(owner), within_deadline=True)
    (event,) = plan_cron_job(owner, [], (), TOP + HOUR).events
    assert (event.reason, event.type) == ("InvalidSchedule", "Warning")


@pytest.mark.parametrize(
    ("schedule", "last", "now", "expected"),
    [
        pytest.param(
            "30 6-16/4 * * 1-5", 30 * MINUTE, DAY + 31 * MINUTE, 3 * HOUR + 59 * MINUTE, id="skipping the weekend"
        ),
        pytest.param(
            "30 10,11,12 * * 1-5", 30 * MINUTE, 30 * HOUR + 30 * MINUTE, 66 * HOUR, id="another one, over the weekend"
        ),
        pytest.param(
            "0 12 * * 4",
            2 * HOUR,
            19 * DAY + HOUR + 30 * MINUTE,
            48 * HOUR + 30 * MINUTE,
            id="once a week, missed two runs",
        ),
        pytest.param("0 12 * * 5", None, 6 * HOUR, 20 * HOUR, id="no previous run"),
    ],
)
def test_delay_until_the_next_run(schedule: str, last: int | None, now: int, expected: int) -> None:
    owner = cron_job(TOP, None if last is None else TOP + last, schedule)
    assert next_schedule_delay(owner, TOP + now, schedule_of(owner)) == expected + DELTA


def test_a_job_has_the_template_and_the_scheduled_time() -> None:
    owner = cron_job(TOP, time_zone="America/New_York")
    job = new_job(owner, TOP)
    assert job.metadata.name == "mycronjob-24394200"
    timestamp = job.metadata.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"]
    assert timestamp == "2016-05-19T06:00:00-04:00"
    assert new_job(cron_job(TOP), TOP).metadata.annotations == {
        "batch.kubernetes.io/cronjob-scheduled-timestamp": "2016-05-19T10:00:00Z"
    }
