"""The periods of a node's kubelet that an administrator can configure, as far as the rules depend on them.

They are read from a KubeletConfiguration (`attach/reading/node_configuration.py`); otherwise they have the defaults.

Mirrors: kubelet.go newCrashLoopBackOff; nodelease.go (renewInterval); pod_workers.go (resyncInterval)
"""

from __future__ import annotations

from kubesim.api.timestamps import SECOND
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.golang.text import duration
from kubesim.kubeletconfig.decode import Values
from kubesim.podworkers.requeue import JITTER_FACTOR, Intervals
from kubesim.runtime.kuberuntime.decide.backoff import MAX_CRASH_LOOP_BACK_OFF, Backoff, new_crash_loop_backoff
from kubesim.values import value_object

# kubelet.go nodeLeaseRenewIntervalFraction: a lease is renewed four times during its duration.
_RENEWALS_PER_LEASE = 4


@value_object
class KubeletPeriods:
    """The intervals of the pod workers, the longest crash back-off, and the renewal interval of the lease."""

    intervals: Intervals = Intervals()
    max_container_restart_period: int = MAX_CRASH_LOOP_BACK_OFF
    lease_renewal: int = 10 * SECOND
    gates: FeatureGates = DEFAULT_GATES

    def crash_backoff(self) -> Backoff:
        """An empty crash back-off of this kubelet."""
        return new_crash_loop_backoff(self.max_container_restart_period, self.gates)

    def crash_wait(self, restarts: int) -> int:
        """The back-off after this many restarts in a row."""
        backoff = self.crash_backoff()
        for _ in range(min(restarts, 32)):
            backoff.next("", 0, 0)
        return backoff.get("")

    @property
    def resync_words(self) -> str:
        """How often a pod is synced without a cause, in words: `60 to 90 s`."""
        return with_jitter(self.intervals.resync)

    @property
    def retry_words(self) -> str:
        """How long a worker waits after a failed sync, in words: `10 to 15 s`."""
        return with_jitter(min(self.intervals.backoff, self.intervals.resync))

    def difference(self) -> str:
        """The periods that are not the default, in the words of a KubeletConfiguration; empty if all are."""
        found = []
        if self.intervals.resync != DEFAULT_PERIODS.intervals.resync:
            found.append(f"syncFrequency {duration(self.intervals.resync)}")
        longest = self.crash_backoff().maximum
        if longest != MAX_CRASH_LOOP_BACK_OFF:
            found.append(f"longest crash back-off {duration(longest)}")
        if self.lease_renewal != DEFAULT_PERIODS.lease_renewal:
            found.append(f"nodeLeaseDurationSeconds {self.lease_renewal * _RENEWALS_PER_LEASE // SECOND}")
        return ", ".join(found)


DEFAULT_PERIODS = KubeletPeriods()


def with_jitter(delay: int) -> str:
    """A delay without jitter and with maximum jitter: `60 to 90 s`, `1m40s to 2m30s`."""
    longest = int(delay * (1 + JITTER_FACTOR))
    if longest <= 90 * SECOND and delay % SECOND == 0 and longest % SECOND == 0:
        return f"{delay // SECOND} to {longest // SECOND} s"
    return f"{duration(delay)} to {duration(longest)}"


def configured_periods(values: Values, gates: FeatureGates) -> KubeletPeriods:
    """The periods in a decoded KubeletConfiguration."""
    longest = values["crashLoopBackOff.maxContainerRestartPeriod"]
    return KubeletPeriods(
        Intervals(resync=values["syncFrequency"]),
        MAX_CRASH_LOOP_BACK_OFF if longest is None else longest,
        values["nodeLeaseDurationSeconds"] * SECOND // _RENEWALS_PER_LEASE,
        gates,
    )
