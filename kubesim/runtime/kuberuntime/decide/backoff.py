"""Exponential back-off by key, and the crash-loop check before a container starts.

The runtime manager calls `do_back_off` before it starts a container; the image manager uses a `Backoff` for pulls.
`now` is an argument. Durations and times are microseconds.

Mirrors: client-go util/flowcontrol/backoff.go Backoff, pkg/kubelet/kubelet.go newCrashLoopBackOff and NewMainKubelet,
pkg/kubelet/kuberuntime/kuberuntime_manager.go doBackOff.
"""

from __future__ import annotations

from kubesim.api.pod import Container, Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import NEVER
from kubesim.errors import BackoffError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.features.rules import DEFAULT_RULES, Rules
from kubesim.golang.text import duration
from kubesim.runtime.kuberuntime.naming import backoff_key, format_pod
from kubesim.runtime.types import RuntimePodStatus
from kubesim.values import mutable, value_object

CRASH_LOOP_BACK_OFF = "CrashLoopBackOff"

INITIAL_CRASH_LOOP_BACK_OFF = 10 * SECOND
MAX_CRASH_LOOP_BACK_OFF = 300 * SECOND
CRASH_LOOP_RESET_AFTER = 600 * SECOND
IMAGE_BACK_OFF_PERIOD = 10 * SECOND
MAX_IMAGE_BACK_OFF = 300 * SECOND

# Go's zero time: the end of an exited container with an unknown end, so its back-off has long passed.
_ZERO_TIME = -62_135_596_800 * SECOND


@mutable
class _Entry:
    backoff: int
    last_update: int


class Backoff:
    """The current delay of each key. An event long after the last update resets the key."""

    def __init__(self, initial: int, maximum: int, *, reset_after: int | None = None) -> None:
        self.initial = initial
        self.maximum = maximum
        self.reset_after = 2 * maximum if reset_after is None else reset_after
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: str) -> int:
        """The current delay of a key; 0 without an entry."""
        entry = self._entries.get(key)
        return 0 if entry is None else entry.backoff

    def restore(self, key: str, backoff: int, last_update: int) -> None:
        """Restore an entry, for a run that starts in the middle of a scenario."""
        self._entries[key] = _Entry(backoff, last_update)

    def next(self, key: str, event_time: int, now: int) -> None:
        """Advance a key to its next delay: the initial one, or twice the current one up to the maximum."""
        entry = self._entries.get(key)
        if entry is None or self._has_expired(event_time, entry):
            # As upstream, the maximum does not limit the initial delay.
            self._entries[key] = _Entry(self.initial, now)
            return
        entry.backoff = min(2 * entry.backoff, self.maximum)
        entry.last_update = now

    def is_in_back_off_since(self, key: str, event_time: int, now: int) -> bool:
        """Whether less time has passed since the event than the key's delay."""
        entry = self._entries.get(key)
        if entry is None or self._has_expired(event_time, entry):
            return False
        return now - event_time < entry.backoff

    def is_in_back_off_since_update(self, key: str, event_time: int) -> bool:
        """Whether the event was within the key's delay after its last update."""
        entry = self._entries.get(key)
        if entry is None or self._has_expired(event_time, entry):
            return False
        return event_time - entry.last_update < entry.backoff

    def drop(self, key: str) -> None:
        """Remove a key."""
        self._entries.pop(key, None)

    def gc(self, now: int) -> None:
        """Remove the keys that an event at this time would reset."""
        if not self._entries:
            return
        for key in [key for key, entry in self._entries.items() if self._has_expired(now, entry)]:
            del self._entries[key]

    def next_expiry(self) -> int:
        """The time at which `gc` can remove the next key, without further events."""
        if not self._entries:
            return NEVER
        return min(entry.last_update for entry in self._entries.values()) + self.reset_after + 1

    def _has_expired(self, event_time: int, entry: _Entry) -> bool:
        return event_time - entry.last_update > self.reset_after


def new_crash_loop_backoff(
    max_container_restart_period: int = MAX_CRASH_LOOP_BACK_OFF, gates: FeatureGates = DEFAULT_GATES
) -> Backoff:
    """The back-off of crashed containers. A maximum below the initial delay lowers both; the reset stays at 600 s."""
    initial, maximum = INITIAL_CRASH_LOOP_BACK_OFF, MAX_CRASH_LOOP_BACK_OFF
    if gates.enabled("ReduceDefaultCrashLoopBackOffDecay"):
        initial, maximum = 1 * SECOND, 60 * SECOND
    if gates.enabled("KubeletCrashLoopBackOffMax"):
        maximum = max_container_restart_period
        initial = min(initial, maximum)
    return Backoff(initial, maximum, reset_after=CRASH_LOOP_RESET_AFTER)


def new_image_backoff() -> Backoff:
    """The back-off of failed pulls, with one entry per pod and image."""
    return Backoff(IMAGE_BACK_OFF_PERIOD, MAX_IMAGE_BACK_OFF)


@value_object
class InBackOff:
    """A container in back-off: its texts for the status, the Event and the pod worker."""

    message: str  # of the waiting state
    event: str  # of the Warning BackOff
    retry_at: int

    @property
    def error(self) -> BackoffError:
        return BackoffError(CRASH_LOOP_BACK_OFF, self.retry_at)


def do_back_off(
    backoff: Backoff,
    pod: Pod,
    container: Container,
    status: RuntimePodStatus,
    now: int,
    rules: Rules = DEFAULT_RULES,
) -> InBackOff | None:
    """The back-off of a container, from the end of its newest exited attempt. None: start it now."""
    for exited in status.containers:
        if exited.name == container.name and exited.state == "exited":
            break
    else:
        return None
    finished_at = _ZERO_TIME if exited.finished_at is None else exited.finished_at
    key = backoff_key(pod, container, rules)
    if not backoff.is_in_back_off_since(key, finished_at, now):
        backoff.next(key, finished_at, now)
        return None
    wait = backoff.get(key)
    return InBackOff(
        message=rules.back_off_message.format(wait=duration(wait), name=container.name, pod=format_pod(pod)),
        event=rules.back_off_event.format(name=container.name, pod=format_pod(pod)),
        retry_at=finished_at + wait,
    )
