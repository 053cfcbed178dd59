"""A reported status follows from the containers.

A status may be late, but it never reports a state that did not exist: a container reported as running has started, and
a container reported as terminated has exited with that code. A ready container is running; a pod is Ready only if all
its containers are; it is Succeeded only if all of them exited with 0; its phase is terminal only if no container is
running.

Exceptions: a container whose record is gone is reported as ContainerStatusUnknown (137). The records of an evicted pod
are removed before its status is final, so it may be reported as ready. Kubelets without pod worker states (before
v1.22) report an evicted pod as Failed immediately. If a pod is deleted before its regular containers have started, they
report all containers as terminated while init containers run (TerminatePod). If the kubelet of a node does not work,
other components set the final status of its pods (pod garbage collection, a forced deletion).
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesim.api.pod import ContainerStatus, Pod, PodStatus
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import READY, is_condition_true
from kubesim.runtime.types import bare_id
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import PodSeen

UNKNOWN = "ContainerStatusUnknown"


def status_changed(pod: PodSeen | None, old: Pod | None, new: Pod) -> str:
    status = new.status
    if (problem := _not_ready(status)) and not _is_evicted(pod):
        return problem
    if status.phase in TERMINAL_PHASES and (old is None or old.status.phase not in TERMINAL_PHASES):
        if problem := _wrong_end(pod, status):
            return problem
    return "" if pod is None else _never_happened(pod, (*status.init_container_statuses, *status.container_statuses))


def _is_evicted(pod: PodSeen | None) -> bool:
    worker = None if pod is None else pod.node.worker(pod.spec.metadata.uid)
    return worker is not None and worker.evicted


def _not_ready(status: PodStatus) -> str:
    for container in status.container_statuses:
        if container.ready:
            if container.state.running is None:
                return f"container {container.name} is reported as ready, but not as running"
        elif is_condition_true(status.conditions, READY):
            return f"the pod is reported as Ready, but container {container.name} is not ready"
    return ""


def _wrong_end(pod: PodSeen | None, status: PodStatus) -> str:
    if status.phase == "Succeeded":
        for container in status.container_statuses:
            end = container.state.terminated
            if end is None or end.exit_code != 0:
                return f"the pod is reported as Succeeded, but container {container.name} did not exit with 0"
    if pod is None or pod.node.undisturbed_since is None or not pod.node.rules.pod_worker_states:
        return ""
    names = ", ".join(info.name for info in pod.running.values())
    return f"the pod is reported as {status.phase} while containers run: {names}" if names else ""


def _never_happened(pod: PodSeen, statuses: Iterable[ContainerStatus]) -> str:
    for status in statuses:
        identifier, state = bare_id(status.container_id), status.state
        if state.running is not None:
            if identifier not in pod.running and identifier not in pod.ended:
                return f"container {status.name} is reported as running, but {identifier[:12]} never started"
        elif state.terminated is not None and state.terminated.reason != UNKNOWN:
            info = pod.ended.get(identifier)
            if identifier in pod.running:
                if not pod.node.rules.pod_worker_states:
                    continue
                return f"container {status.name} is reported as terminated, but {identifier[:12]} runs"
            if not pod.node.rules.pod_worker_states and state.terminated.exit_code == 0 and not state.terminated.reason:
                continue  # TerminatePod of kubelets before v1.22 reports an empty state
            if info is not None and info.exit_code != state.terminated.exit_code:
                code = state.terminated.exit_code
                return f"container {status.name} is reported to have exited with {code}, not with {info.exit_code}"
    return ""


INVARIANT = Invariant("statuses", status_changed=status_changed)
