"""How a container is stopped: the grace period it gets, and which containers it waits for when the whole pod is
stopped.

Used by killContainer and killContainersWithSyncResult in the runtime manager; the waiting itself is done there.

Mirrors: kuberuntime_container.go setTerminationGracePeriod, kuberuntime_termination_order.go newTerminationOrdering.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from kubesim.api.pod import Container, Pod, Probe
from kubesim.api.pods.sidecars import is_restartable_init_container

KillReason = Literal["", "StartupProbe", "LivenessProbe", "FailedPostStartHook", "RestartAllContainers", "Unknown"]

# The minimum for every container, whatever the pod, a probe or an override says.
MINIMUM_GRACE_PERIOD_S = 2  # always give a container a chance to exit


def termination_grace_period(pod: Pod, container: Container, reason: KillReason) -> int:
    """Seconds between asking the container to stop and killing it, before hooks and waiting take their part."""
    if pod.metadata.deletion_grace_period_seconds is not None:
        return pod.metadata.deletion_grace_period_seconds
    pod_grace_s = pod.spec.termination_grace_period_seconds
    if pod_grace_s is None:
        # A probe's own period counts only beside a pod's.
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
    """Which running containers each sidecar waits for when the whole pod is stopped; the others do not wait.

    These are the regular containers and the next sidecar after it. Only that one: if it does not run, later ones in the
    list are not waited for.
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
