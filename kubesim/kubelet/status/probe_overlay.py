"""Started and Ready of each container: what the probes have found out, laid over the statuses.

Probe results are by container id, so a new container begins without any. A container that ran before the kubelet came
up (by more than 10 s) keeps what was said of it until its probes have spoken again.

Mirrors: pkg/kubelet/prober/prober_manager.go UpdatePodStatus, isContainerStarted, setReadyStateOnKubeletRestart.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.pod import Container, ContainerStatus, PodStatus
from kubesim.api.timestamps import SECOND
from kubesim.kubelet.status.conditions import READY, is_condition_true
from kubesim.kubelet.status.inputs import StatusInputs
from kubesim.runtime.restart_policy import is_restartable_init_container

_KUBELET_RESTART_GRACE = 10 * SECOND


def with_probe_results(inputs: StatusInputs, statuses: Sequence[ContainerStatus]) -> tuple[ContainerStatus, ...]:
    """Statuses of regular containers, with Started and Ready."""
    containers = {container.name: container for container in reversed(inputs.pod.spec.containers)}
    return tuple([_with_results(inputs, status, containers.get(status.name)) for status in statuses])


def with_probe_results_of_init(
    inputs: StatusInputs, statuses: Sequence[ContainerStatus]
) -> tuple[ContainerStatus, ...]:
    """Statuses of init containers, in the order of the spec: sidecars are probed, the others are ready when done."""
    out = []
    for container, status in zip(inputs.pod.spec.init_containers, statuses, strict=True):
        if is_restartable_init_container(container):
            out.append(_with_results(inputs, status, container))
        else:
            terminated = status.state.terminated
            done = terminated is not None and terminated.exit_code == 0
            out.append(_changed(status, _is_container_started(inputs, status), status.ready or done))
    return tuple(out)


def readiness_workers_to_trigger(inputs: StatusInputs, status: PodStatus) -> list[str]:
    """The containers whose readiness probe is to run at once, because the status of `inputs` found no success of it."""
    names: list[str] = []
    if not inputs.probe_workers:
        return names
    probed = status.container_statuses
    if status.init_container_statuses:
        sidecars = {c.name for c in inputs.pod.spec.init_containers if is_restartable_init_container(c)}
        probed += tuple([s for s in status.init_container_statuses if s.name in sidecars])
    for container in probed:
        if container.state.running is not None and container.started:
            if inputs.readiness.get(container.container_id) != "success":
                if (container.name, "readiness") in inputs.probe_workers:
                    names.append(container.name)
    return names


def _with_results(inputs: StatusInputs, status: ContainerStatus, container: Container | None) -> ContainerStatus:
    if not _is_container_started(inputs, status):
        return _changed(status, False, status.ready)
    return _changed(status, True, _is_container_ready(inputs, status, container))


def _changed(status: ContainerStatus, started: bool, ready: bool) -> ContainerStatus:
    if status.started is started and status.ready is ready:
        return status
    return status.changed(started=started, ready=ready)


def _is_container_started(inputs: StatusInputs, status: ContainerStatus) -> bool:
    if status.state.running is None:
        return False
    result = inputs.startup.get(status.container_id)
    if result is not None:
        return result == "success"
    if status.started and not inputs.gates.enabled("ChangeContainerStatusOnKubeletRestart"):
        return True
    return (status.name, "startup") not in inputs.probe_workers


def _is_container_ready(inputs: StatusInputs, status: ContainerStatus, container: Container | None) -> bool:
    """Ready of a container that is running and started."""
    result = inputs.readiness.get(status.container_id)
    if result == "success":
        return True
    ready = (status.name, "readiness") not in inputs.probe_workers
    if container is None or (ready and container.readiness_probe is None):
        return ready
    if inputs.gates.enabled("ChangeContainerStatusOnKubeletRestart"):
        return ready
    starts = [record.started_at for record in inputs.runtime.containers if record.id == status.container_id]
    if not starts or starts[0] is None or starts[0] >= inputs.kubelet_start - _KUBELET_RESTART_GRACE:
        return ready
    # It ran before this kubelet: without any result yet it stays ready, but only if the API says that the pod is.
    if container.readiness_probe is not None and not _api_says_ready(inputs):
        return False
    return ready or result is None


def _api_says_ready(inputs: StatusInputs) -> bool:
    return is_condition_true(inputs.pod.status.conditions, READY)
