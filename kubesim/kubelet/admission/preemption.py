"""Preemption for critical pods: if only resources are insufficient, the kubelet evicts other pods.

Runs when a pod fails admission. It kills as few pods as possible: Guaranteed ones only if all others are not enough,
then Burstable, then BestEffort. The caller waits until each victim has stopped.

Mirrors: pkg/kubelet/preemption/preemption.go; pkg/kubelet/types/pod_update.go Preemptable;
pkg/api/v1/resource/helpers.go GetResourceRequest
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.pods.pod_kinds import is_critical_pod
from kubesim.api.pods.resources import BEST_EFFORT, BURSTABLE, CPU, GUARANTEED, MEMORY, PODS, pod_qos_class
from kubesim.cluster.scheduling.fit import InsufficientResource
from kubesim.errors import KubesimError, SyncError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.admission.predicates import AdmissionResult, Failure
from kubesim.kubelet.eviction.manager import KillPod, with_disruption_target
from kubesim.kubelet.eviction.ranking import requested
from kubesim.runtime.helper import EventRecorder
from kubesim.values import value_object

PREEMPTING = "Preempting"
MESSAGE = "Preempted in order to admit critical pod"
DISRUPTION_MESSAGE = "Pod was preempted by Kubelet to accommodate a critical pod."
UNEXPECTED_ADMISSION_ERROR = "UnexpectedAdmissionError"


@value_object
class AdmissionRequirement:
    """The amount of a resource that must be freed; cpu in millicores."""

    resource: str
    amount: int


Requirements = tuple[AdmissionRequirement, ...]


class NothingToPreempt(KubesimError):
    """Preempting all candidates would not free enough."""

    def __init__(self, missing: Requirements) -> None:
        shown = "".join(f"(res: {need.resource}, q: {need.amount}), " for need in missing)
        super().__init__(f"no set of running pods found to reclaim resources: [{shown}]")


class CriticalPodAdmission:
    """Handles admission failures: preempts for critical pods."""

    def __init__(
        self,
        active_pods: Callable[[], Iterable[Pod]],
        kill_pod: KillPod,
        events: EventRecorder,
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self._active_pods = active_pods
        self._kill_pod = kill_pod
        self._events = events
        self._gates = gates

    async def handle_admission_failure(self, pod: Pod, refusal: AdmissionResult) -> AdmissionResult:
        """The final admission result: the rejection, its remaining failures, or an admission after preemption."""
        if not refusal.failures or not is_critical_pod(pod):
            return refusal
        others = tuple(f for f in refusal.failures if not isinstance(f, InsufficientResource))
        if others:
            return AdmissionResult(False, others[0].reason, others[0].message, others)
        try:
            victims = pods_to_preempt(pod, self._active_pods(), requirements(refusal.failures), self._gates)
        except NothingToPreempt as error:
            problem = f"preemption: error finding a set of pods to preempt: {error}"
            message = f"Unexpected error while attempting to recover from admission failure: {problem}"
            return AdmissionResult(False, UNEXPECTED_ADMISSION_ERROR, message)
        for victim in victims:
            await self._preempt(victim)
        return AdmissionResult(True)

    async def _preempt(self, pod: Pod) -> None:
        self._events.event(pod, "Warning", PREEMPTING, MESSAGE)

        def change(status: PodStatus) -> PodStatus:
            status = with_disruption_target(status, DISRUPTION_MESSAGE, pod.metadata.generation)
            return status.changed(phase="Failed", reason=PREEMPTING, message=MESSAGE)

        try:
            await self._kill_pod(pod, evict=True, status_fn=change)
        except SyncError:
            return  # its worker keeps retrying the kill


def requirements(failures: Iterable[Failure]) -> Requirements:
    """The insufficient resources of the failures."""
    return tuple(
        AdmissionRequirement(failure.resource, failure.requested - (failure.capacity - failure.used))
        for failure in failures
        if isinstance(failure, InsufficientResource)
    )


def preemptable(preemptor: Pod, pod: Pod) -> bool:
    if is_critical_pod(preemptor) and not is_critical_pod(pod):
        return True
    own, its = preemptor.spec.priority, pod.spec.priority
    return own is not None and its is not None and own > its


def pods_to_preempt(
    preemptor: Pod, pods: Iterable[Pod], needed: Requirements, gates: FeatureGates = DEFAULT_GATES
) -> list[Pod]:
    """The victims in the order they are killed. Raises NothingToPreempt."""
    classes: dict[str, list[Pod]] = {BEST_EFFORT: [], BURSTABLE: [], GUARANTEED: []}
    for pod in pods:
        if preemptable(preemptor, pod):
            classes[pod_qos_class(pod, gates)].append(pod)
    best_effort, burstable, guaranteed = classes.values()
    missing = subtract(needed, (*best_effort, *burstable, *guaranteed))
    if missing:
        raise NothingToPreempt(missing)
    # For each class, only the amount that evicting all lower classes would not free.
    first = nearest(guaranteed, subtract(needed, (*best_effort, *burstable)))
    second = nearest(burstable, subtract(needed, (*best_effort, *first)))
    third = nearest(best_effort, subtract(needed, (*second, *first)))
    return [*third, *second, *first]


def nearest(pods: Sequence[Pod], needed: Requirements) -> list[Pod]:
    """Repeatedly take the pod closest to the remaining requirements; on a tie the smaller pod."""
    left, chosen = list(pods), []
    while needed:
        if not left:
            raise NothingToPreempt(needed)
        best, best_distance = 0, float(len(needed) + 1)
        for index, pod in enumerate(left):
            found = distance(needed, pod)
            if found < best_distance or (found == best_distance and smaller_request(pod, left[best])):
                best, best_distance = index, found
        needed = subtract(needed, (left[best],))
        chosen.append(left[best])
        left[best] = left[-1]
        left.pop()
    return chosen


def distance(needed: Requirements, pod: Pod) -> float:
    """Sum of the squared fractions of the requirements that evicting the pod would leave unmet."""
    total = 0.0
    for need in needed:
        open_part = float(need.amount - resource_request(pod, need.resource))
        if open_part > 0:
            total += (open_part / need.amount) ** 2
    return total


def subtract(needed: Requirements, pods: Iterable[Pod]) -> Requirements:
    """The requirements that remain after evicting these pods."""
    gone = tuple(pods)
    left = (
        AdmissionRequirement(need.resource, need.amount - sum(resource_request(pod, need.resource) for pod in gone))
        for need in needed
    )
    return tuple(need for need in left if need.amount > 0)


def smaller_request(one: Pod, other: Pod) -> bool:
    """Whether the first pod requests less memory, then less cpu; true for equal requests."""
    for resource in (MEMORY, CPU):
        first, second = resource_request(one, resource), resource_request(other, resource)
        if first != second:
            return first < second
    return True


def resource_request(pod: Pod, resource: str) -> int:
    if resource == PODS:
        return 1
    amount = requested(pod, resource)
    return amount.milli_value() if resource == CPU else amount.value()
