"""Computes when steps are due: windows from the kubelet's back-offs, jitter, thresholds and grace periods.

The functions are those that a simulated run uses. A window is as narrow as the observations allow: times in a status
are whole seconds, and the kubelet does not report its jitter.

Mirrors: pod_workers.go completeWork, kuberuntime_manager.go doBackOff, images/image_manager.go, prober/worker.go,
util/goroutinemap/exponentialbackoff (mounts).
"""

from __future__ import annotations

import re

from kubesim.api.pod import Container, Pod, Probe
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.attach.explain.observation import ContainerView, CrashEntry, Observation, moment
from kubesim.attach.explain.runtime_truth import newest_end, runtime_status, sandbox_changed
from kubesim.attach.explain.statement import Window
from kubesim.attach.explain.tolerances import RECONCILER, TRUNCATION, WORK
from kubesim.errors import BackoffError, SyncError
from kubesim.golang.durations import parse_duration
from kubesim.podworkers.requeue import JITTER_FACTOR, Intervals, requeue_after
from kubesim.runtime.kuberuntime.decide.backoff import (
    CRASH_LOOP_RESET_AFTER,
    MAX_IMAGE_BACK_OFF,
    Backoff,
    do_back_off,
    new_image_backoff,
)
from kubesim.runtime.kuberuntime.decide.termination import MINIMUM_GRACE_PERIOD_S, termination_grace_period
from kubesim.runtime.kuberuntime.naming import backoff_key
from kubesim.values import value_object

INTERVALS = Intervals()
# A failed mount: the delay doubles after each failure.
MOUNT_INITIAL, MOUNT_MAXIMUM = 500 * MILLISECOND, 122 * SECOND
MOUNT_POLL = 300 * MILLISECOND  # how often the waiting sync checks whether all volumes are mounted
PROBE_PERIOD = 10  # seconds, if the probe does not set it

COUNTED = "the most that this restartCount allows; the kubelet does not report it"
_WAIT_IN_MESSAGE = re.compile(r"back-off (\S+) restarting failed container=")


@value_object
class CrashWait:
    """When a crashed container may start: `wait` after its end, and how certain that is."""

    wait: int
    finished: int | None
    window: Window  # of the restart
    known_from: str
    certain: bool  # whether `wait` is exact, not only an upper bound


def stretched(delay: int) -> int:
    """A delay with the maximum jitter."""
    return int(delay * (1 + JITTER_FACTOR))


def latest_sync(expires_at: int, looked: int, intervals: Intervals = INTERVALS) -> int:
    """The latest sync that finds a back-off expired, given an earlier sync. Further syncs may follow the earlier one at
    any time; the last one before the expiry adds jitter to the remaining time, which is at most a resync."""
    delay = requeue_after(intervals, False, BackoffError("", expires_at), looked).delay
    return expires_at + stretched(delay) - delay


def retry_window(looked: int, intervals: Intervals = INTERVALS) -> Window:
    """When a worker retries a failed sync that has no back-off of its own."""
    delay = requeue_after(intervals, False, SyncError(""), looked).delay
    return Window(looked + delay, looked + stretched(delay))


# -- crashes --------------------------------------------------------------------------------------------------------


def crash_wait(seen: Observation, view: ContainerView) -> CrashWait | None:
    """When a container that ended starts again; None if it has not ended. The caller decides whether it may start at
    all."""
    ended = newest_end(view)
    if ended is None:
        return None
    entry, known_from = _crash_entry(seen, view)
    finished = moment(ended.finished_at)
    if entry is None or finished is None:
        looked = seen.memory.exits_seen.get(view.name, seen.now)
        return CrashWait(0, finished, _restart_window(seen, finished, finished, looked), known_from, True)
    # The jitter is proportional to the whole wait, drawn by the sync that finds the exit.
    looked = seen.memory.exits_seen.get(view.name, finished)
    backoff = seen.periods.crash_backoff()
    backoff.restore(backoff_key(seen.pod, view.spec), entry.wait, entry.last_update)
    in_back_off = do_back_off(backoff, seen.pod, view.spec, runtime_status(seen), finished)
    if in_back_off is None:
        window = _restart_window(seen, finished, finished, looked)
        return CrashWait(0, finished, window, "the attempt ran longer than 10 minutes", True)
    expires_at = in_back_off.retry_at
    latest = latest_sync(expires_at + TRUNCATION, looked, seen.periods.intervals)
    certain = known_from != COUNTED
    earliest = expires_at if certain else None
    window = _restart_window(seen, finished, earliest, max(latest, expires_at + TRUNCATION))
    return CrashWait(entry.wait, finished, window, known_from, certain)


def _restart_window(seen: Observation, finished: int | None, earliest: int | None, latest: int) -> Window:
    """The window of a restart. It has no end if the sandbox is gone: the container waits for the next one, and for the
    containers before it."""
    waits = finished is not None and sandbox_changed(seen, finished)
    return Window(earliest, None if waits else latest)


def _crash_entry(seen: Observation, view: ContainerView) -> tuple[CrashEntry | None, str]:
    """The back-off of a container: tracked, parsed from the message, or computed from its restart count."""
    followed = seen.memory.crashes.get(view.name)
    if followed is not None:
        return followed, "followed from restart to restart"
    ended = newest_end(view)
    last_start = moment(ended.started_at) if ended is not None else None
    last_update = last_start if last_start is not None else seen.now
    reported = reported_wait(view)
    finished = moment(ended.finished_at) if ended is not None else None
    # A restart of the kubelet resets the back-off.
    if reported is not None and (finished is None or finished + TRUNCATION > seen.memory.kubelet_since):
        return CrashEntry(reported, last_update), "read from the message of the waiting state"
    if seen.events_of("SandboxChanged") or _had_no_image(seen, view):
        # A new sandbox loses attempts before they are counted, and later those of init containers; the back-off stays.
        # A failed image pull also doubles the back-off and is not counted (doBackOff runs before the pull).
        return CrashEntry(seen.periods.crash_backoff().maximum, last_update), COUNTED
    if view.status.restart_count == 0:
        return None, "there is no back-off after the first crash"
    return CrashEntry(seen.periods.crash_wait(view.status.restart_count), last_update), COUNTED


def _had_no_image(seen: Observation, view: ContainerView) -> bool:
    return any("ImagePull" in event.message for event in seen.events_of("Failed", path=view.event_path))


def reported_wait(view: ContainerView) -> int | None:
    """The back-off in the CrashLoopBackOff message."""
    waiting = view.status.state.waiting
    reported = _WAIT_IN_MESSAGE.search(waiting.message) if waiting is not None else None
    return None if reported is None else parse_duration(reported.group(1))


def back_off_reset_time(started_at: int) -> int:
    """The time from which a crash of this attempt has no back-off, like a first crash."""
    return started_at + CRASH_LOOP_RESET_AFTER


# -- images ---------------------------------------------------------------------------------------------------------


def pull_wait(failures: int) -> int:
    """The delay of the next pull after this many consecutive failures."""
    backoff: Backoff = new_image_backoff()
    for _ in range(max(1, min(failures, 32))):
        backoff.next("", 0, 0)
    return backoff.get("")


def pull_window(failed_at: int, at_least: int, at_most: int, intervals: Intervals = INTERVALS) -> Window:
    """When the next pull begins after this many consecutive failures: at the first sync after the back-off. Syncs
    happen every 10 to 15 s."""
    latest = failed_at + pull_wait(at_most) + stretched(min(intervals.backoff, intervals.resync))
    return Window(failed_at + pull_wait(at_least), latest)


def pulls_in_a_row(failures: int, span: int, intervals: Intervals = INTERVALS) -> bool:
    """Whether this many failures within this time were consecutive, without the pause that resets a back-off."""
    retry = stretched(min(intervals.backoff, intervals.resync))
    longest = sum(pull_wait(n) + retry + WORK for n in range(1, min(failures, 1000)))
    return span <= max(longest, 2 * MAX_IMAGE_BACK_OFF)


# -- volumes --------------------------------------------------------------------------------------------------------


def mount_wait(failures: int) -> int:
    return min(MOUNT_INITIAL << max(0, min(failures, 32) - 1), MOUNT_MAXIMUM)


def mount_window(failed_at: int, failures: int) -> Window:
    due = failed_at + mount_wait(failures)
    return Window(due, due + RECONCILER + MOUNT_POLL)


# -- probes ---------------------------------------------------------------------------------------------------------


def period(probe: Probe) -> int:
    return (probe.period_seconds or PROBE_PERIOD) * SECOND


def first_probe(probe: Probe, started_at: int) -> int:
    """The earliest first probe of an attempt: a whole number of seconds after its start, which the status truncates to
    seconds."""
    return started_at + probe.initial_delay_seconds * SECOND


def failure_window(probe: Probe, started_at: int) -> Window:
    """When a probe that never succeeds reaches its failureThreshold, unless it is also triggered early."""
    more = (max(1, probe.failure_threshold or 3) - 1) * period(probe)
    first = first_probe(probe, started_at)
    slow = period(probe) + max(1, probe.timeout_seconds or 1) * SECOND
    return Window(first + more, first + TRUNCATION + more + slow)


def success_earliest(probe: Probe, started_at: int) -> int:
    """The earliest success. A readiness probe may be triggered early, so further probes need not wait for their
    period."""
    return first_probe(probe, started_at)


# -- the end --------------------------------------------------------------------------------------------------------


def kill_deadline(pod: Pod, container: Container, begun: Window) -> Window:
    """When a container is killed that does not exit after the signal at this time."""
    grace = termination_grace_period(pod, container, "") * SECOND
    least = MINIMUM_GRACE_PERIOD_S * SECOND
    held = container.lifecycle is not None and container.lifecycle.pre_stop is not None
    # Even if a hook or a wait for other containers used up the grace period, the container gets at least this long.
    sidecars = [each for each in pod.spec.init_containers if is_restartable_init_container(each)]
    turns = int(held or any(_has_hook(each) for each in pod.spec.containers)) + len(sidecars)
    longest = max(grace, least) + least * turns
    return Window(
        None if begun.earliest is None else begun.earliest + min(grace, longest),
        None if begun.latest is None else begun.latest + longest,
    )


def _has_hook(container: Container) -> bool:
    return container.lifecycle is not None and container.lifecycle.pre_stop is not None
