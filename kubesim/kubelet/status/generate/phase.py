"""The phase of a pod, from the states of its containers.

Containers are counted by state, then the counts determine the phase. api_pod_status.py then applies the rule that
terminal phases are final.

Mirrors: pkg/kubelet/kubelet_pods.go getPhase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubesim.api.pod import Container, ContainerStatus, Pod, PodSpec
from kubesim.api.pods.phases import FAILED, PENDING, RUNNING, SUCCEEDED
from kubesim.api.pods.pod_kinds import is_static_pod
from kubesim.api.pods.sidecars import ALWAYS, is_restartable_init_container
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.status.generate.reasons import RESTARTING_ALL_CONTAINERS
from kubesim.runtime.kuberuntime.decide.restart_policy import NEVER, container_should_restart


class _Counts:
    """Containers by state."""

    pending_init: int = 0
    pending_sidecars: int = 0
    failed_init: int = 0
    unknown: int = 0
    running: int = 0
    waiting: int = 0
    stopped: int = 0
    stopped_not_restartable: int = 0
    succeeded: int = 0


def get_phase(
    pod: Pod,
    statuses: Sequence[ContainerStatus],
    *,
    pod_is_terminal: bool,
    pod_has_initialized: bool,
    gates: FeatureGates = DEFAULT_GATES,
) -> str:
    """The phase. `statuses` are those of regular and init containers; the first of a name counts."""
    spec = pod.spec
    by_name = {status.name: status for status in reversed(statuses)}
    counts = _Counts()
    for container in spec.init_containers:
        status = by_name.get(container.name)
        if is_restartable_init_container(container):
            _count_sidecar(counts, status)
        else:
            _count_init(counts, container, status, spec, gates)
    for container in spec.containers:
        _count_regular(counts, container, by_name.get(container.name), spec, gates)

    if counts.failed_init:
        return FAILED
    if _is_initializing(counts, spec, by_name, pod_has_initialized, gates) or counts.waiting:
        return PENDING
    if counts.unknown or not (counts.running or counts.stopped):
        return PENDING
    if counts.running:
        return RUNNING
    return _phase_of_stopped(counts, pod, pod_is_terminal, gates)


def _is_initializing(
    counts: _Counts,
    spec: PodSpec,
    by_name: Mapping[str, ContainerStatus],
    pod_has_initialized: bool,
    gates: FeatureGates,
) -> bool:
    if gates.rules.pending_while_initializing_again:
        # A sidecar that restarts after regular containers have started does not return the pod to Pending.
        return counts.pending_init > 0 or (counts.pending_sidecars > 0 and not pod_has_initialized)
    if not (counts.pending_init or counts.pending_sidecars):
        return False
    # A regular container that ever ran implies completed initialization, even if it ran in an earlier sandbox.
    states = [status.state for container in spec.containers if (status := by_name.get(container.name)) is not None]
    return not any(state.running is not None or state.terminated is not None for state in states)


def _phase_of_stopped(counts: _Counts, pod: Pod, pod_is_terminal: bool, gates: FeatureGates) -> str:
    finished = SUCCEEDED if counts.stopped == counts.succeeded else FAILED
    # Static pods never get a terminal phase from their containers: only removing the file ends them.
    if pod_is_terminal and not is_static_pod(pod):
        return finished
    if gates.enabled("ContainerRestartRules"):
        return finished if counts.stopped == counts.stopped_not_restartable else RUNNING
    policy = pod.spec.restart_policy
    if policy == ALWAYS or (finished == FAILED and policy != NEVER):
        return RUNNING
    return finished


def _count_init(
    counts: _Counts, container: Container, status: ContainerStatus | None, spec: PodSpec, gates: FeatureGates
) -> None:
    """Count an init container: pending until it exits, failed if it exits with an error and will not restart."""
    if status is None or status.state.running is not None:
        counts.pending_init += 1
        return
    state = status.state
    terminated = state.terminated
    if terminated is None and state.waiting is not None:
        terminated = status.last_state.terminated
    if terminated is None:
        counts.pending_init += 1
    elif terminated.exit_code != 0:
        if gates.enabled("ContainerRestartRules"):
            counts.failed_init += not _restartable(container, spec, terminated.exit_code, terminated.reason, gates)
        else:
            counts.failed_init += spec.restart_policy == NEVER


def _count_sidecar(counts: _Counts, status: ContainerStatus | None) -> None:
    """Count a sidecar while it is starting or running; an exited sidecar does not affect the phase."""
    if status is None:
        counts.unknown += 1
        return
    state = status.state
    if state.running is not None:
        if not status.started:
            counts.pending_sidecars += 1
        counts.running += 1
    elif state.terminated is not None:
        pass
    elif state.waiting is None:
        counts.pending_sidecars += 1
        counts.unknown += 1
    elif status.last_state.terminated is None:
        counts.pending_sidecars += 1
        counts.waiting += 1


def _count_regular(
    counts: _Counts, container: Container, status: ContainerStatus | None, spec: PodSpec, gates: FeatureGates
) -> None:
    if status is None:
        counts.unknown += 1
        return
    state = status.state
    if state.running is not None:
        counts.running += 1
        return
    terminated = state.terminated
    if terminated is not None:
        # A container that waits for its restart has not "succeeded", even if its last exit code was 0.
        counts.succeeded += terminated.exit_code == 0
    elif state.waiting is None:
        counts.unknown += 1
        return
    else:
        terminated = status.last_state.terminated
        if terminated is None:
            counts.waiting += 1
            return
    counts.stopped += 1
    if not _restartable(container, spec, terminated.exit_code, terminated.reason, gates):
        counts.stopped_not_restartable += 1


def _restartable(container: Container, spec: PodSpec, exit_code: int, reason: str, gates: FeatureGates) -> bool:
    if container_should_restart(container, spec, exit_code, gates):
        return True
    # A container stopped by a restart of all containers restarts regardless of its policy.
    return reason == RESTARTING_ALL_CONTAINERS and gates.enabled("RestartAllContainersOnContainerExits")
