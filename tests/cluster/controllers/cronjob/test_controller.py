"""CronJobs in a cluster. A run starts at 2000-01-01T00:00:00Z; the first scheduled minute is 00:01."""

from __future__ import annotations

from typing import Any

from kubesim.api.timestamps import format_time
from kubesim.api.workloads.batch import CronJob, Job, JobStatus
from kubesim.cluster.controllers.job.outcome.ending import new_condition
from tests.support.cluster.controlled import ControlledCluster, controlled


def cron_job(schedule: str = "* * * * *", **spec: Any) -> dict[str, Any]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "tick"},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": {"template": {"spec": pod}}}, **spec},
    }


def finish(cluster: ControlledCluster, job: Job, end: str = "Complete") -> None:
    """Finish a Job as the Job controller does."""
    now = cluster.clock.now()
    status = JobStatus(
        start_time=job.metadata.creation_timestamp,
        completion_time=format_time(now) if end == "Complete" else None,
        conditions=(new_condition(end, "True", "", "", now),),
    )
    current = cluster.get("Job", job.metadata.name)
    cluster.store.write(current, current.changed(status=status))


def names(cluster: ControlledCluster) -> list[str]:
    return [job.metadata.name for job in cluster.all("Job")]


FIRST = 946_684_860 // 60  # the minute 00:01


def test_a_job_is_created_100_ms_after_the_scheduled_time() -> None:
    async def story(cluster: ControlledCluster) -> None:
        created: list[float] = []
        cluster.store.watch("Job", lambda change: created.append(cluster.elapsed()) if change.type == "ADDED" else None)
        cluster.create(cron_job())
        await cluster.wait(130)
        assert [int(moment) for moment in created] == [60, 120]
        assert all(0.1 < moment % 60 < 0.13 for moment in created)
        assert names(cluster) == [f"tick-{FIRST}", f"tick-{FIRST + 1}"]
        (job, _) = cluster.all("Job")
        assert job.metadata.owner_references[0].kind == "CronJob"
        timestamp = job.metadata.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"]
        assert timestamp == "2000-01-01T00:01:00Z"
        status = cluster.get("CronJob", "tick").status
        assert [ref.name for ref in status.active] == names(cluster)
        assert status.active[0].uid == job.metadata.uid
        assert status.active[0].resource_version
        assert status.last_schedule_time == "2000-01-01T00:02:00Z"
        assert sorted(event.message for event in cluster.events("SuccessfulCreate") if "job" in event.message) == [
            f"Created job tick-{FIRST}",
            f"Created job tick-{FIRST + 1}",
        ]

    controlled(story)


def test_forbid_starts_the_missed_run_when_the_running_job_ends() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(cron_job(concurrencyPolicy="Forbid"))
        await cluster.wait(150)
        (job,) = cluster.all("Job")
        (event,) = cluster.events("JobAlreadyActive")
        assert event.message == "Not starting job because prior execution is running and concurrency policy is Forbid"
        finish(cluster, job)
        await cluster.wait(0.1)
        assert names(cluster) == [f"tick-{FIRST}", f"tick-{FIRST + 1}"]
        status = cluster.get("CronJob", "tick").status
        assert status.last_schedule_time == "2000-01-01T00:02:00Z"
        assert status.last_successful_time == "2000-01-01T00:02:30Z"
        assert [ref.name for ref in status.active] == [f"tick-{FIRST + 1}"]
        (event,) = cluster.events("SawCompletedJob")
        assert event.message == f"Saw completed job: tick-{FIRST}, condition: Complete"

    controlled(story)


def test_replace_deletes_the_running_job() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(cron_job(concurrencyPolicy="Replace"))
        await cluster.wait(130)
        assert names(cluster) == [f"tick-{FIRST + 1}"]
        assert [ref.name for ref in cluster.get("CronJob", "tick").status.active] == names(cluster)
        deleted = [event.message for event in cluster.events("SuccessfulDelete") if "job" in event.message]
        assert deleted == [f"Deleted job tick-{FIRST}"]

    controlled(story)


def test_history_limits() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(cron_job(successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0))
        for end in ("Complete", "Failed", "Complete"):
            await cluster.wait(61)
            finish(cluster, cluster.all("Job")[-1], end)
            await cluster.wait(0.1)
        assert names(cluster) == [f"tick-{FIRST + 2}"]

    controlled(story)


def test_suspend_starts_no_job_and_lets_running_ones_continue() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(cron_job())
        await cluster.wait(61)
        cluster.patch("CronJob", "tick", {"spec": {"suspend": True}})
        await cluster.wait(300)
        assert names(cluster) == [f"tick-{FIRST}"]
        assert [ref.name for ref in cluster.get("CronJob", "tick").status.active] == names(cluster)

    controlled(story)


def test_a_resumed_cron_job_starts_the_newest_missed_run_unless_it_is_too_late() -> None:
    async def story(cluster: ControlledCluster, deadline: int | None = None) -> list[str]:
        spec: dict[str, Any] = {} if deadline is None else {"startingDeadlineSeconds": deadline}
        cluster.create(cron_job(suspend=True, **spec))
        await cluster.wait(330)
        cluster.patch("CronJob", "tick", {"spec": {"suspend": False}})
        await cluster.wait(1)
        return names(cluster)

    assert controlled(story) == [f"tick-{FIRST + 4}"]
    assert controlled(lambda cluster: story(cluster, 10)) == []
    assert controlled(lambda cluster: story(cluster, 40)) == [f"tick-{FIRST + 4}"]


def test_a_new_schedule_applies_from_its_next_time() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(cron_job("0 0 1 6 *"))
        await cluster.wait(10)
        cluster.patch("CronJob", "tick", {"spec": {"schedule": "*/2 * * * *"}})
        await cluster.wait(115)
        assert names(cluster) == [f"tick-{FIRST + 1}"]

    controlled(story)


def test_a_schedule_in_a_time_zone() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(cron_job("30 5 * * *", timeZone="Asia/Kolkata"))  # that is 00:00 UTC
        await cluster.wait(24 * 3600 + 1)
        (job,) = cluster.all("Job")
        timestamp = job.metadata.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"]
        assert timestamp == "2000-01-02T05:30:00+05:30"

    controlled(story)


def test_a_deleted_job_is_reported_as_missing() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(cron_job("*/10 * * * *"))
        await cluster.wait(601)
        (name,) = names(cluster)
        cluster.store.remove("Job", "default", name)
        await cluster.wait(1)
        cron: CronJob = cluster.get("CronJob", "tick")
        assert cron.status.active == ()
        assert [event.message for event in cluster.events("MissingJob")] == [f"Active job went missing: {name}"]
        assert not names(cluster)

    controlled(story)
