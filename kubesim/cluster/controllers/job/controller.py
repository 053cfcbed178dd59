"""The Job controller: runs pods until enough have succeeded or too many have failed.

Changes of pods and of the Job's own status are batched for 1 s; a change of its spec is handled immediately.

Mirrors: pkg/controller/job/job_controller.go
"""

from __future__ import annotations

from typing import ClassVar

from kubesim.api.meta import ApiObject, OwnerReference
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.api.workloads.batch import Job, JobCondition
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.job.new_pods import new_pod
from kubesim.cluster.controllers.job.orphans import OrphanPods, controlling_job, is_managed_elsewhere, untracked
from kubesim.cluster.controllers.job.outcome.backoff import NO_FAILURES, BackoffRecord
from kubesim.cluster.controllers.job.outcome.ending import COMPLETE, deadline_left, finished_type
from kubesim.cluster.controllers.job.outcome.job_pods import TRACKING_FINALIZER
from kubesim.cluster.controllers.job.sync_plan import SYNC_JOB_BATCH_PERIOD, PodChanges, SyncPlan, plan_sync
from kubesim.cluster.controllers.job.tracking import Tracking, track
from kubesim.cluster.controllers.owners import claim, controller_of
from kubesim.cluster.controllers.replicaset.batches import INITIAL_BATCH_SIZE, slow_start_batch
from kubesim.cluster.problems import is_namespace_terminating
from kubesim.cluster.store.selectors import selector_from
from kubesim.cluster.store.watches import WatchEvent
from kubesim.errors import ApiError

_API_BACKOFF, _MAX_API_BACKOFF = SECOND, 60 * SECOND  # retry delay of a failed sync


class JobController(Controller):
    name: ClassVar[str] = "job-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.queue.retry, self.queue.longest_retry = _API_BACKOFF, _MAX_API_BACKOFF
        self._pods = context.owned("Pod")
        self._orphans = OrphanPods(context, self.client)
        self._backoff: dict[str, BackoffRecord] = {}  # by uid of the Job
        self.store.watch("Job", self._job_changed)
        self.store.watch("Pod", self._pod_changed)
        for job in self.store.list("Job"):
            self.enqueue(job)

    # -- what happens -------------------------------------------------------------------------------------------

    def _job_changed(self, change: WatchEvent) -> None:
        job, old = change.object, change.previous
        assert isinstance(job, Job)
        if change.type == "DELETED":
            self._backoff.pop(job.metadata.uid, None)
            self._release_all(job)
        elif change.type == "ADDED" or not isinstance(old, Job):
            self.enqueue(job)
        elif finished_type(job):
            self._release_all(job)
        elif job.metadata.generation == old.metadata.generation:
            self.enqueue(job, after=SYNC_JOB_BATCH_PERIOD)
        else:
            self.enqueue(job)
            left = deadline_left(job, self.clock.now())
            if left is not None and job.spec.active_deadline_seconds != old.spec.active_deadline_seconds:
                self.enqueue(job, after=left)

    def _release_all(self, job: Job) -> None:
        for pod in self._pods.of(job):
            if isinstance(pod, Pod):
                self._orphans.add(pod)

    def _pod_changed(self, change: WatchEvent) -> None:
        pod, old = change.object, change.previous
        assert isinstance(pod, Pod)
        if isinstance(old, Pod) and controller_of(old) != controller_of(pod):
            self._enqueue_job(old)
        if controller_of(pod) is not None:
            self._enqueue_job(pod)
            return
        self._orphans.add(pod)
        if change.type == "DELETED" or pod.metadata.deletion_timestamp is not None:
            return
        if not isinstance(old, Pod) or (old.metadata.labels, controller_of(old)) != (pod.metadata.labels, None):
            self._enqueue_selecting(pod)

    def _enqueue_job(self, pod: Pod) -> None:
        job = controlling_job(self.store, pod)
        if job is not None and not finished_type(job):
            self.enqueue(job, after=SYNC_JOB_BATCH_PERIOD)
        elif pod.metadata.deletion_timestamp is not None:
            self._orphans.add(pod)

    def _enqueue_selecting(self, pod: Pod) -> None:
        """Sync Jobs that may adopt this pod."""
        for job in self.store.list("Job", pod.metadata.namespace):
            if isinstance(job, Job) and selector_from(job.spec.selector).matches(pod.metadata.labels):
                self.enqueue(job, after=SYNC_JOB_BATCH_PERIOD)

    # -- one sync -----------------------------------------------------------------------------------------------

    def sync(self, namespace: str, name: str) -> None:
        job = self.store.find("Job", namespace, name)
        if not isinstance(job, Job) or is_managed_elsewhere(job):
            return
        if finished_type(job):
            self._backoff.pop(job.metadata.uid, None)
            return
        now = self.clock.now()
        backoff = self._backoff.get(job.metadata.uid, NO_FAILURES)
        plan = plan_sync(job, self._claimed(job), backoff, now)
        if plan.sync_after is not None:
            self.enqueue(job, after=plan.sync_after)
        self._delete(job, plan.changes)
        created, problem = self._create(job, plan)
        if plan.suspend_event:
            self.client.event(job, "Normal", plan.suspend_event, f"Job {plan.suspend_event.lower()}")
        active = len(plan.counts.active) - len(plan.changes.delete) + created
        self._track(job, plan, track(plan, active, now))
        if problem is not None:
            raise problem

    def _claimed(self, job: Job) -> list[Pod]:
        """The pods of the Job, including adopted ones."""

        def set_owners(pod: ApiObject, owners: tuple[OwnerReference, ...]) -> ApiObject:
            adopted = len(owners) > len(pod.metadata.owner_references)
            kept = tuple(name for name in pod.metadata.finalizers if name != TRACKING_FINALIZER)
            finalizers = (*kept, TRACKING_FINALIZER) if adopted else kept
            why = (
                "its labels match the selector, so it is adopted and tracked"
                if adopted
                else "its labels do not match the selector any more, so it is released"
            )
            metadata = pod.metadata.changed(owner_references=owners, finalizers=finalizers)
            return self.client.patch(pod, pod.changed(metadata=metadata), why)

        pods = claim(self._pods, job, selector_from(job.spec.selector), set_owners)
        return [pod for pod in pods if isinstance(pod, Pod)]

    def _delete(self, job: Job, changes: PodChanges) -> None:
        for pod in changes.delete:
            if changes.untrack:
                untracked(self.client, self.store, pod, "it is deleted before it ends and does not count as failed")
            self.client.delete(pod, changes.why)
            self.client.event(job, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")

    def _create(self, job: Job, plan: SyncPlan) -> tuple[int, ApiError | None]:
        """The number of created pods, and the first error."""
        indexes = iter(plan.changes.create)

        def create() -> None:
            index = next(indexes)
            replaced = None if index is None else plan.counts.indexes.delayed.get(index)
            try:
                pod = self.client.create(new_pod(job, index, replaced), plan.changes.why)
            except ApiError as error:
                if not is_namespace_terminating(error):
                    self.client.event(job, "Warning", "FailedCreate", f"Error creating: {error.message}")
                raise
            self.client.event(job, "Normal", "SuccessfulCreate", f"Created pod: {pod.metadata.name}")

        return slow_start_batch(len(plan.changes.create), INITIAL_BATCH_SIZE, create)

    def _track(self, job: Job, plan: SyncPlan, tracking: Tracking) -> None:
        if tracking.before is not None:
            self.client.update_status(job, tracking.before, _why_before(plan, tracking))
            self._backoff[job.metadata.uid] = plan.counts.backoff
        for pod in tracking.untrack:
            why = "the status of the Job accounts for this pod, so its finalizer is removed"
            untracked(self.client, self.store, pod, why)
        if tracking.after is not None:
            self.client.update_status(job, tracking.after, _why_after(tracking))
        if tracking.finished is not None:
            self._record_finished(job, tracking.finished, 0 if tracking.after is None else tracking.after.succeeded)

    def _record_finished(self, job: Job, condition: JobCondition, succeeded: int) -> None:
        if condition.type != COMPLETE:
            self.client.event(job, "Warning", condition.reason, condition.message)
            return
        if job.spec.completions is not None and succeeded > job.spec.completions:
            message = "Too many succeeded pods running after completion count reached"
            self.client.event(job, "Warning", "TooManySucceededPods", message)
        self.client.event(job, "Normal", "Completed", "Job completed")


def _why_before(plan: SyncPlan, tracking: Tracking) -> str:
    if plan.finished is not None:
        return f"the Job will end: {plan.finished.reason}"
    if tracking.untrack:
        return "pods have ended: the status names them before they are counted"
    return "the number of active, ready or terminating pods has changed"


def _why_after(tracking: Tracking) -> str:
    if tracking.finished is not None:
        return f"all pods are counted and none is terminating, so the Job is {tracking.finished.type}"
    return "pods that have ended are counted"
