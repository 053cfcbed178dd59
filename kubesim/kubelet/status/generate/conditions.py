"""Pod conditions owned by the kubelet, each computed from the pod, its old status and its container statuses.

The status manager sets `lastTransitionTime`.

Mirrors: pkg/kubelet/status/generate.go, pkg/kubelet/types/pod_status.go, pkg/api/v1/pod/util.go
CalculatePodConditionObservedGeneration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from kubesim.api.pod import ContainerStatus, Pod, PodCondition, PodStatus
from kubesim.api.pods.phases import FAILED, SUCCEEDED
from kubesim.api.pods.pod_conditions import (
    CONTAINERS_READY,
    FALSE,
    INITIALIZED,
    POD_READY_TO_START_CONTAINERS,
    POD_RESIZE_IN_PROGRESS,
    POD_RESIZE_PENDING,
    POD_SCHEDULED,
    READY,
    TRUE,
    find_condition,
    is_condition_true,
)
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.golang.text import listed, quoted
from kubesim.kubelet.status.generate import reasons
from kubesim.runtime.kuberuntime.decide.actions import pod_sandbox_changed
from kubesim.runtime.kuberuntime.decide.restart_policy import (
    ALL_CONTAINERS_RESTARTING,
    all_containers_restart_cleaned_up,
    should_all_containers_restart,
)
from kubesim.runtime.types import RuntimePodStatus

_ALWAYS_OWNED = frozenset(
    {POD_SCHEDULED, READY, INITIALIZED, CONTAINERS_READY, POD_RESIZE_IN_PROGRESS, POD_RESIZE_PENDING}
)


def conditions_by_kubelet(gates: FeatureGates = DEFAULT_GATES) -> frozenset[str]:
    """The condition types that the kubelet owns."""
    return _owned(gates.enabled)


@lru_cache(maxsize=64)
def _owned(enabled: Callable[[str], bool]) -> frozenset[str]:
    by_gate = {
        POD_READY_TO_START_CONTAINERS: enabled("PodReadyToStartContainersCondition"),
        ALL_CONTAINERS_RESTARTING: enabled("RestartAllContainersOnContainerExits"),
    }
    return _ALWAYS_OWNED | {kind for kind, on in by_gate.items() if on}


def condition_observed_generation(pod: Pod, old: PodStatus, condition_type: str, gates: FeatureGates) -> int:
    """The pod's generation. Without the gate, only if the old condition already had one."""
    tracked = gates.enabled("PodObservedGenerationTracking") or any(
        condition.type == condition_type and condition.observed_generation for condition in old.conditions
    )
    return pod.metadata.generation if tracked else 0


def generate_containers_ready_condition(
    pod: Pod,
    old: PodStatus,
    statuses: Sequence[ContainerStatus] | None,
    phase: str,
    gates: FeatureGates = DEFAULT_GATES,
) -> PodCondition:
    """ContainersReady: every regular container and every sidecar is ready. None: no container statuses."""
    if statuses is None:
        return _condition(pod, old, CONTAINERS_READY, FALSE, gates, reasons.UNKNOWN_CONTAINER_STATUSES)
    # Containers of a failed pod may still be terminating: they count as not ready.
    if phase == FAILED and gates.rules.reports_pod_failed:
        return _condition(pod, old, CONTAINERS_READY, FALSE, gates, reasons.POD_FAILED)
    by_name = _by_name(statuses)
    unknown: list[str] = []
    unready: list[str] = []
    counted = pod.spec.containers
    if pod.spec.init_containers:
        counted = (*filter(is_restartable_init_container, pod.spec.init_containers), *counted)
    for container in counted:
        status = by_name.get(container.name)
        if status is None:
            unknown.append(container.name)
        elif not status.ready:
            unready.append(container.name)
    if phase == SUCCEEDED and not unknown:
        return _condition(pod, old, CONTAINERS_READY, FALSE, gates, reasons.POD_COMPLETED)
    if not unknown and not unready:
        return _condition(pod, old, CONTAINERS_READY, TRUE, gates)
    message = _message(unknown, "unready", unready)
    return _condition(pod, old, CONTAINERS_READY, FALSE, gates, reasons.CONTAINERS_NOT_READY, message)


def generate_pod_ready_condition(
    pod: Pod,
    old: PodStatus,
    conditions: Sequence[PodCondition],
    containers_ready: PodCondition,
    gates: FeatureGates = DEFAULT_GATES,
) -> PodCondition:
    """Ready: ContainersReady is true, and so is the condition of every readiness gate in `conditions`."""
    if containers_ready.status != TRUE:
        return _condition(
            pod, old, READY, containers_ready.status, gates, containers_ready.reason, containers_ready.message
        )
    messages = []
    for gate in pod.spec.readiness_gates:
        condition = find_condition(conditions, gate.condition_type)
        name = quoted(gate.condition_type)
        if condition is None:
            messages.append(f"corresponding condition of pod readiness gate {name} does not exist.")
        elif condition.status != TRUE:
            messages.append(f'the status of pod readiness gate {name} is not "True", but {condition.status}')
    if messages:
        return _condition(pod, old, READY, FALSE, gates, reasons.READINESS_GATES_NOT_READY, ", ".join(messages))
    return _condition(pod, old, READY, TRUE, gates)


def generate_pod_initialized_condition(
    pod: Pod,
    old: PodStatus,
    statuses: Sequence[ContainerStatus] | None,
    phase: str,
    gates: FeatureGates = DEFAULT_GATES,
) -> PodCondition:
    """Initialized: init containers completed and sidecars started, or a started regular container implies it."""
    if not pod.spec.init_containers:
        return _condition(pod, old, INITIALIZED, TRUE, gates, reasons.POD_COMPLETED if phase == SUCCEEDED else "")
    if statuses is None:
        return _condition(pod, old, INITIALIZED, FALSE, gates, reasons.UNKNOWN_CONTAINER_STATUSES)
    by_name = _by_name(statuses)
    unknown: list[str] = []
    incomplete: list[str] = []
    for container in pod.spec.init_containers:
        status = by_name.get(container.name)
        if status is None:
            unknown.append(container.name)
        elif not (status.started if is_restartable_init_container(container) else status.ready):
            incomplete.append(container.name)
    if phase == SUCCEEDED and not unknown:
        return _condition(pod, old, INITIALIZED, TRUE, gates, reasons.POD_COMPLETED)
    if gates.rules.running_shows_initialized and _has_any_regular_container_started(pod, statuses):
        return _condition(pod, old, INITIALIZED, TRUE, gates)
    message = _message(unknown, "incomplete", incomplete)
    if not message or _stays_initialized(old, gates):
        return _condition(pod, old, INITIALIZED, TRUE, gates)
    return _condition(pod, old, INITIALIZED, FALSE, gates, reasons.CONTAINERS_NOT_INITIALIZED, message)


def generate_pod_ready_to_start_containers_condition(
    pod: Pod, old: PodStatus, runtime: RuntimePodStatus, gates: FeatureGates = DEFAULT_GATES
) -> PodCondition:
    """PodReadyToStartContainers: the sandbox has its network, and no new sandbox is needed."""
    new_sandbox_needed, _, _, _, message = pod_sandbox_changed(pod, runtime)
    if not new_sandbox_needed:
        return _condition(pod, old, POD_READY_TO_START_CONTAINERS, TRUE, gates)
    reason = reasons.POD_SANDBOX_NOT_READY if gates.rules.explains_missing_sandbox else ""
    return _condition(pod, old, POD_READY_TO_START_CONTAINERS, FALSE, gates, reason, message if reason else "")


def generate_all_containers_restarting_condition(
    pod: Pod, old: PodStatus, runtime: RuntimePodStatus, phase: str
) -> PodCondition:
    """AllContainersRestarting: a rule requested it and an old container still exists. It has no generation."""
    if phase in (SUCCEEDED, FAILED):
        reason = reasons.POD_COMPLETED if phase == SUCCEEDED else reasons.POD_FAILED
        return PodCondition(type=ALL_CONTAINERS_RESTARTING, status=FALSE, reason=reason)
    if not should_all_containers_restart(pod, runtime, old) or all_containers_restart_cleaned_up(pod, runtime):
        return PodCondition(type=ALL_CONTAINERS_RESTARTING, status=FALSE)
    return PodCondition(
        type=ALL_CONTAINERS_RESTARTING,
        status=TRUE,
        reason=reasons.RESTART_ALL_CONTAINERS_STARTED,
        message="container exited with restart policy rule",
    )


def generate_pod_scheduled_condition(pod: Pod, old: PodStatus, gates: FeatureGates = DEFAULT_GATES) -> PodCondition:
    """PodScheduled: always true, because a kubelet sees only scheduled pods."""
    return _condition(pod, old, POD_SCHEDULED, TRUE, gates)


def _condition(
    pod: Pod, old: PodStatus, kind: str, status: str, gates: FeatureGates, reason: str = "", message: str = ""
) -> PodCondition:
    tracked = gates.enabled("PodObservedGenerationTracking")  # inline, because each status has five conditions
    generation = pod.metadata.generation if tracked else condition_observed_generation(pod, old, kind, gates)
    return _shared_condition(kind, generation, status, reason, message)


@lru_cache(maxsize=4096)
def _shared_condition(
    kind: str, generation: int, status: str, reason: str, message: str, since: str | None = None
) -> PodCondition:
    # Conditions repeat and are immutable, so equal ones share one object.
    made = PodCondition(type=kind, observed_generation=generation, status=status, reason=reason, message=message)
    return made if since is None else made.changed(last_transition_time=since)


def condition_since(condition: PodCondition, moment: str | None) -> PodCondition:
    """The condition with its transition time."""
    if condition.last_transition_time == moment:
        return condition
    if condition.last_probe_time is not None or condition.extra:
        return condition.changed(last_transition_time=moment)
    return _shared_condition(
        condition.type, condition.observed_generation, condition.status, condition.reason, condition.message, moment
    )


def _by_name(statuses: Sequence[ContainerStatus]) -> dict[str, ContainerStatus]:
    return {status.name: status for status in reversed(statuses)}


def _message(unknown: list[str], adjective: str, names: list[str]) -> str:
    parts = []
    if unknown:
        parts.append(f"containers with unknown status: {listed(unknown)}")
    if names:
        parts.append(f"containers with {adjective} status: {listed(names)}")
    return ", ".join(parts)


def _has_any_regular_container_started(pod: Pod, statuses: Sequence[ContainerStatus]) -> bool:
    began = [s.name for s in statuses if s.state.running is not None or s.state.terminated is not None]
    return not {container.name for container in pod.spec.containers}.isdisjoint(began)


def _stays_initialized(old: PodStatus, gates: FeatureGates) -> bool:
    """A restart of all containers runs the init containers again, but an initialized pod stays Initialized."""
    return gates.enabled("RestartAllContainersOnContainerExits") and is_condition_true(old.conditions, INITIALIZED)
