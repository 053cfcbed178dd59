"""What a pod worker receives: an update of a pod, perhaps with a kill, and how the last ones are remembered.

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
    """How to kill. `completed` is called when the containers are stopped, or when there is nothing to wait for."""

    evict: bool = False
    grace_period_override: int | None = None  # seconds
    status_fn: PodStatusFn | None = None
    completed: Callable[[], None] | None = None


@value_object
class UpdatePodOptions:
    """Either a pod from configuration, or a running pod that no configuration knows and that can only be killed."""

    update_type: SyncPodType
    pod: Pod | None = None
    mirror_pod: Pod | None = None
    running_pod: RuntimePod | None = None
    kill: KillPodOptions | None = None


def merge_update(active: UpdatePodOptions | None, other: UpdatePodOptions) -> UpdatePodOptions:
    """What is remembered for a replay. Its type is always `sync`, and of a kill only eviction and grace remain."""
    pod, mirror_pod, kill = other.pod, other.mirror_pod, None
    if active is not None:
        if active.pod is not None and other.running_pod is not None:
            pod = active.pod  # the running pod has no spec worth keeping
        mirror_pod = mirror_pod or active.mirror_pod
        kill = active.kill
    if other.kill is not None:
        kill = KillPodOptions(other.kill.evict, other.kill.grace_period_override)
    if other.update_type == "sync" and pod is other.pod and mirror_pod is other.mirror_pod and kill is other.kill:
        return other
    return UpdatePodOptions("sync", pod, mirror_pod, other.running_pod, kill)


def effective_grace_period(held: int, pod: Pod | None, override: int | None, rules: Rules = DEFAULT_RULES) -> int:
    """The grace period in seconds: that of the API object, shortened by a kill; it never grows.

    A value of 0 counts as "none yet", also when the pod was deleted with grace 0 and the killer then says 30.
    """
    grace, overridden = held, False
    deletion_grace = pod.metadata.deletion_grace_period_seconds if pod is not None else None
    for wish in (deletion_grace, override):
        if wish is not None and (grace == 0 or wish < grace):
            grace, overridden = wish, rules.honours_zero_grace
    if not overridden and grace == 0 and pod is not None:
        grace = pod.spec.termination_grace_period_seconds or 0
    return max(grace, 1)
