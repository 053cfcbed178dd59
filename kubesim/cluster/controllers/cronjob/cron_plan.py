"""Plans one sync of a CronJob: Jobs to delete, a Job to start, the new status, and the next sync.

Pure: a CronJob, its Jobs and the time in; a `CronPlan` out. A run is due when a scheduled time has passed since the
last run. With Forbid, the newest missed run starts when the running Job ends.

Mirrors: pkg/controller/cronjob/cronjob_controllerv2.go syncCronJob, cleanupFinishedJobs; utils.go
mostRecentScheduleTime, nextScheduleTimeDuration
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from kubesim.api.meta import ObjectReference
from kubesim.api.timestamps import MILLISECOND, SECOND, format_time, parse_time
from kubesim.api.workloads.batch import CronJob, CronJobStatus, Job
from kubesim.cluster.controllers.job.outcome.ending import COMPLETE, FAILED, finished_type
from kubesim.golang.cron import CronError, Schedule, load_location, parse_schedule
from kubesim.golang.text import quoted
from kubesim.values import replace, value_object

NEXT_SCHEDULE_DELTA = 100 * MILLISECOND  # between the scheduled time and the start of a run
MANY_MISSED = 100


@value_object
class CronEvent:
    type: str
    reason: str
    message: str


@value_object
class CronPlan:
    """The result of a sync. `expired` Jobs exceed the history limits; `replaced` Jobs are still running.

    `start` is the scheduled time of the Job to create. With `sync_after` None, only a change triggers the next sync.
    """

    status: CronJobStatus
    expired: tuple[Job, ...] = ()
    events: tuple[CronEvent, ...] = ()
    replaced: tuple[ObjectReference, ...] = ()
    start: int | None = None
    sync_after: int | None = None


@value_object
class MissedRuns:
    """Missed runs. `earliest`: start of the searched period; `latest`: the newest scheduled time that has passed."""

    earliest: int
    latest: int | None = None
    some: bool = False
    many: bool = False


class InvalidSchedule(ValueError):
    """A schedule that parses but never matches a time."""


def plan_cron_job(cron_job: CronJob, jobs: Sequence[Job], existing: Collection[str], now: int) -> CronPlan:
    """Plan one sync. `existing` are the names in status.active of Jobs that still exist, whatever their controller."""
    expired = _expired(cron_job, jobs)
    gone = {job.metadata.uid for job in expired}
    active = tuple(ref for ref in cron_job.status.active if ref.uid not in gone)
    plan = CronPlan(cron_job.status.changed(active=active), expired)
    plan = _seen(plan, jobs)
    plan = _without_missing(plan, jobs, existing)
    if cron_job.metadata.deletion_timestamp is not None:
        return plan
    return _schedule(plan, cron_job, now)


def _with_event(plan: CronPlan, type: str, reason: str, message: str) -> CronPlan:
    return replace(plan, events=(*plan.events, CronEvent(type, reason, message)))


# -- Jobs that have ended -------------------------------------------------------------------------------------------


def _expired(cron_job: CronJob, jobs: Sequence[Job]) -> tuple[Job, ...]:
    limits = {COMPLETE: cron_job.spec.successful_jobs_history_limit, FAILED: cron_job.spec.failed_jobs_history_limit}
    expired: list[Job] = []
    for end, limit in limits.items():
        ended = sorted((job for job in jobs if finished_type(job) == end), key=_start_order)
        if limit is not None:
            expired += ended[: max(0, len(ended) - limit)]
    return tuple(expired)


def _start_order(job: Job) -> tuple[bool, int, str]:
    start = job.status.start_time
    return start is None, parse_time(start) if start else 0, job.metadata.name


def _seen(plan: CronPlan, jobs: Sequence[Job]) -> CronPlan:
    """Remove finished Jobs from status.active."""
    for job in jobs:
        metadata, end = job.metadata, finished_type(job)
        known = any(ref.uid == metadata.uid for ref in plan.status.active)
        if not end and not known:
            message = f"Saw a job that the controller did not create or forgot: {metadata.name}"
            plan = _with_event(plan, "Warning", "UnexpectedJob", message)
        if end and known:
            active = tuple(ref for ref in plan.status.active if ref.uid != metadata.uid)
            plan = replace(plan, status=plan.status.changed(active=active))
            message = f"Saw completed job: {metadata.name}, condition: {end}"
            plan = _with_event(plan, "Normal", "SawCompletedJob", message)
        completed, last = job.status.completion_time, plan.status.last_successful_time
        if end == COMPLETE and completed and (last is None or parse_time(completed) > parse_time(last)):
            plan = replace(plan, status=plan.status.changed(last_successful_time=completed))
    return plan


def _without_missing(plan: CronPlan, jobs: Sequence[Job], existing: Collection[str]) -> CronPlan:
    uids = {job.metadata.uid for job in jobs}
    for ref in plan.status.active:
        if ref.uid not in uids and ref.name not in existing:
            plan = _with_event(plan, "Normal", "MissingJob", f"Active job went missing: {ref.name}")
            active = tuple(other for other in plan.status.active if other.uid != ref.uid)
            plan = replace(plan, status=plan.status.changed(active=active))
    return plan


# -- the next run ---------------------------------------------------------------------------------------------------


def _schedule(plan: CronPlan, cron_job: CronJob, now: int) -> CronPlan:
    spec = cron_job.spec
    if spec.time_zone is not None:
        try:
            load_location(spec.time_zone)
        except CronError as error:
            message = f"invalid timeZone: {quoted(spec.time_zone)}: {error}"
            return _with_event(plan, "Warning", "UnknownTimeZone", message)
    if spec.suspend:
        return plan
    if "TZ" in spec.schedule:
        message = (
            f"CRON_TZ or TZ used in schedule {quoted(spec.schedule)} is not officially supported, see "
            "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
        )
        plan = _with_event(plan, "Warning", "UnsupportedSchedule", message)
    try:
        schedule = schedule_of(cron_job)
    except CronError as error:
        message = f"unparseable schedule: {quoted(spec.schedule)} : {error}"
        return _with_event(plan, "Warning", "UnparseableSchedule", message)
    try:
        missed = missed_runs(cron_job, now, schedule, within_deadline=True)
    except InvalidSchedule as error:
        return _with_event(plan, "Warning", "InvalidSchedule", f"invalid schedule: {spec.schedule} : {error}")
    if missed.latest is not None and missed.many:
        message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        plan = _with_event(plan, "Warning", "TooManyMissedTimes", message)
    if missed.latest is not None:
        plan = _start(plan, cron_job, missed.latest, now)
    last = cron_job if plan.start is None else _scheduled(cron_job, plan.start)
    return replace(plan, sync_after=next_schedule_delay(last, now, schedule))


def _scheduled(cron_job: CronJob, moment: int) -> CronJob:
    return cron_job.changed(status=cron_job.status.changed(last_schedule_time=format_time(moment)))


def _start(plan: CronPlan, cron_job: CronJob, scheduled: int, now: int) -> CronPlan:
    """Start a due run, unless it is too late, already started, or blocked by a running Job."""
    spec, active = cron_job.spec, plan.status.active
    deadline = spec.starting_deadline_seconds
    if deadline is not None and scheduled + deadline * SECOND < now:
        message = f"Missed scheduled time to start a job: {_rfc1123(scheduled)}"
        return _with_event(plan, "Warning", "MissSchedule", message)
    name = job_name(cron_job, scheduled)
    if any(ref.name == name for ref in active) or plan.status.last_schedule_time == format_time(scheduled):
        return plan
    if spec.concurrency_policy == "Forbid" and active:
        message = "Not starting job because prior execution is running and concurrency policy is Forbid"
        return _with_event(plan, "Normal", "JobAlreadyActive", message)
    return replace(plan, start=scheduled, replaced=active if spec.concurrency_policy == "Replace" else ())


def job_name(cron_job: CronJob, scheduled: int) -> str:
    """The Job's name, derived from the scheduled time so that no run starts twice."""
    return f"{cron_job.metadata.name}-{scheduled // (60 * SECOND)}"


def schedule_of(cron_job: CronJob) -> Schedule:
    text, zone = cron_job.spec.schedule, cron_job.spec.time_zone
    return parse_schedule(text if zone is None or "TZ" in text else f"TZ={zone} {text}")


def missed_runs(cron_job: CronJob, now: int, schedule: Schedule, *, within_deadline: bool) -> MissedRuns:
    """The missed runs since the last run or the creation of the CronJob. Their number is an estimate."""
    earliest = parse_time(cron_job.status.last_schedule_time or cron_job.metadata.creation_timestamp or "")
    deadline = cron_job.spec.starting_deadline_seconds
    if within_deadline and deadline is not None:
        earliest = max(earliest, now - deadline * SECOND)
    first = schedule.next(earliest)
    second = None if first is None else schedule.next(first)
    if first is not None and now < first:
        return MissedRuns(earliest)
    if first is not None and second is not None and now < second:
        return MissedRuns(earliest, first)
    interval = 0 if first is None or second is None else (second - first) // SECOND
    if first is None or interval < 1:
        raise InvalidSchedule("time difference between two schedules is less than 1 second")
    number = (now - first) // SECOND // interval + 1
    latest, moment = None, schedule.next(first + (number - 2) * interval * SECOND)
    while moment is not None and moment <= now:
        latest, moment = moment, schedule.next(moment)
    return MissedRuns(earliest, latest, some=True, many=number > MANY_MISSED)


def next_schedule_delay(cron_job: CronJob, now: int, schedule: Schedule) -> int | None:
    """The delay until just after the next scheduled time."""
    try:
        missed = missed_runs(cron_job, now, schedule, within_deadline=False)
    except InvalidSchedule:
        after = now
    else:
        after = missed.latest if missed.latest is not None else now if missed.some else missed.earliest
    following = schedule.next(after)
    return None if following is None else following + NEXT_SCHEDULE_DELTA - now


def _rfc1123(micros: int) -> str:
    return datetime.fromtimestamp(micros // SECOND, UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
