"""The CronJob controller: creates a Job at each scheduled time, and deletes old ones.

Mirrors: pkg/controller/cronjob/cronjob_controllerv2.go
"""

from __future__ import annotations

from typing import ClassVar

from kubesim.api.meta import ApiObject
from kubesim.api.timestamps import format_time
from kubesim.api.workloads.batch import CronJob, CronJobStatus, Job
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.cronjob.cron_plan import CronPlan, next_schedule_delay, plan_cron_job, schedule_of
from kubesim.cluster.controllers.cronjob.new_job import job_reference, new_job
from kubesim.cluster.controllers.owners import is_controlled_by
from kubesim.cluster.registry.deletion import DeleteOptions
from kubesim.cluster.store.watches import WatchEvent
from kubesim.errors import ApiError
from kubesim.golang.cron import CronError


class CronJobController(Controller):
    name: ClassVar[str] = "cronjob-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._jobs = context.owned("Job")
        self.store.watch("CronJob", self._cron_job_changed)
        self.watch_owned("Job", "CronJob")
        for cron_job in self.store.list("CronJob"):
            self.enqueue(cron_job)

    def _cron_job_changed(self, change: WatchEvent) -> None:
        """A new schedule is handled at its next time, any other change immediately."""
        cron_job, old = change.object, change.previous
        if isinstance(cron_job, CronJob) and isinstance(old, CronJob) and change.type == "MODIFIED":
            spec, before = cron_job.spec, old.spec
            if (spec.schedule, spec.time_zone) != (before.schedule, before.time_zone):
                self._schedule_changed(cron_job)
                return
        self.enqueue(cron_job)

    def _schedule_changed(self, cron_job: CronJob) -> None:
        try:
            delay = next_schedule_delay(cron_job, self.clock.now(), schedule_of(cron_job))
        except CronError:
            message = f"unparseable schedule for cronjob: {cron_job.spec.schedule}"
            self.client.event(cron_job, "Warning", "UnParseableCronJobSchedule", message)
            return
        if delay is not None:
            self.enqueue(cron_job, after=delay)

    # -- one sync -----------------------------------------------------------------------------------------------

    def sync(self, namespace: str, name: str) -> None:
        cron_job = self.store.find("CronJob", namespace, name)
        if not isinstance(cron_job, CronJob):
            return
        jobs = [job for job in self._jobs.of(cron_job) if isinstance(job, Job)]
        existing = {
            ref.name for ref in cron_job.status.active if self.store.find("Job", ref.namespace, ref.name) is not None
        }
        plan = plan_cron_job(cron_job, jobs, existing, self.clock.now())
        for job in plan.expired:
            self._delete(cron_job, job, "it is the oldest finished Job beyond the history limit")
        for event in plan.events:
            self.client.event(cron_job, event.type, event.reason, event.message)
        try:
            status = plan.status if plan.start is None else self._start(cron_job, plan, plan.start)
        except ApiError:
            self.client.update_status(cron_job, plan.status, "its Jobs have changed")
            raise
        self.client.update_status(cron_job, status, "its Jobs have changed")
        if plan.sync_after is not None:
            self.enqueue(cron_job, after=plan.sync_after)

    def _start(self, cron_job: CronJob, plan: CronPlan, scheduled: int) -> CronJobStatus:
        """Create the Job; returns the updated status."""
        status = plan.status
        for ref in plan.replaced:
            self._delete(
                cron_job,
                self.store.get("Job", ref.namespace, ref.name),
                "the next run is due and concurrencyPolicy is Replace, so the running Job is deleted",
            )
            status = status.changed(active=tuple(other for other in status.active if other.uid != ref.uid))
        job = self._created(cron_job, new_job(cron_job, scheduled), scheduled)
        if not is_controlled_by(job, cron_job) or any(ref.uid == job.metadata.uid for ref in status.active):
            return status  # another client created it
        active = (*status.active, job_reference(job))
        return status.changed(active=active, last_schedule_time=format_time(scheduled))

    def _created(self, cron_job: CronJob, job: Job, scheduled: int) -> Job:
        """The new Job, or the existing one of that name."""
        why = f"{format_time(scheduled)} is a scheduled time of the CronJob, so a Job is created for it"
        try:
            created = self.client.create(job, why)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                self.client.event(cron_job, "Warning", "FailedCreate", f"Error creating job: {error.message}")
                raise
            created = self.store.get("Job", job.metadata.namespace, job.metadata.name)
        else:
            self.client.event(cron_job, "Normal", "SuccessfulCreate", f"Created job {created.metadata.name}")
        assert isinstance(created, Job)
        return created

    def _delete(self, cron_job: CronJob, job: ApiObject, why: str) -> None:
        self.client.delete(job, why, DeleteOptions(propagation_policy="Background"))
        self.client.event(cron_job, "Normal", "SuccessfulDelete", f"Deleted job {job.metadata.name}")
