"""The allocation manager: allocates a pod's requests if the node has room for them.

A new pod is admitted or not. A running pod with changed requests has a pending resize: it is allocated, deferred until
there is room, or infeasible permanently. Deferred resizes are retried when resources are freed, and at least every
three minutes. Workers get every pod with its allocated resources.

Mirrors: pkg/kubelet/allocation/allocation_manager.go; kubelet.go recordResizeOperations
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import field
from typing import Protocol

from kubesim.api.pod import Pod, ResourceRequirements
from kubesim.api.pods.pod_conditions import POD_RESIZE_PENDING
from kubesim.api.pods.resources import CPU, GUARANTEED, MEMORY, pod_qos_class, pod_requests
from kubesim.api.quantity import ZERO
from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.clock import NEVER
from kubesim.concurrency import Ticker
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.admission.node_admission import PluginResources
from kubesim.kubelet.admission.predicates import ADMITTED, AdmissionResult
from kubesim.kubelet.admission.preemption import CriticalPodAdmission
from kubesim.kubelet.context import KubeletContext, PodViews
from kubesim.kubelet.resize.resize_events import resize_event_message
from kubesim.kubelet.resize.resize_feasibility import why_infeasible
from kubesim.kubelet.status.resize_conditions import INFEASIBLE
from kubesim.runtime.allocation.allocated import AllocationState, resizable_containers
from kubesim.runtime.kuberuntime.decide.resize_actions import container_resources
from kubesim.trace import Recorder
from kubesim.values import part

INITIAL_RETRY_DELAY = 30 * SECOND
RETRY_DELAY = 3 * MINUTE

AdmitHandler = Callable[[Pod], tuple[str, str]]  # reason and message of a rejection; both empty if admitted


class Admission(Protocol):
    """Predicate admission of a new pod or a resize, next to the other pods."""

    update_plugin_resources: PluginResources | None

    def admit(self, pod: Pod, others: Callable[[], Iterable[Pod]]) -> AdmissionResult: ...

    def admit_resize(self, pod: Pod, others: Iterable[Pod]) -> AdmissionResult: ...

    def exceeds_allocatable(self, pod: Pod) -> bool:
        """Whether the pod requests more cpu or memory than the node's allocatable."""

    def pods_changed(self) -> None:
        """The set of active pods, or their usage, may have changed other than by an admission."""


@part
class AllocationManager:
    """The allocation manager. `admit_before` and `admit_after` run before and after the node's predicates."""

    context: KubeletContext
    views: PodViews
    state: AllocationState
    admission: Admission | None
    critical_pods: CriticalPodAdmission
    sync_pod_now: Callable[[Pod], None]
    admit_before: list[AdmitHandler] = field(default_factory=list)
    admit_after: list[AdmitHandler] = field(default_factory=list)
    _pending: list[str] = field(default_factory=list)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # serializes allocations with preemption
    _ticker: Ticker | None = None
    enabled: bool = field(init=False)

    def __post_init__(self) -> None:
        self.enabled = self.context.gates.enabled("InPlacePodVerticalScaling")

    async def run(self) -> None:
        """Retry pending resizes three minutes after the last attempt, even without an event."""
        cause = Recorder.cause()
        ticker = self._ticker = Ticker(self.context.clock, "pending resizes", INITIAL_RETRY_DELAY, late=False)
        try:
            while True:
                await ticker.channel.receive()
                Recorder.because(cause)
                await self.retry_pending_resizes()
                ticker.done(0 if self._pending else NEVER)
        finally:
            ticker.stop()

    # -- allocated resources ------------------------------------------------------------------------------------

    def update_pod(self, pod: Pod) -> Pod:
        """The pod with its allocated resources; the same object if its requests are allocated."""
        return self.state.update_pod(pod, self.context.gates) if self.enabled else pod

    def allocated_pods(self) -> list[Pod]:
        return [self.update_pod(pod) for pod in self.views.active_pods()]

    def remove_pod(self, uid: str) -> None:
        self.state.remove(uid)

    def remove_orphaned_pods(self, remaining: Container[str]) -> None:
        self.state.remove_orphans(remaining)

    def pods_changed(self) -> None:
        """Invalidate the counted usage of the node."""
        if self.admission is not None:
            self.admission.pods_changed()

    # -- a new pod ----------------------------------------------------------------------------------------------

    async def add_pod(self, pod: Pod) -> tuple[str, str]:
        """Admit the pod and allocate its requests. Reason and message of the rejection; both empty if admitted.

        A pod admitted before a kubelet restart keeps its allocation, whatever it requests now.
        """
        async with self._lock:
            pod = self.update_pod(pod)
            result = await self._admit(pod, self._admit_new)
            if not result.admit:
                return result.reason, result.message
            if self.enabled:
                self.state.set(pod, self.context.gates)
            return "", ""

    async def _admit(self, pod: Pod, ask: Callable[[Pod, Admission], AdmissionResult]) -> AdmissionResult:
        refusal = _first_refusal(self.admit_before, pod)
        if refusal is not None:
            return refusal
        if self.admission is not None:
            result = ask(pod, self.admission)
            if not result.admit:
                result = await self.critical_pods.handle_admission_failure(pod, result)
                self.admission.pods_changed()
            if not result.admit:
                return result
        refusal = _first_refusal(self.admit_after, pod)
        if refusal is not None:
            self.pods_changed()  # the predicates have counted the pod
        return refusal or ADMITTED

    def _admit_new(self, pod: Pod, admission: Admission) -> AdmissionResult:
        return admission.admit(pod, lambda: self._others(pod))

    def _admit_resized(self, pod: Pod, admission: Admission) -> AdmissionResult:
        return admission.admit_resize(pod, self._others(pod))

    def _others(self, pod: Pod) -> list[Pod]:
        uid = pod.metadata.uid
        return [self.update_pod(other) for other in self.views.active_pods() if other.metadata.uid != uid]

    # -- pending resizes ----------------------------------------------------------------------------------------

    def has_pending_resizes(self) -> bool:
        return bool(self._pending)

    async def push_pending_resize(self, uid: str) -> None:
        async with self._lock:
            if uid not in self._pending:
                self._pending = [pod.metadata.uid for pod in self._sorted((*self._pending, uid))]

    def _sorted(self, uids: Sequence[str]) -> list[Pod]:
        """Insertion sort, like Go's for short lists: upstream's comparison of shrinking pods is inconsistent."""
        pods = [pod for uid in uids if (pod := self.views.manager.by_uid(uid)) is not None]
        for end in range(1, len(pods)):
            for index in range(end, 0, -1):
                if not self._precedes(pods[index], pods[index - 1]):
                    break
                pods[index - 1 : index + 1] = pods[index], pods[index - 1]
        return pods

    def _precedes(self, one: Pod, other: Pod) -> bool:
        """Order of retries: shrinking pods, then priority, then Guaranteed pods, then waiting time."""
        if not self._grows(one):
            return True
        if not self._grows(other):
            return False
        priority, other_priority = one.spec.priority or 0, other.spec.priority or 0
        if priority != other_priority:
            return priority > other_priority
        guaranteed = pod_qos_class(one, self.context.gates) == GUARANTEED
        if guaranteed != (pod_qos_class(other, self.context.gates) == GUARANTEED):
            return guaranteed
        since, since_other = self._pending_since(one), self._pending_since(other)
        return since is not None and (since_other is None or since < since_other)

    def _grows(self, pod: Pod) -> bool:
        allocated = self.update_pod(pod)
        if allocated is pod:
            return False
        skip = not self.context.gates.enabled("PodLevelResources")
        before, after = pod_requests(allocated, skip_pod_level=skip), pod_requests(pod, skip_pod_level=skip)
        return any(after.get(name, ZERO) > before.get(name, ZERO) for name in (MEMORY, CPU))

    def _pending_since(self, pod: Pod) -> str | None:
        """The timestamp as text, which sorts chronologically."""
        for condition in self.views.statuses.resize.get(pod.metadata.uid):
            if condition.type == POD_RESIZE_PENDING:
                return condition.last_transition_time
        return None

    async def retry_pending_resizes(self) -> None:
        """Retry all of them in order, unless a source has not been received yet."""
        if not self.enabled:
            return
        async with self._lock:
            ready = self.views.sources.all_ready
            if self._ticker is not None:
                self._ticker.period = RETRY_DELAY if ready else INITIAL_RETRY_DELAY
                self._ticker.reset()
            if ready:
                self._pending = [uid for uid in self._pending if await self._is_still_pending(uid)]

    async def _is_still_pending(self, uid: str) -> bool:
        """Retry one resize; true if it is still pending."""
        pod = self.views.manager.by_uid(uid)
        if pod is None:
            return False
        before = self.views.statuses.resize.get(uid)
        allocated = await self._handle_resize(pod)
        after = self.views.statuses.resize.get(uid)
        if allocated or list(map(id, after)) != list(map(id, before)):
            self.sync_pod_now(pod)
        return self.views.statuses.resize.is_deferred(uid)

    async def _handle_resize(self, pod: Pod) -> bool:
        """Allocate the pod's current requests, or record why not; true if something was allocated."""
        uid, generation = pod.metadata.uid, pod.metadata.generation
        allocated = self.update_pod(pod)
        if allocated is pod:
            self.views.statuses.resize.clear_pending(uid)
            return False
        settings = self.context.settings
        infeasible = why_infeasible(pod, allocated, settings.policies, self.context.gates, settings.swap)
        if infeasible:
            result = AdmissionResult(False, INFEASIBLE, infeasible)
        else:
            result = await self._admit(pod, self._admit_resized)
        if result.admit:
            self.state.set(pod, self.context.gates)
            self.pods_changed()
            self.views.statuses.resize.clear_pending(uid)
            # A new generation without an error from a previous resize.
            self.views.statuses.resize.clear_in_progress(uid)
            self.views.statuses.resize.set_in_progress(uid, "", "", generation, self.context.clock.wall())
            self.context.events.event(
                pod, "Normal", "ResizeStarted", resize_event_message("Pod resize started", pod, generation)
            )
            return True
        conditions, now = self.views.statuses.resize, self.context.clock.wall()
        if conditions.set_pending(uid, result.reason, result.message, generation, now):
            reason = "ResizeInfeasible" if result.reason == INFEASIBLE else "ResizeDeferred"
            text = resize_event_message(f"Pod resize {result.reason}", pod, generation, result.message)
            self.context.events.event(pod, "Warning", reason, text)
        return False


def _first_refusal(handlers: Iterable[AdmitHandler], pod: Pod) -> AdmissionResult | None:
    for handler in handlers:
        reason, message = handler(pod)
        if reason:
            return AdmissionResult(False, reason, message)
    return None


def is_resized(old: Pod | None, new: Pod, gates: FeatureGates = DEFAULT_GATES) -> bool:
    """Whether the specs differ in cpu or memory of a container or of the pod."""
    if old is None:
        return True
    if old.spec is new.spec:
        return False
    if old.spec.resources != new.spec.resources:
        return True
    before = {container.name: container.resources for container in resizable_containers(old, gates)}
    return any(_differs(before.get(c.name), c.resources) for c in resizable_containers(new, gates))


def _differs(before: ResourceRequirements | None, after: ResourceRequirements) -> bool:
    if before is None or before is after or before == after:
        return False
    return container_resources(before, None) != container_resources(after, None)
