"""Containers get exactly their grace period.

1. KILL is sent no sooner than the timeout of StopContainer.
2. A sandbox or a container record is removed only after StopContainer of its containers (killPodWithSyncResult).
3. The timeout is at most the longest grace period that applies: of the pod, of a deletion, of a probe; 2 s at least.
4. No container of a deleted pod is killed before the shortest requested grace period is over.

Exception to 3: an eviction sets the grace period; up to v1.30 it is the kubelet's evictionMaxPodGracePeriod.
Exception to 2: a node that was disturbed less than a grace period ago, on which StopContainer may have failed.
Exceptions to 4: an eviction, a preemption, a node shutdown, or a termination that had begun before the deletion may
give less time. A sync that had begun before still applies the grace period of a probe. Rule 4 is not checked for
kubelets without pod worker states (before v1.22).
"""

from __future__ import annotations

from kubesim.api.pod import Container
from kubesim.api.timestamps import SECOND
from kubesim.golang.text import duration
from kubesim.runtime.kuberuntime.decide.termination import MINIMUM_GRACE_PERIOD_S
from kubesim.runtime.protocol import ContainerInfo
from kubesim.runtime.simulated.cri.watcher import Killer
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import PodSeen

DEFAULT_GRACE_S = 30
CUT = SECOND  # the time of a hook and the wait for a turn are each counted in whole seconds


def killed(pod: PodSeen, info: ContainerInfo, by: Killer, now: int) -> str:
    if info.id not in pod.running:
        return ""  # the container exited at this instant
    if by == "stop":
        stop = pod.stops.get(info.id)
        if stop is None or now >= stop.kill_at:
            return ""
        return f"container {info.name} was killed {duration(stop.kill_at - now)} before its grace period was over"
    if info.id in pod.stop_requested or _is_disturbed(pod, now):
        return ""
    what = "its sandbox was stopped" if by == "sandbox" else "its record was removed"
    return f"container {info.name} was killed without a grace period: {what}"


def stopping(pod: PodSeen, info: ContainerInfo, timeout: int, now: int) -> str:
    longest_s = max(_own_grace_s(pod), MINIMUM_GRACE_PERIOD_S, *pod.graces, *_probe_graces(pod, info.name))
    if timeout > longest_s * SECOND + CUT and not _is_evicted(pod):
        return f"container {info.name} got {duration(timeout)} to stop, more than its grace period of {longest_s}s"
    if pod.deleted_at is None or not pod.graces or _ends_for_another_reason(pod):
        return ""
    due = pod.deleted_at + min(pod.graces) * SECOND
    if now + timeout >= due:
        return ""
    left = duration(now + timeout - pod.deleted_at)
    return f"container {info.name} gets only {left} after the deletion of its pod, whose grace is {min(pod.graces)}s"


def _is_evicted(pod: PodSeen) -> bool:
    """Whether the pod may be evicted; kubelets without pod worker states do not record it."""
    worker, rules = pod.node.worker(pod.spec.metadata.uid), pod.node.rules
    if not rules.pod_worker_states:
        return not rules.soft_eviction_within_pod_grace
    return worker is not None and worker.evicted


def _own_grace_s(pod: PodSeen) -> int:
    own = pod.spec.spec.termination_grace_period_seconds
    return DEFAULT_GRACE_S if own is None else own


def _probe_graces(pod: PodSeen, name: str) -> list[int]:
    container: Container | None = pod.spec.spec.find_container(name)
    if container is None or (container.liveness_probe is None and container.startup_probe is None):
        return []
    probes = (container.liveness_probe, container.startup_probe)
    graces = (None if probe is None else probe.termination_grace_period_seconds for probe in probes)
    return [grace for grace in graces if grace is not None]


def _ends_for_another_reason(pod: PodSeen) -> bool:
    assert pod.deleted_at is not None
    if pod.node.is_shutting_down or pod.gone_at is not None or not pod.node.rules.pod_worker_states:
        return True
    worker = pod.node.worker(pod.spec.metadata.uid)
    if worker is None or worker.evicted or not worker.deleted or not worker.started_terminating:
        return True
    return worker.terminating_at is None or worker.terminating_at < pod.deleted_at


def _is_disturbed(pod: PodSeen, now: int) -> bool:
    since = pod.node.undisturbed_since
    return since is None or now < since + (_own_grace_s(pod) + DEFAULT_GRACE_S) * SECOND


INVARIANT = Invariant("grace-periods", killed=killed, stopping=stopping)
