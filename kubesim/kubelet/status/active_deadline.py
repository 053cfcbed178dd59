"""Has a pod been active for longer than its activeDeadlineSeconds?

Asked twice: by the sync loop's tick (does the pod need a sync?) and by the status (is the pod to be failed?).

Mirrors: pkg/kubelet/active_deadline.go.
"""

from __future__ import annotations

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import SECOND, parse_time

DEADLINE_EXCEEDED = "DeadlineExceeded"
DEADLINE_EXCEEDED_MESSAGE = "Pod was active on the node longer than the specified deadline"


def past_active_deadline(pod: Pod, status: PodStatus, now: int) -> bool:
    """`status` is the status manager's, or the API's if it has none."""
    deadline = pod.spec.active_deadline_seconds
    if deadline is None or status.start_time is None:
        return False
    return now - parse_time(status.start_time) >= deadline * SECOND
