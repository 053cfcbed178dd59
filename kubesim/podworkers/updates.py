"""Updates for pod workers: a pod, an optional kill, and the merged update for a replay.

Mirrors: pkg/kubelet/pod_workers.go UpdatePodOptions, KillPodOptions, mergeLastUpdate, calculateEffectiveGracePeriod;
pkg/kubelet/types/pod_update.go SyncPodType
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from kubesim.api.pod import Pod, PodStatus
from kubesim.features.rules import DEFAULT_RULES, Rules
from kubesim.runtime.types import RuntimePod
from kubesim.values import value_object

SyncPodType = Literal["sync", "update", "create", "kill"]
PodStatusFn = Callable[[PodStatus], PodStatus]


@value_object
class KillPodOptions:
    """Options of a kill. `completed` is called when the containers have stopped, or if there are none to stop."""

    evict: bool = False
    grace_period_override: int | None = None  # seconds
    status_fn: PodStatusFn | None = None
    completed: Callable[[], None] | None = None


@value_object
class UpdatePodOptions:
    """A configured pod, or a runtime-only pod, which can only be killed."""

    update_type: SyncPodType
    pod: Pod | None = None
    mirror_pod: Pod | None = None
    running_pod: RuntimePod | None = None
    kill: KillPodOptions | None = None


def merge_update(active: UpdatePodOptions | None, other: UpdatePodOptions) -> UpdatePodOptions:
    """The update to remember for a replay. Its type is `sync`; of a kill, eviction and grace period remain."""
    pod, mirror_pod, kill = other.pod, other.mirror_pod, None
    if active is not None:
        if active.pod is not None and other.running_pod is not None:
            pod = active.pod  # a runtime-only pod has no spec to keep
        mirror_pod = mirror_pod or active.mirror_pod
        kill = active.kill
    if other.kill is not None:
        kill = KillPodOptions(other.kill.evict, other.kill.grace_period_override)
    if other.update_type == "sync" and pod is other.pod and mirror_pod is other.mirror_pod and kill is other.kill:
        return other
    return UpdatePodOptions("sync", pod, mirror_pod, other.running_pod, kill)


def effective_grace_period(held: int, pod: Pod | None, override: int | None, rules: Rules = DEFAULT_RULES) -> int:
    """The grace period in seconds: the API object's, shortened by a kill; it never increases.

    As upstream, 0 counts as unset, even if the pod was deleted with grace 0 and a kill then requests 30.
    """
    grace, overridden = held, False
    deletion_grace = pod.metadata.deletion_grace_period_seconds if pod is not None else None
    for requested_run in (deletion_grace, override):
        if requested_run is not None and (grace == 0 or requested_run < grace):
            grace, overridden = requested_run, rules.honours_zero_grace
    if not overridden and grace == 0 and pod is not None:
        grace = pod.spec.termination_grace_period_seconds or 0
    return max(grace, 1)
