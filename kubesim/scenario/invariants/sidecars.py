"""Sidecars outlive the regular containers of their pod.

When a pod is stopped, a sidecar gets its stop signal after all regular containers have ended, and after the sidecar
that follows it (kuberuntime_termination_order.go). So no sidecar is told to stop while a container that it must outlive
is being stopped.

Exceptions: a sidecar waits no longer than the grace period, so the order ends when the time of the other container is
up, and when a hook has left it only the minimum of 2 s. A sidecar that is restarted on its own (liveness probe, new
image) is no end of a pod.
"""

from __future__ import annotations

from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.timestamps import SECOND
from kubesim.runtime.kuberuntime.decide.termination import MINIMUM_GRACE_PERIOD_S
from kubesim.runtime.protocol import ContainerInfo
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import PodSeen, Stop


def stopping(pod: PodSeen, info: ContainerInfo, timeout: int, now: int) -> str:
    if not pod.init_containers or not pod.stops:
        return ""
    begun = Stop(now, timeout)
    for identifier, stop in pod.stops.items():
        other = pod.running.get(identifier)
        if other is None:
            continue
        for sidecar, first, its_stop in ((info.name, other.name, stop), (other.name, info.name, begun)):
            if first in waits_for(pod, sidecar) and _has_time(its_stop, now):
                return f"sidecar {sidecar} was told to stop while container {first} was still stopping"
    return ""


def waits_for(pod: PodSeen, name: str) -> list[str]:
    """The containers that end before a sidecar: the regular ones and the next sidecar; none for other containers."""
    sidecars = [init.name for init in pod.init_containers if is_restartable_init_container(init)]
    if name not in sidecars:
        return []
    position = sidecars.index(name) + 1
    return [container.name for container in pod.spec.spec.containers] + sidecars[position : position + 1]


def _has_time(stop: Stop, now: int) -> bool:
    return now < stop.kill_at and stop.timeout > MINIMUM_GRACE_PERIOD_S * SECOND


INVARIANT = Invariant("sidecars", stopping=stopping)
