"""Sidecars outlive the regular containers of their pod.

When a pod is stopped, a sidecar gets its stop signal after all regular containers have ended, and after the sidecar
that follows it (kuberuntime_termination_order.go).

Exceptions: a sidecar waits no longer than the grace period, so the order holds only until the grace period of the other
container is over, give or take 2 s. The restart of a single sidecar (liveness probe, new image) does not count.
"""

from __future__ import annotations

from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.timestamps import SECOND
from kubesim.runtime.protocol import ContainerInfo
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import PodSeen

CUT = 2 * SECOND  # the minimum after a long hook; the times of hooks and waits are each counted in whole seconds


def stopping(pod: PodSeen, info: ContainerInfo, timeout: int, now: int) -> str:
    if not pod.init_containers:
        return ""
    names = waits_for(pod, info.name)
    for other in pod.running.values():
        if other.name in names and other.id != info.id and _has_time(pod, other, now):
            return f"sidecar {info.name} was stopped while container {other.name} was still running"
    return ""


def waits_for(pod: PodSeen, name: str) -> list[str]:
    """The containers that must end before a sidecar: the regular containers and the next sidecar. None for other
    containers."""
    sidecars = [init.name for init in pod.init_containers if is_restartable_init_container(init)]
    if name not in sidecars:
        return []
    position = sidecars.index(name) + 1
    return [container.name for container in pod.spec.spec.containers] + sidecars[position : position + 1]


def _has_time(pod: PodSeen, info: ContainerInfo, now: int) -> bool:
    """Whether a container that is being stopped is still in its grace period. A container whose hook delays the
    StopContainer call counts if the whole pod is being stopped."""
    stop = pod.stops.get(info.id)
    if stop is not None:
        return stop.kill_at - now > CUT
    worker = pod.node.worker(pod.spec.metadata.uid)
    if worker is None or not worker.started_terminating or worker.terminating_at is None:
        return False
    return worker.terminating_at + worker.grace_period * SECOND - now > CUT


INVARIANT = Invariant("sidecars", stopping=stopping)
