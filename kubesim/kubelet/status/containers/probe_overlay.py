"""Started and Ready of each container, from its probe results.

Probe results are kept by container id, so a new container starts without results. A container that started more than 10
s before the kubelet keeps its last reported values until its probes have results.

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
    """Started and Ready of a running regular container or sidecar. `started`: the previous value, if valid."""
    if not _is_container_started(inputs, container, container_id, started):
        return False, False
    return True, _is_container_ready(inputs, container, container_id)


def with_probe_results_of_init(
    inputs: StatusInputs, statuses: Sequence[ContainerStatus]
) -> tuple[ContainerStatus, ...]:
    """Init container statuses with Started and Ready: sidecars are probed, others are ready on completion."""
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
    """Containers to probe for readiness immediately: those without a successful result in the status of `inputs`."""
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
    """Started of a running container."""
    result = inputs.startup.get(container_id)
    if result is not None:
        return result == "success"
    if started and not inputs.gates.enabled("ChangeContainerStatusOnKubeletRestart"):
        return True
    return (container.name, "startup") not in inputs.probe_workers


def _is_container_ready(inputs: StatusInputs, container: Container, container_id: str) -> bool:
    """Ready of a running container that has started."""
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
    # It started before this kubelet: without a result it stays ready if it is ready in the API server's status.
    if container.readiness_probe is not None and not _api_says_ready(inputs):
        return False
    return ready or result is None


def _api_says_ready(inputs: StatusInputs) -> bool:
    return is_condition_true(inputs.pod.status.conditions, READY)
