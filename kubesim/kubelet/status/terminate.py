"""The final status of a terminated pod.

Removed containers without a recorded exit count as failed, so that no pod is reported as Succeeded by accident.

Mirrors: pkg/kubelet/status/status_manager.go TerminatePod, hasPodInitialized, initializedContainers.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.pod import ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodStatus
from kubesim.api.pods.phases import FAILED, TERMINAL_PHASES
from kubesim.api.pods.pod_kinds import is_static_pod
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.kubelet.status.generate.reasons import CONTAINER_STATUS_UNKNOWN
from kubesim.kubelet.status.manager_rules import container_by_index

_LOST = ContainerState(
    terminated=ContainerStateTerminated(
        reason=CONTAINER_STATUS_UNKNOWN,
        message="The container could not be located when the pod was terminated",
        exit_code=137,
    )
)

_EMPTY = ContainerState(terminated=ContainerStateTerminated())


def terminated_status(pod: Pod, status: PodStatus) -> PodStatus:
    """The final status. `pod.status` shows whether the pod was initialized; `status` is the newest one known."""
    regular, init = status.container_statuses, status.init_container_statuses
    if has_pod_initialized(pod):
        regular = _all_terminated(regular, len(regular))
    init = _all_terminated(init, _attempted(init))
    phase = status.phase
    if not is_static_pod(pod) and phase not in TERMINAL_PHASES:
        phase = FAILED
    return status.changed(container_statuses=regular, init_container_statuses=init, phase=phase)


def with_empty_states(status: PodStatus) -> PodStatus:
    """The final status of older kubelets: every container is terminated, without even a known exit code."""
    return status.changed(
        container_statuses=tuple(each.changed(state=_EMPTY) for each in status.container_statuses),
        init_container_statuses=tuple(each.changed(state=_EMPTY) for each in status.init_container_statuses),
    )


def _all_terminated(statuses: tuple[ContainerStatus, ...], count: int) -> tuple[ContainerStatus, ...]:
    return tuple(
        status.changed(state=_LOST) if n < count and status.state.terminated is None else status
        for n, status in enumerate(statuses)
    )


def _attempted(statuses: Sequence[ContainerStatus]) -> int:
    """The number of init containers that were started: those up to the last started one, at least the first."""
    for n in range(len(statuses) - 1, -1, -1):
        if _left_waiting(statuses[n]):
            return n + 1
    return min(1, len(statuses))


def _left_waiting(status: ContainerStatus) -> bool:
    return status.state.waiting is None or status.last_state.terminated is not None


def has_pod_initialized(pod: Pod) -> bool:
    """Whether regular containers were, or could have been, started."""
    if not pod.spec.init_containers:
        return True
    if any(_left_waiting(status) for status in pod.status.container_statuses):
        return True
    statuses = pod.status.init_container_statuses
    if not statuses:
        return False
    last = statuses[-1]
    container = container_by_index(pod.spec.init_containers, statuses, len(statuses) - 1)
    if container is None:
        return False
    if is_restartable_init_container(container):
        return last.state.running is not None and bool(last.started)
    return any(
        state.terminated is not None and state.terminated.exit_code == 0 for state in (last.last_state, last.state)
    )
