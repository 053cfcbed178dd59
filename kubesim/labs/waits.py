"""Waits of the kubelet as ranges: from its own periods, jitter and back-offs, for every seed.

A question about a time that depends on the seed lists its waits; every time in the sum of their ranges is right.
`wait("resync")` is 60 to 90 s; `wait("back-off 3")` is the wait after the third restart.
"""

from __future__ import annotations

from kubesim.golang.durations import parse_duration
from kubesim.golang.text import duration
from kubesim.kubelet.eviction.manager import MONITORING_PERIOD
from kubesim.kubelet.node.node_conditions import UPDATE_JITTER
from kubesim.kubelet.settings import KubeletSettings
from kubesim.podworkers.requeue import JITTER_FACTOR
from kubesim.runtime.kuberuntime.decide.backoff import INITIAL_CRASH_LOOP_BACK_OFF, MAX_CRASH_LOOP_BACK_OFF
from kubesim.values import value_object

_KUBELET = KubeletSettings()
_BACK_OFF, _UP_TO = "back-off ", "up to "
_MOST_DOUBLINGS = 32
_MILLISECOND = 1000


def time_text(micros: int) -> str:
    """A time in the format of labs: `80ms`, `1m`, `1m20.5s`, rounded to milliseconds."""
    text = duration(round(micros / _MILLISECOND) * _MILLISECOND)
    return text.removesuffix("0s") if text.endswith("m0s") else text


@value_object
class AnswerRange:
    """From `low` to `high`, both included: microseconds, or a count."""

    low: int
    high: int

    def __add__(self, other: AnswerRange) -> AnswerRange:
        return AnswerRange(self.low + other.low, self.high + other.high)

    def has(self, value: int, slack: int = 0) -> bool:
        return self.low - slack <= value <= self.high + slack

    @property
    def width(self) -> int:
        return self.high - self.low

    @property
    def text(self) -> str:
        """`1m to 1m31s`."""
        return time_text(self.low) if not self.width else f"{time_text(self.low)} to {time_text(self.high)}"


NOTHING = AnswerRange(0, 0)


def _up_to(period: int) -> AnswerRange:
    return AnswerRange(0, period)


def _stretched(delay: int, factor: float = JITTER_FACTOR) -> AnswerRange:
    return AnswerRange(delay, round(delay * (1 + factor)))


WAITS = {
    "relist": _up_to(_KUBELET.relist_period),  # until the PLEG lists the containers again
    "sync tick": _up_to(_KUBELET.sync_tick_period),  # until the sync loop takes a pod from the work queue
    "housekeeping": _up_to(_KUBELET.housekeeping_period),
    "resync": _stretched(_KUBELET.resync_interval),  # of a pod whose sync succeeded
    "retry": _stretched(_KUBELET.backoff_period),  # of a sync that failed without a back-off of its own
    "PLEG threshold": AnswerRange(_KUBELET.relist_threshold, _KUBELET.relist_threshold),
    "runtime timeout": _up_to(_KUBELET.runtime_request_timeout),  # until a hanging call fails
    "node status": _up_to(round(_KUBELET.node_status_period * (1 + UPDATE_JITTER))),
    "eviction check": _up_to(MONITORING_PERIOD),
}


def wait(text: str) -> AnswerRange:
    """The range of a wait: a name, `back-off N`, a duration, or `up to 5s`. Raises ValueError."""
    if text in WAITS:
        return WAITS[text]
    number = text.removeprefix(_BACK_OFF)
    if number != text and number.isdecimal() and 1 <= int(number) <= _MOST_DOUBLINGS:
        return crash_wait(int(number))
    limit = text.removeprefix(_UP_TO)
    try:
        fixed = parse_duration(limit)
    except ValueError:
        known = ", ".join((*WAITS, "back-off 1", "back-off 2, ...", "10s", "up to 10s"))
        raise ValueError(f"{text!r} is not a wait; known are {known}") from None
    return AnswerRange(fixed, fixed) if limit == text else _up_to(fixed)


def crash_wait(restart: int) -> AnswerRange:
    """The time from the end of a container to its next start, after this number of restarts in a row.

    The back-off counts from the end of the container. The worker requeues the pod for the end of the back-off, with
    jitter, but for a resync at most; then the next sync tick starts the sync.
    """
    backoff: int = min(INITIAL_CRASH_LOOP_BACK_OFF << (restart - 1), MAX_CRASH_LOOP_BACK_OFF)
    return AnswerRange(backoff, _longest(backoff))


def _longest(left: int) -> int:
    resync, tick = _KUBELET.resync_interval, _KUBELET.sync_tick_period
    if left <= resync:
        return _stretched(left).high + tick
    return max(_stretched(resync).high + tick, resync + tick + _longest(left - resync))


def total(waits: tuple[str, ...]) -> AnswerRange:
    """The sum of the ranges."""
    return sum(map(wait, waits), start=NOTHING)


def periodic(during: int, period: int) -> AnswerRange:
    """How often something periodic happens in a given time, for any phase."""
    return AnswerRange(during // period, -(-during // period))
