"""Started and Ready of each container: the results of the probes.

Probe results are by container id, so a new container begins without any. A container that ran before the kubelet came
up (by more than 10 s) keeps its last reported values until its probes have results again.

Mirrors: pkg/kubelet/prober/prober_manager.go UpdatePodStatus, isContainerStarted, setReadyStateOnKubeletRestart.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.pod import Container, ContainerStatus, PodStatus
from kubesim.api.pods.pod_conditions import READY, is_condition_true
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.timestamps import SECOND
from kubesim.kubelet.status.generate.inputs import StatusInputs

_KUBELET_RESTART_GRACE = 10 * SECOND


def started_and_ready(
    inputs: StatusInputs, container: Container, container_id: str, started: bool | None
) -> tuple[bool, bool]:
    """Of a regular container or sidecar that is running; `started` is the earlier value, if that still counts."""
    if not _is_container_started(inputs, container, container_id, started):
        return False, False
    return True, _is_container_ready(inputs, container, container_id)


def with_probe_results_of_init(
    inputs: StatusInputs, statuses: Sequence[ContainerStatus]
) -> tuple[ContainerStatus, ...]:
    """Statuses of init containers, in the order of the spec: sidecars are probed, the others are ready when done."""
    out = []
    for container, status in zip(inputs.pod.spec.init_containers, statuses, strict=True):
        started, ready = False, status.ready
        if status.state.running is None:
            terminated = status.state.terminated
            if terminated is not None and terminated.exit_code == 0 and not is_restartable_init_container(container):
                ready = True
        elif is_restartable_init_container(container):
            started, ready = started_and_ready(inputs, container, status.container_id, status.started)
        else:
            started = _is_container_started(inputs, container, status.container_id, status.started)
        if status.started is not started or status.ready is not ready:
            status = status.changed(started=started, ready=ready)
        out.append(status)
    return tuple(out)


def readiness_workers_to_trigger(inputs: StatusInputs, status: PodStatus) -> list[str]:
    """The containers whose readiness probe must run immediately, because it has no success in the status of
    `inputs`."""
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


def _is_container_started(inputs: StatusInputs, container: Container, container_id: str, started: bool | None) -> bool:
    """Started of a container that is running."""
    result = inputs.startup.get(container_id)
    if result is not None:
        return result == "success"
    if started and not inputs.gates.enabled("ChangeContainerStatusOnKubeletRestart"):
        return True
    return (container.name, "startup") not in inputs.probe_workers


def _is_container_ready(inputs: StatusInputs, container: Container, container_id: str) -> bool:
    """Ready of a container that is running and started."""
    result = inputs.readiness.get(container_id)
    if result == "success":
        return True
    ready = (container.name, "readiness") not in inputs.probe_workers
    if ready and container.readiness_probe is None:
        return ready
    if inputs.gates.enabled("ChangeContainerStatusOnKubeletRestart"):
        return ready
    starts = [record.started_at for record in inputs.runtime.containers if record.id == container_id]
    if not starts or starts[0] is None or starts[0] >= inputs.kubelet_start - _KUBELET_RESTART_GRACE:
        return ready
    # It ran before this kubelet: without any result yet it stays ready, but only if the API says that the pod is.
    if container.readiness_probe is not None and not _api_says_ready(inputs):
        return False
    return ready or result is None


def _api_says_ready(inputs: StatusInputs) -> bool:
    return is_condition_true(inputs.pod.status.conditions, READY)
