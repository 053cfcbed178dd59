"""Container termination: the grace period, and the order in which a pod's containers stop.

Used by killContainer and killContainersWithSyncResult in the runtime manager, which does the waiting.

Mirrors: kuberuntime_container.go setTerminationGracePeriod, kuberuntime_termination_order.go newTerminationOrdering.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from kubesim.api.pod import Container, Pod, Probe
from kubesim.api.pods.sidecars import is_restartable_init_container

KillReason = Literal["", "StartupProbe", "LivenessProbe", "FailedPostStartHook", "RestartAllContainers", "Unknown"]

# The minimum for every container, whatever the pod, a probe or an override sets.
MINIMUM_GRACE_PERIOD_S = 2  # gives a container a chance to exit


def termination_grace_period(pod: Pod, container: Container, reason: KillReason) -> int:
    """Seconds between the stop signal and KILL, before hooks and waiting are subtracted."""
    if pod.metadata.deletion_grace_period_seconds is not None:
        return pod.metadata.deletion_grace_period_seconds
    pod_grace_s = pod.spec.termination_grace_period_seconds
    if pod_grace_s is None:
        # A probe's grace period applies only if the pod has one.
        return MINIMUM_GRACE_PERIOD_S
    probe: Probe | None = None
    if reason == "StartupProbe":
        probe = container.startup_probe
    elif reason == "LivenessProbe":
        probe = container.liveness_probe
    if probe is not None and probe.termination_grace_period_seconds is not None:
        return probe.termination_grace_period_seconds
    return pod_grace_s


def termination_waits_for(pod: Pod, running: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The running containers that each sidecar waits for when the whole pod stops; other containers do not wait.

    A sidecar waits for the regular containers and for the next sidecar in the list, but not for later ones if that one
    does not run.
    """
    main = tuple(container.name for container in pod.spec.containers if container.name in running)
    waits: dict[str, tuple[str, ...]] = {}
    next_sidecar: tuple[str, ...] = ()
    for container in reversed(pod.spec.init_containers):
        if not is_restartable_init_container(container):
            continue
        waits[container.name] = main + next_sidecar
        next_sidecar = (container.name,) if container.name in running else ()
    return waits
