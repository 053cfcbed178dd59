"""Exponential back-off by key, and the decision whether a crashed container may start now.

The runtime manager asks `do_back_off` before it starts a container, the image manager asks the same kind of `Backoff`
before it pulls. Nothing here reads a clock: `now` is an argument. Durations and times are microseconds.

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

# Go's zero time. An exited container with an unknown end ended then, so its back-off has long passed.
_ZERO_TIME = -62_135_596_800 * SECOND


@mutable
class _Entry:
    backoff: int
    last_update: int


class Backoff:
    """How long each key has to wait. An event long enough after the last update starts the key afresh."""

    def __init__(self, initial: int, maximum: int, *, reset_after: int | None = None) -> None:
        self.initial = initial
        self.maximum = maximum
        self.reset_after = 2 * maximum if reset_after is None else reset_after
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: str) -> int:
        """The present wait of a key; 0 if there is no entry."""
        entry = self._entries.get(key)
        return 0 if entry is None else entry.backoff

    def restore(self, key: str, backoff: int, last_update: int) -> None:
        """Put an entry back as it was, for a run that begins in the middle of a story."""
        self._entries[key] = _Entry(backoff, last_update)

    def next(self, key: str, event_time: int, now: int) -> None:
        """Move a key to its next wait: the initial one, or twice the present one up to the maximum."""
        entry = self._entries.get(key)
        if entry is None or self._has_expired(event_time, entry):
            # The initial value is not limited by the maximum, as in upstream.
            self._entries[key] = _Entry(self.initial, now)
            return
        entry.backoff = min(2 * entry.backoff, self.maximum)
        entry.last_update = now

    def is_in_back_off_since(self, key: str, event_time: int, now: int) -> bool:
        """Has less time passed since the event than the key has to wait?"""
        entry = self._entries.get(key)
        if entry is None or self._has_expired(event_time, entry):
            return False
        return now - event_time < entry.backoff

    def is_in_back_off_since_update(self, key: str, event_time: int) -> bool:
        """Did the event come within the key's wait after the entry was last moved?"""
        entry = self._entries.get(key)
        if entry is None or self._has_expired(event_time, entry):
            return False
        return event_time - entry.last_update < entry.backoff

    def drop(self, key: str) -> None:
        """Forget a key and its history."""
        self._entries.pop(key, None)

    def gc(self, now: int) -> None:
        """Forget the keys that an event now would start afresh."""
        if not self._entries:
            return
        for key in [key for key, entry in self._entries.items() if self._has_expired(now, entry)]:
            del self._entries[key]

    def next_expiry(self) -> int:
        """When `gc` will next forget a key, if nothing happens before."""
        if not self._entries:
            return NEVER
        return min(entry.last_update for entry in self._entries.values()) + self.reset_after + 1

    def _has_expired(self, event_time: int, entry: _Entry) -> bool:
        return event_time - entry.last_update > self.reset_after


def new_crash_loop_backoff(
    max_container_restart_period: int = MAX_CRASH_LOOP_BACK_OFF, gates: FeatureGates = DEFAULT_GATES
) -> Backoff:
    """The back-off of crashed containers. A maximum below the first step lowers that too; the reset stays at 600 s."""
    initial, maximum = INITIAL_CRASH_LOOP_BACK_OFF, MAX_CRASH_LOOP_BACK_OFF
    if gates.enabled("ReduceDefaultCrashLoopBackOffDecay"):
        initial, maximum = 1 * SECOND, 60 * SECOND
    if gates.enabled("KubeletCrashLoopBackOffMax"):
        maximum = max_container_restart_period
        initial = min(initial, maximum)
    return Backoff(initial, maximum, reset_after=CRASH_LOOP_RESET_AFTER)


def new_image_backoff() -> Backoff:
    """The back-off of failed pulls, one entry per pod and image."""
    return Backoff(IMAGE_BACK_OFF_PERIOD, MAX_IMAGE_BACK_OFF)


@value_object
class InBackOff:
    """A container that has to wait: the texts for its status, the Event and the pod worker."""

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
    """None: start it now (and the next wait is longer). The wait counts from the end of the newest exited attempt."""
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
