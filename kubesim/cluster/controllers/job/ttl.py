"""Deletes finished Jobs, with their pods, when ttlSecondsAfterFinished has passed since they finished.

Mirrors: pkg/controller/ttlafterfinished/ttlafterfinished_controller.go
"""

from __future__ import annotations

from typing import ClassVar

from kubesim.api.timestamps import SECOND, parse_time
from kubesim.api.workloads.batch import Job
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.job.outcome.ending import finished_type
from kubesim.cluster.registry.deletion import DeleteOptions
from kubesim.cluster.store.watches import WatchEvent


class TTLAfterFinishedController(Controller):
    name: ClassVar[str] = "ttl-after-finished-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.store.watch("Job", self._job_changed)
        for job in self.store.list("Job"):
            self._enqueue_expiring(job)

    def _job_changed(self, change: WatchEvent) -> None:
        if change.type != "DELETED":
            self._enqueue_expiring(change.object)

    def _enqueue_expiring(self, job: object) -> None:
        if isinstance(job, Job) and expires_at(job) is not None:
            self.enqueue(job)

    def sync(self, namespace: str, name: str) -> None:
        job = self.store.find("Job", namespace, name)
        if not isinstance(job, Job):
            return
        expires = expires_at(job)
        if expires is None:
            return
        left = expires - self.clock.now()
        if left > 0:
            self.enqueue(job, after=left)
            return
        why = f"the Job finished {job.spec.ttl_seconds_after_finished} s ago, which is its ttlSecondsAfterFinished"
        self.client.delete(job, why, DeleteOptions(uid=job.metadata.uid, propagation_policy="Foreground"))


def expires_at(job: Job) -> int | None:
    """When the Job expires. None: it has no TTL, has not finished, or is being deleted."""
    ttl, end = job.spec.ttl_seconds_after_finished, finished_type(job)
    if ttl is None or not end or job.metadata.deletion_timestamp is not None:
        return None
    finished = next(condition for condition in job.status.conditions if condition.type == end)
    return None if finished.last_transition_time is None else parse_time(finished.last_transition_time) + ttl * SECOND
