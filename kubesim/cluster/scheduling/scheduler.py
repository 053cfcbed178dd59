"""The scheduler: binds pods without a node, or reports why no node fits.

It replaces kube-scheduler. One pod is tried at a time: `framework/cycle.py` decides, this module acts. Cluster events
requeue rejected pods (`queue/`). A pod of high priority may preempt others (`preemption/`).

Mirrors: pkg/scheduler schedule_one.go ScheduleOne, bindingCycle, handleSchedulingFailure
"""

from __future__ import annotations

import asyncio

from kubesim.api.pod import Pod, PodCondition
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.scheduling.cluster_watch import ClusterWatch
from kubesim.cluster.scheduling.framework.cluster_event import Action, ClusterEvent
from kubesim.cluster.scheduling.framework.cycle import Placement, schedule_pod
from kubesim.cluster.scheduling.framework.diagnosis import NO_NODES, Diagnosis
from kubesim.cluster.scheduling.framework.listers import Listers
from kubesim.cluster.scheduling.framework.plugin import CycleState
from kubesim.cluster.scheduling.framework.pod_info import updated_pod_info
from kubesim.cluster.scheduling.framework.snapshot import Snapshot
from kubesim.cluster.scheduling.framework.status import CycleError
from kubesim.cluster.scheduling.plugins.devices.claim_bindings import (
    bind_pod_claims,
    deallocate,
    unreserve_pod_claims,
)
from kubesim.cluster.scheduling.plugins.devices.dynamic_resources import (
    has_all_claims,
    pod_claim_allocations,
    pod_resource_claims,
)
from kubesim.cluster.scheduling.plugins.volumes.volume_binding import PodVolumes, find_pod_volumes
from kubesim.cluster.scheduling.preemption.executor import PreemptionExecutor
from kubesim.cluster.scheduling.preemption.post_filter import post_filter
from kubesim.cluster.scheduling.queue.queued_pod import ORDERING_WINDOW, QueuedPod
from kubesim.cluster.scheduling.queue.scheduling_queue import MAX_IN_UNSCHEDULABLE, SchedulingQueue
from kubesim.cluster.scheduling.scheduler_client import NAME, SchedulerClient
from kubesim.cluster.scheduling.scheduler_events import SchedulerEvents
from kubesim.cluster.scheduling.volume_bindings import BIND_TIMEOUT, POLL, bind_pod_volumes, check_bindings, timed_out
from kubesim.errors import ApiError
from kubesim.trace import Recorder

FASTEST, SLOWEST = 4 * MILLISECOND, 12 * MILLISECOND  # from a change to the attempt, as measured
ATTEMPT = 1 * MILLISECOND  # between two attempts
FLUSH_INTERVAL = 30 * SECOND  # period of the check for old unschedulable pods
UNSCHEDULABLE, SCHEDULER_ERROR = "Unschedulable", "SchedulerError"


class Scheduler:
    """The scheduler; active from creation."""

    def __init__(self, context: ControllerContext) -> None:
        self._clock = context.clock
        self._stream = context.randomness.stream("scheduler")
        self._start = context.clock.now()
        self._client = SchedulerClient(context)
        self._events = SchedulerEvents(context, NAME)
        self._preemption = PreemptionExecutor(context, self._client, self._events)
        self._snapshot = Snapshot(context.gates)
        self._listers = Listers(context.store)
        self._queue = SchedulingQueue(self._preemption.is_preempting, lambda pod: has_all_claims(pod, self._listers))
        self._attempt_timer: asyncio.TimerHandle | None = None
        self._flush_timer: asyncio.TimerHandle | None = None
        self._retry_timer: asyncio.TimerHandle | None = None
        self._watch = ClusterWatch(context, self._snapshot, self._queue, self._arm)

    # -- when ---------------------------------------------------------------------------------------------------

    def _arm(self) -> None:
        """Schedule the next attempt for the pods in the queue."""
        now, queue = self._clock.now(), self._queue
        if self._attempt_timer is None and queue.is_ready:
            delay = self._stream.randint(FASTEST, SLOWEST)
            self._attempt_timer = self._clock.call_at(now + delay, self._attempt)
        if self._flush_timer is None and queue.unschedulable:
            oldest = min(pod.timestamp for pod in queue.unschedulable.values())
            due = max(oldest + MAX_IN_UNSCHEDULABLE, now) - self._start
            self._flush_timer = self._clock.call_at(
                self._start + (due // FLUSH_INTERVAL + 1) * FLUSH_INTERVAL, self._flush
            )
        retry = queue.next_error_retry()
        if self._retry_timer is None and retry is not None:
            self._retry_timer = self._clock.call_at(max(retry + ORDERING_WINDOW, now), self._retry)

    def _flush(self) -> None:
        self._flush_timer = None
        self._queue.flush_unschedulable(self._clock.now())
        self._arm()

    def _retry(self) -> None:
        self._retry_timer = None
        self._queue.flush_backoff_completed(self._clock.now())
        self._arm()

    def _attempt(self) -> None:
        queued = self._queue.pop()
        if queued is not None:
            Recorder.because(queued.cause)
            self._schedule_one(queued)
        self._attempt_timer = None
        if self._queue.is_ready:
            self._attempt_timer = self._clock.call_at(self._clock.now() + ATTEMPT, self._attempt)
        self._arm()

    # -- one attempt --------------------------------------------------------------------------------------------

    def _schedule_one(self, queued: QueuedPod) -> None:
        pod, now = queued.pod, self._clock.now()
        if pod.metadata.deletion_timestamp is not None:
            message = f"skip schedule deleting pod: {pod.metadata.namespace}/{pod.metadata.name}"
            self._events.event(pod, "Warning", "FailedScheduling", "Scheduling", message)
            return
        if not self._snapshot.nodes:
            queued.plugins = set()
            self._fail(queued, NO_NODES, UNSCHEDULABLE, "", "the cluster has no nodes")
            return
        cycle = CycleState(queued.info, self._snapshot, self._listers)
        nominated = self._queue.nominator.pods_for
        try:
            result = schedule_pod(cycle, nominated, self._stream.choice)
        except CycleError as error:
            self._fail_with_error(queued, error)
            return
        if isinstance(result, Placement):
            volumes = find_pod_volumes(cycle, self._snapshot.nodes[result.node])
            assert isinstance(volumes, PodVolumes)
            self._bind(queued, result, volumes, cycle)
            return
        found = post_filter(cycle, result, nominated, self._stream.choice, now)
        result.post_filter = found.message
        if found.deallocate is not None:
            deallocate(self._client, found.deallocate)
        self._fail_to_fit(queued, result, found.nominate)
        if found.victims is not None:
            self._preemption.prepare(pod, found.victims, self._queue.nominator)

    # -- a node was found ---------------------------------------------------------------------------------------

    def _bind(self, queued: QueuedPod, placement: Placement, volumes: PodVolumes, cycle: CycleState) -> None:
        pod, node = queued.pod, placement.node
        self._snapshot.assume(queued.info, node)
        self._queue.nominator.delete(queued.uid)
        try:
            bind_pod_claims(self._client, pod, pod_claim_allocations(cycle, node), self._clock.now())
        except ApiError as error:
            self._unbind(queued, node, CycleError(f'running PreBind plugin "DynamicResources": {error}'))
            return
        try:
            if not volumes.static and not volumes.dynamic:
                self._finish(queued, pod, placement)
                return
            self._client.patch_status(pod, None, node, f"{placement.why}; its volumes must be bound first")
            bind_pod_volumes(self._client, pod, node, volumes)
        except ApiError as error:
            self._unbind(queued, node, CycleError(f'running PreBind plugin "VolumeBinding": {error}'))
            return
        now = self._clock.now()
        self._clock.call_at(now + POLL, self._poll, queued, placement, volumes, now + BIND_TIMEOUT)

    def _poll(self, queued: QueuedPod, placement: Placement, volumes: PodVolumes, deadline: int) -> None:
        """Check every second whether all claims are bound."""
        pod, now = queued.pod, self._clock.now()
        try:
            if check_bindings(self._listers, pod, placement.node, volumes):
                self._finish(queued, pod, placement)
            elif now >= deadline:
                raise timed_out()
            else:
                self._clock.call_at(now + POLL, self._poll, queued, placement, volumes, deadline)
        except CycleError as error:
            self._unbind(queued, placement.node, error)

    def _finish(self, queued: QueuedPod, pod: Pod, placement: Placement) -> None:
        node, metadata = placement.node, pod.metadata
        try:
            self._client.bind(pod, node, placement.why)
        except ApiError as error:
            self._unbind(queued, node, CycleError(f'running Bind plugin "DefaultBinder": {error}'))
            return
        message = f"Successfully assigned {metadata.namespace}/{metadata.name} to {node}"
        self._events.event(pod, "Normal", "Scheduled", "Binding", message)

    def _unbind(self, queued: QueuedPod, node: str, error: CycleError) -> None:
        """Release the node after a failed binding, which may help other pods."""
        pod = queued.pod
        if pod.spec.resource_claims and has_all_claims(pod, self._listers):
            unreserve_pod_claims(self._client, pod, list(pod_resource_claims(pod, self._listers)))
        if self._snapshot.is_assumed(queued.uid):
            self._snapshot.remove_pod(queued.uid)
            gone = pod.changed(spec=pod.spec.changed(node_name=node))
            self._queue.move_all(ClusterEvent("Pod", Action.DELETE, gone), self._clock.now())
        self._fail_with_error(queued, error)
        self._arm()

    # -- no node was found --------------------------------------------------------------------------------------

    def _fail_to_fit(self, queued: QueuedPod, diagnosis: Diagnosis, nominate: str | None) -> None:
        queued.plugins = set(diagnosis.plugins)
        nodes = "the node does not fit" if diagnosis.nodes == 1 else f"none of {diagnosis.nodes} nodes fits"
        why = f"{nodes}, so other pods must leave {nominate} first" if nominate else nodes
        self._fail(queued, diagnosis.fit_error(), UNSCHEDULABLE, nominate, why)

    def _fail_with_error(self, queued: QueuedPod, error: CycleError) -> None:
        queued.plugins = set()
        self._fail(queued, str(error), SCHEDULER_ERROR, "", "the attempt failed and is made again later")

    def _fail(self, queued: QueuedPod, message: str, reason: str, nominate: str | None, why: str) -> None:
        metadata, now = queued.pod.metadata, self._clock.now()
        pod = self._listers.store.find("Pod", metadata.namespace, metadata.name)
        if not isinstance(pod, Pod):
            self._events.event(queued.pod, "Warning", "FailedScheduling", "Scheduling", message)
            return
        if pod.metadata.uid != metadata.uid or pod.spec.node_name:
            return
        queued.info = updated_pod_info(queued.info, pod, self._snapshot.gates)
        self._queue.add_unschedulable(queued, now)
        self._queue.nominator.set(queued.info, nominate)
        self._events.event(pod, "Warning", "FailedScheduling", "Scheduling", message)
        condition = PodCondition(
            type="PodScheduled",
            status="False",
            reason=reason,
            message=message,
            observed_generation=pod.metadata.generation,
        )
        self._client.patch_status(pod, condition, nominate, why)
