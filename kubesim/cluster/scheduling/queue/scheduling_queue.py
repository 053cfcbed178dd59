"""The scheduling queue: active, back-off and unschedulable pods.

An idle scheduler takes pods out of their back-off early (SchedulerPopFromBackoffQ), unless their last attempt failed
with an error. An unschedulable pod is retried after five minutes at the latest.

Mirrors: pkg/scheduler/backend/queue scheduling_queue.go, active_queue.go, backoff_queue.go
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MINUTE
from kubesim.cluster.scheduling.framework.cluster_event import Action, ClusterEvent, Registration, after
from kubesim.cluster.scheduling.framework.pod_info import PodInfo
from kubesim.cluster.scheduling.plugins.devices.dynamic_resources import NAME as DYNAMIC_RESOURCES
from kubesim.cluster.scheduling.plugins.profile import EVENTS, SCHEDULING_GATES
from kubesim.cluster.scheduling.preemption.victims import NAME as DEFAULT_PREEMPTION
from kubesim.cluster.scheduling.queue.nominator import Nominator
from kubesim.cluster.scheduling.queue.pod_heap import PodHeap
from kubesim.cluster.scheduling.queue.queued_pod import QueuedPod
from kubesim.trace import Recorder

MAX_IN_UNSCHEDULABLE = 5 * MINUTE
_GATE_EVENTS: dict[str, tuple[Registration, ...]] = {
    SCHEDULING_GATES: EVENTS[SCHEDULING_GATES],
    DEFAULT_PREEMPTION: (after("Pod", Action.DELETE),),
    DYNAMIC_RESOURCES: EVENTS[DYNAMIC_RESOURCES],
}

Check = Callable[[Pod], bool]


class SchedulingQueue:
    """The queue. `is_preempting` tells whether a pod's victims are not deleted yet; `has_all_claims` whether its
    resource claims exist.

    A pod is not tried before both allow it.
    """

    def __init__(self, is_preempting: Callable[[str], bool], has_all_claims: Check = lambda _: True) -> None:
        self._has_all_claims = has_all_claims
        self.nominator = Nominator()
        self.unschedulable: dict[str, QueuedPod] = {}
        self._is_preempting = is_preempting
        self._active = PodHeap(lambda pod: pod.order)
        self._backoff = PodHeap(lambda pod: (pod.backoff_time, *pod.order))
        self._error_backoff = PodHeap(lambda pod: (pod.backoff_time, *pod.order))

    # -- what can be tried --------------------------------------------------------------------------------------

    @property
    def is_ready(self) -> bool:
        """Whether a pod can be tried now."""
        return len(self._active) > 0 or len(self._backoff) > 0

    def pop(self) -> QueuedPod | None:
        return self._active.pop() or self._backoff.pop()

    def next_error_retry(self) -> int | None:
        """When the first pod with a failed attempt may be retried."""
        pod = self._error_backoff.peek()
        return None if pod is None else pod.backoff_time

    def flush_backoff_completed(self, now: int) -> None:
        for heap in (self._backoff, self._error_backoff):
            while (pod := heap.peek()) is not None and not pod.is_backing_off(now):
                heap.pop()
                self._active.push(pod)

    def flush_unschedulable(self, now: int) -> None:
        """Requeue pods that have been unschedulable for five minutes."""
        for pod in list(self.unschedulable.values()):
            if now - pod.timestamp > MAX_IN_UNSCHEDULABLE and not pod.gate:
                self._requeue(pod, now)

    # -- pods come, change and go -------------------------------------------------------------------------------

    def add(self, info: PodInfo, now: int) -> None:
        if self._move_to_active(QueuedPod(info, now)):
            self.nominator.set(info, None)

    def update(self, info: PodInfo, events: list[ClusterEvent], now: int) -> None:
        """Update a pod without a node; the events go to the plugins that rejected it."""
        queued = self._find(info.uid)
        if queued is None:
            self.add(info, now)
            return
        self.nominator.update(queued.info, info)
        queued.info = info
        if info.uid in self.unschedulable and any(self._is_worth_requeuing(queued, event) for event in events):
            self._requeue(queued, now)

    def delete(self, uid: str) -> None:
        self.nominator.delete(uid)
        self.unschedulable.pop(uid, None)
        for heap in (self._active, self._backoff, self._error_backoff):
            heap.remove(uid)

    def find(self, uid: str) -> PodInfo | None:
        queued = self._find(uid)
        return None if queued is None else queued.info

    def _find(self, uid: str) -> QueuedPod | None:
        heaps = (self._active, self._backoff, self._error_backoff)
        return self.unschedulable.get(uid) or next((found for heap in heaps if (found := heap.find(uid))), None)

    # -- after an attempt ---------------------------------------------------------------------------------------

    def add_unschedulable(self, pod: QueuedPod, now: int) -> None:
        """Add a pod after a failed attempt. Without a rejecting plugin it was an error: only time helps."""
        if pod.plugins:
            pod.unschedulable_count += 1
            pod.consecutive_errors = 0
        else:
            pod.consecutive_errors += 1
        pod.timestamp = now
        if pod.plugins:
            self.unschedulable[pod.uid] = pod
        else:
            self._requeue(pod, now)

    def move_all(self, event: ClusterEvent, now: int, check: Check | None = None) -> None:
        """Requeue the pods for which the event is relevant."""
        for pod in list(self.unschedulable.values()):
            if check is not None and not check(pod.pod):
                continue
            if pod.gate and not any(_is_about(event, each) for each in _GATE_EVENTS[pod.gate]):
                continue
            if self._is_worth_requeuing(pod, event):
                self._requeue(pod, now)

    def _is_worth_requeuing(self, pod: QueuedPod, event: ClusterEvent) -> bool:
        return any(
            _is_about(event, each) and (each.hint is None or each.hint(pod.pod, event))
            for plugin in pod.plugins
            for each in EVENTS.get(plugin, ())
        )

    def _requeue(self, pod: QueuedPod, now: int) -> None:
        pod.cause = Recorder.cause()
        if not pod.is_backing_off(now):
            self._move_to_active(pod)
            return
        if self._passes_gates(pod):
            self.unschedulable.pop(pod.uid, None)
            (self._error_backoff if pod.consecutive_errors else self._backoff).push(pod)

    def _move_to_active(self, pod: QueuedPod) -> bool:
        if not self._passes_gates(pod):
            return False
        self.unschedulable.pop(pod.uid, None)
        self._active.push(pod)
        return True

    def _passes_gates(self, pod: QueuedPod) -> bool:
        """Whether the pod may be tried. A gated pod joins the unschedulable ones."""
        if pod.pod.spec.scheduling_gates:
            pod.gate = SCHEDULING_GATES
        elif pod.pod.spec.resource_claims and not self._has_all_claims(pod.pod):
            pod.gate = DYNAMIC_RESOURCES
        else:
            pod.gate = DEFAULT_PREEMPTION if self._is_preempting(pod.uid) else ""
        if pod.gate:
            pod.plugins.add(pod.gate)
            self.unschedulable[pod.uid] = pod
        return not pod.gate


def _is_about(event: ClusterEvent, registration: Registration) -> bool:
    return event.kind == registration.kind and event.action in registration.actions
