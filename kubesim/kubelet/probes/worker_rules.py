"""The rules of a probe worker as pure functions: whether to probe now, and how a result counts.

`before_probe` decides from the pod's status whether to wait, end or probe. `after_probe` counts the result against the
thresholds. Both return the worker's next state and the results to write, in order, each with a reason.

Mirrors: pkg/kubelet/prober/worker.go doProbe, newWorker
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from kubesim.api.pod import Container, ContainerStateRunning, ContainerStatus, Pod, PodStatus, Probe
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.timestamps import SECOND, parse_time
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.status.generate.inputs import ProbeType
from kubesim.runtime.kuberuntime.decide.restart_policy import (
    NEVER,
    container_should_restart,
    should_all_containers_restart,
)
from kubesim.runtime.protocol import CallContext
from kubesim.runtime.types import ProbeResult
from kubesim.values import replace, value_object

KUBELET_RESTART_GRACE = 10 * SECOND  # a container older than the kubelet by more than this ran before it started

INITIAL_VALUE: Mapping[ProbeType, ProbeResult] = {"readiness": "failure", "liveness": "success", "startup": "unknown"}

Next = Literal["wait", "end", "probe"]


@value_object
class WorkerSubject:
    """The probed container. The pod is the version that the worker was created for; the worker does not see later
    versions. The context is therefore that of the sync that created the worker; a deletion of the pod cancels it, and
    then commands fail.
    """

    pod: Pod
    container: Container
    probe_type: ProbeType
    spec: Probe
    restartable_init: bool  # a sidecar
    context: CallContext | None = None

    @classmethod
    def of(
        cls, pod: Pod, container: Container, probe_type: ProbeType, context: CallContext | None = None
    ) -> WorkerSubject:
        spec = probe_of(container, probe_type)
        assert spec is not None, f"container {container.name} has no {probe_type} probe"
        sidecar = is_restartable_init_container(container) and container.name in [
            c.name for c in pod.spec.init_containers
        ]
        return cls(pod, container, probe_type, spec, sidecar, context)


def probe_of(container: Container, probe_type: ProbeType) -> Probe | None:
    if probe_type == "readiness":
        return container.readiness_probe
    return container.liveness_probe if probe_type == "liveness" else container.startup_probe


def probe_types(container: Container, gates: FeatureGates) -> list[ProbeType]:
    """The container's probes, in the order in which their workers are created."""
    types: list[ProbeType] = []
    if container.startup_probe is not None and gates.enabled("StartupProbe"):
        types.append("startup")
    if container.readiness_probe is not None:
        types.append("readiness")
    if container.liveness_probe is not None:
        types.append("liveness")
    return types


@value_object
class ProbeWorkerState:
    """Worker state that is kept between turns."""

    container_id: str = ""
    last_result: ProbeResult = "success"  # Go's zero value: a first success continues a streak
    result_run: int = 0
    on_hold: bool = False


@value_object
class Write:
    """A result to write; without a result: remove the container."""

    container_id: str
    result: ProbeResult | None
    why: str = ""


@value_object
class Turn:
    """The outcome of a turn: the new state, the writes, and how to continue."""

    state: ProbeWorkerState
    next: Next
    writes: tuple[Write, ...] = ()


def before_probe(
    subject: WorkerSubject,
    state: ProbeWorkerState,
    status: PodStatus | None,
    now: int,
    kubelet_start: int,
    gates: FeatureGates = DEFAULT_GATES,
) -> Turn:
    """Decide what to do before the probe, from the status manager's pod status."""
    if status is None:
        return Turn(state, "wait")
    if status.phase in ("Failed", "Succeeded"):
        return Turn(state, "end")
    found = _container_status(status, subject.container.name)
    if found is None:
        return Turn(state, "wait")

    writes: tuple[Write, ...] = ()
    if found.container_id != state.container_id:
        writes = _meet_container(subject, state, found, kubelet_start, gates)
        state = replace(state, container_id=found.container_id, on_hold=False)
    if state.on_hold:
        return Turn(state, "wait", writes)

    running = found.state.running
    if running is None:
        why = f"{_describe(subject)} is a failure: the container is not running"
        writes = (*writes, Write(state.container_id, "failure", why))
        return Turn(state, "wait" if _may_run_again(subject, status, found, gates) else "end", writes)
    if subject.pod.metadata.deletion_timestamp is not None and subject.probe_type != "readiness":
        why = f"{_describe(subject)} counts as a success from now on: the pod is being deleted"
        return Turn(state, "end", (*writes, Write(state.container_id, "success", why)))
    if _seconds_since(running, now) < subject.spec.initial_delay_seconds:
        return Turn(state, "wait", writes)
    # Before the container has started only the startup probe runs; afterwards only the others run.
    if bool(found.started) == (subject.probe_type == "startup") and gates.enabled("StartupProbe"):
        return Turn(state, "wait", writes)
    return Turn(state, "probe", writes)


def after_probe(
    subject: WorkerSubject, state: ProbeWorkerState, result: ProbeResult, verdict: ProbeResult | None = None
) -> Turn:
    """Count a result. At its threshold it is written if it changed; below the threshold the previous result stays."""
    run = state.result_run + 1 if state.last_result == result else 1
    state = ProbeWorkerState(state.container_id, result, run, state.on_hold)
    threshold = subject.spec.failure_threshold if result == "failure" else subject.spec.success_threshold
    if run < threshold:
        return Turn(state, "wait")
    write = () if result == verdict else (Write(state.container_id, result, _counted(subject, result, run, threshold)),)
    if subject.probe_type == "startup" or (subject.probe_type == "liveness" and result == "failure"):
        # The container will restart, or has started: no more probes until its id changes.
        state = replace(state, on_hold=True, result_run=0)
    return Turn(state, "wait", write)


def _container_status(status: PodStatus, name: str) -> ContainerStatus | None:
    """The status of an existing container; None for a status without an id."""
    for statuses in (status.container_statuses, status.init_container_statuses):
        for candidate in statuses:
            if candidate.name == name:
                if candidate.container_id:
                    return candidate
                break
    return None


def _meet_container(
    subject: WorkerSubject, state: ProbeWorkerState, found: ContainerStatus, kubelet_start: int, gates: FeatureGates
) -> tuple[Write, ...]:
    """A new container id: remove the old container's result and write the initial value."""
    writes: list[Write] = []
    new = found.container_id
    if state.container_id:
        writes.append(Write(state.container_id, None))
    initial = INITIAL_VALUE[subject.probe_type]
    begin = Write(new, initial, f"{_describe(subject)} begins as {initial}: the container is new")
    if gates.enabled("ChangeContainerStatusOnKubeletRestart"):
        return (*writes, begin)
    if subject.restartable_init and subject.probe_type == "startup" and found.started:
        why = f"{_describe(subject)} is a success: the sidecar had started before the kubelet did"
        writes.append(Write(new, "success", why))
    # A container that ran before the kubelet restarted stays ready until a probe fails.
    if not _ran_before_kubelet(found.state.running, kubelet_start):
        writes.append(begin)
    return tuple(writes)


def _ran_before_kubelet(running: ContainerStateRunning | None, kubelet_start: int) -> bool:
    if running is None or running.started_at is None:
        return False
    return parse_time(running.started_at) < kubelet_start - KUBELET_RESTART_GRACE


def _may_run_again(subject: WorkerSubject, status: PodStatus, found: ContainerStatus, gates: FeatureGates) -> bool:
    """Whether the container may still start again."""
    terminated = found.state.terminated
    if terminated is None:
        return True
    if not gates.enabled("ContainerRestartRules"):
        return subject.pod.spec.restart_policy != NEVER or subject.restartable_init
    if container_should_restart(subject.container, subject.pod.spec, terminated.exit_code, gates):
        return True
    return gates.enabled("RestartAllContainersOnContainerExits") and should_all_containers_restart(
        subject.pod, None, status
    )


def _seconds_since(running: ContainerStateRunning, now: int) -> float:
    """Whole seconds since the start, truncated; infinity for a container without a start time."""
    if running.started_at is None:
        return float("inf")
    elapsed = now - parse_time(running.started_at)
    return elapsed // SECOND if elapsed >= 0 else -(-elapsed // SECOND)


def _describe(subject: WorkerSubject) -> str:
    return f"{subject.probe_type} of {subject.container.name}"


def _counted(subject: WorkerSubject, result: ProbeResult, run: int, threshold: int) -> str:
    verb, name = ("failed", "failureThreshold") if result == "failure" else ("succeeded", "successThreshold")
    times = "once" if run == 1 else f"{run} times in a row"
    return f"{_describe(subject)} {verb} {times} ({name} {threshold})"
