"""The active deadline of a pod (activeDeadlineSeconds).

Two callers: the sync loop's tick (to sync the pod) and the status generation (to fail the pod).

Mirrors: pkg/kubelet/active_deadline.go.
"""

from __future__ import annotations

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import SECOND, parse_time

DEADLINE_EXCEEDED = "DeadlineExceeded"
DEADLINE_EXCEEDED_MESSAGE = "Pod was active on the node longer than the specified deadline"


def active_deadline(pod: Pod, status: PodStatus) -> int | None:
    """The deadline; None if it is unset or the pod has no start time. `status`: the status manager's or the API's."""
    if pod.spec.active_deadline_seconds is None or status.start_time is None:
        return None
    return parse_time(status.start_time) + pod.spec.active_deadline_seconds * SECOND


def past_active_deadline(pod: Pod, status: PodStatus, now: int) -> bool:
    deadline = active_deadline(pod, status)
    return deadline is not None and now >= deadline
