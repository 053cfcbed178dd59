"""When a worker syncs its pod again after a sync: resync intervals, back-off and jitter.

Mirrors: pkg/kubelet/pod_workers.go completeWork; k8s.io/apimachinery/pkg/util/wait Jitter
"""

from __future__ import annotations

from kubesim.api.timestamps import SECOND
from kubesim.clock import Randomness
from kubesim.podworkers.syncer import min_backoff_expiration
from kubesim.values import value_object

NETWORK_NOT_READY = "network is not ready"
TRANSIENT_BACKOFF = 1 * SECOND
JITTER_FACTOR = 0.5


@value_object
class Intervals:
    """Settings of the kubelet: the resync interval, and the back-off of a failed sync."""

    resync: int = 60 * SECOND
    backoff: int = 10 * SECOND
    retries_network_soon: bool = True  # retry soon if a sync fails because the network is not ready


@value_object
class Requeue:
    """A delay before jitter, and its reason."""

    delay: int
    why: str


def requeue_after(intervals: Intervals, phase_transition: bool, error: BaseException | None, now: int) -> Requeue:
    """The delay: none after a lifecycle step, otherwise by the outcome of the sync."""
    if phase_transition:
        return Requeue(0, "the pod has entered its next phase")
    if error is None:
        return Requeue(intervals.resync, "the sync succeeded; the next one without a trigger is the periodic resync")
    if intervals.retries_network_soon and NETWORK_NOT_READY in str(error):
        return Requeue(TRANSIENT_BACKOFF, "the network may be ready soon")
    expires_at = min_backoff_expiration(error)
    if expires_at is None:
        return Requeue(min(intervals.backoff, intervals.resync), "the sync failed; it is retried after the back-off")
    delay = min(max(expires_at - now, 0), intervals.resync)
    return Requeue(delay, "the sync failed; it is retried when the first back-off expires")


class Delays:
    """Delays until a pod's next sync. Jitter multiplies a delay by a factor in [1, 1.5), drawn from a stream per pod;
    without jitter a delay is its base.
    """

    def __init__(self, randomness: Randomness, intervals: Intervals | None = None, *, jitter: bool = True) -> None:
        self.intervals = intervals or Intervals()
        self._randomness = randomness
        self._jitter = jitter

    def add_jitter(self, delay: int, uid: str, draw: int) -> int:
        """The n-th random draw of the pod, from a stream of its own: a stored stream costs 2.5 KiB per pod."""
        if not self._jitter or delay <= 0:
            return delay
        fraction = self._randomness.fraction("worker", uid, str(draw))
        return delay + int(fraction * JITTER_FACTOR * delay)
