"""Probes run only on containers that run.

A probe runs only if the container is running in the kubelet's own status (which may be stale), has been started by the
runtime, and its initial delay is over. Until the startup probe has succeeded, no other probe runs (doProbe).

Exception: kubelets before v1.16 do not support startup probes, and do not report `started`.
"""

from __future__ import annotations

from kubesim.api.pod import PodStatus
from kubesim.api.timestamps import SECOND, parse_time
from kubesim.kubelet.probes.worker_rules import WorkerSubject
from kubesim.runtime.types import bare_id
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import PodSeen


def probed(pod: PodSeen | None, subject: WorkerSubject, status: PodStatus, container_id: str, now: int) -> str:
    name, what = subject.container.name, f"the {subject.probe_type} probe of container {subject.container.name} ran"
    statuses = (*status.container_statuses, *status.init_container_statuses)
    found = next((each for each in statuses if each.name == name), None)
    if found is None or found.state.running is None or found.container_id != container_id:
        return f"{what} although its status does not report it as running"
    identifier = bare_id(container_id)
    if pod is not None and identifier not in pod.running and identifier not in pod.ended:
        return f"{what} although the runtime has not started it"
    began = found.state.running.started_at
    delay_s = subject.spec.initial_delay_seconds
    if began is not None and now < parse_time(began) + delay_s * SECOND:
        return f"{what} before its initial delay of {delay_s}s was over"
    if found.started is None or subject.container.startup_probe is None:
        return ""
    if found.started == (subject.probe_type == "startup"):
        return f"{what} {'after' if found.started else 'before'} the container had started"
    return ""


INVARIANT = Invariant("probes", probed=probed)
