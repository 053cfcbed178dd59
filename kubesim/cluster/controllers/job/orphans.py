"""Removes the tracking finalizer from pods that no Job tracks any more, so that they can be deleted.

Such a pod has no controller, or its Job is gone or finished.

Mirrors: pkg/controller/job/job_controller.go syncOrphanPod, handleSingleOrphanPod
"""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.api.workloads.batch import Job
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import ControllerClient
from kubesim.cluster.controllers.job.outcome.ending import finished_type
from kubesim.cluster.controllers.job.outcome.job_pods import TRACKING_FINALIZER, has_tracking_finalizer
from kubesim.cluster.controllers.owners import controller_of
from kubesim.cluster.controllers.queue import KeyQueue
from kubesim.cluster.store.store import Key, Store

JOB_CONTROLLER = "kubernetes.io/job-controller"  # the value of managedBy for this controller


def is_managed_elsewhere(job: Job) -> bool:
    return job.spec.managed_by not in (None, JOB_CONTROLLER)


def controlling_job(store: Store, pod: Pod) -> Job | None:
    """The Job that controls a pod; None if it does not exist."""
    owner = controller_of(pod)
    if owner is None or owner.kind != "Job":
        return None
    job = store.find("Job", pod.metadata.namespace, owner.name)
    return job if isinstance(job, Job) and job.metadata.uid == owner.uid else None


def untracked(client: ControllerClient, store: Store, pod: Pod, why: str) -> None:
    """Write the pod without its tracking finalizer. A pod being deleted may disappear."""
    current = store.find("Pod", pod.metadata.namespace, pod.metadata.name)
    if not isinstance(current, Pod) or current.metadata.uid != pod.metadata.uid:
        return
    left = tuple(name for name in current.metadata.finalizers if name != TRACKING_FINALIZER)
    shown = {"finalizers": list(left)}
    client.patch(current, current.changed(metadata=current.metadata.changed(finalizers=left)), why, shown=shown)


class OrphanPods:
    """The queue of orphan pods."""

    def __init__(self, context: ControllerContext, client: ControllerClient) -> None:
        self._store = context.store
        self._client = client
        self._queue = KeyQueue(context.clock, context.randomness.stream("controller", "job-orphans"), self._sync)

    def add(self, pod: Pod) -> None:
        if has_tracking_finalizer(pod):
            self._queue.add((pod.metadata.namespace, pod.metadata.name))

    def _sync(self, key: Key) -> None:
        pod = self._store.find("Pod", *key)
        if not isinstance(pod, Pod) or not has_tracking_finalizer(pod):
            return
        owner = controller_of(pod)
        if owner is not None and owner.kind != "Job":
            return
        job = controlling_job(self._store, pod)
        if job is not None and (is_managed_elsewhere(job) or not finished_type(job)):
            return
        untracked(self._client, self._store, pod, "no Job counts this pod any more, so its finalizer is removed")
