"""A component that repeats an Event waits longer each time.

A failed operation is retried with a back-off, so its Events become rare: the same Event of an object is emitted at
most eleven times in two minutes.

Exception: Unhealthy follows the period of the probe.

Kubelets violate it if a static pod uses up the memory of the node: it is critical, so nothing is evicted, and the
threshold is met again every 10 s (kubernetes/kubernetes#126542).
"""

from __future__ import annotations

from kubesim.api.timestamps import MINUTE
from kubesim.golang.text import duration
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.strict.observer import RuleObserver, Scene
from kubesim.trace.records import EventRecorded, Record

MOST = 11
PERIOD = 2 * MINUTE
_PERIODIC = ("Unhealthy",)


class EventRate(RuleObserver):
    """Remembers when each Event was emitted lately."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._times: dict[tuple[str, ...], list[int]] = {}

    def recorded(self, record: Record) -> str:
        if not isinstance(record, EventRecorded) or record.reason in _PERIODIC:
            return ""
        key = (record.node, record.pod, record.object, record.container, record.reason, record.message)
        times = self._times.setdefault(key, [])
        times.append(record.t)
        if len(times) <= MOST:
            return ""
        taken = record.t - times.pop(0)
        return f"the Event {record.reason} was emitted {MOST + 1} times in {duration(taken)}" if taken <= PERIOD else ""


INVARIANT = Invariant("event-rate", observer=EventRate)
