"""A pod in the scheduling queue, and its back-off.

Mirrors: pkg/scheduler/framework/types.go QueuedPodInfo; pkg/scheduler/backend/queue/backoff_queue.go getBackoffTime
"""

from __future__ import annotations

from dataclasses import field

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.cluster.scheduling.framework.pod_info import PodInfo, pod_priority
from kubesim.trace import Recorder
from kubesim.values import mutable

INITIAL_BACKOFF = 1 * SECOND
MAX_BACKOFF = 10 * SECOND
ORDERING_WINDOW = 1 * SECOND  # whole seconds: within one, priority decides


@mutable(eq=False)
class QueuedPod:
    """A queued pod. `plugins` rejected it last; `gate` is the plugin that blocks attempts."""

    info: PodInfo
    timestamp: int  # when it was last added to the queue
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    plugins: set[str] = field(default_factory=set)
    gate: str = ""
    cause: int | None = field(default_factory=Recorder.cause)  # the record that caused the last queueing

    @property
    def pod(self) -> Pod:
        return self.info.pod

    @property
    def uid(self) -> str:
        return self.info.uid

    @property
    def order(self) -> tuple[int, int]:
        """Sort key: higher priority first, then first in, first out."""
        return -pod_priority(self.info.pod), self.timestamp

    @property
    def backoff_time(self) -> int:
        """When the back-off ends; 0 before the first attempt."""
        count = self.consecutive_errors or self.unschedulable_count
        if not count:
            return 0
        duration = min(INITIAL_BACKOFF << min(count - 1, 10), MAX_BACKOFF)
        return _window(self.timestamp + duration)

    def is_backing_off(self, now: int) -> bool:
        """Whether the pod backs off; a back-off that ends within the current second still counts."""
        return self.backoff_time >= _window(now)


def _window(moment: int) -> int:
    return moment - moment % ORDERING_WINDOW
