"""Was a container killed for its probe before the probe could have failed often enough?

Mirrors: prober/worker.go doProbe
"""

from __future__ import annotations

from kubesim.api.event import Event
from kubesim.api.pod import Probe
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.attach.explain.observation import Observation, moment
from kubesim.attach.explain.statement import Fact
from kubesim.attach.explain.timing import failure_window, period
from kubesim.attach.explain.tolerances import TRUNCATION
from kubesim.attach.rules.readiness import arithmetic
from kubesim.attach.shadow.divergence import Divergence, diverges
from kubesim.golang.text import duration


def killed_too_early(seen: Observation, event: Event, at: int) -> list[Divergence]:
    """An Event Killing for a failed liveness or startup probe, held against the probe's delay, period and threshold."""
    if event.reason != "Killing":
        return []
    for view in seen.containers():
        if event.involved_object.field_path != view.event_path or view.status.state.running is None:
            continue
        probe: Probe | None = None
        if "failed liveness probe" in event.message:
            probe, kind = view.spec.liveness_probe, "liveness"
        elif "failed startup probe" in event.message:
            probe, kind = view.spec.startup_probe, "startup"
        started = moment(view.status.state.running.started_at)
        if probe is None or started is None:
            return []
        earliest = failure_window(probe, started).earliest
        assert earliest is not None
        # A probe that takes longer than its period makes the next one follow at once.
        slow = period(probe) if (probe.timeout_seconds or 1) * SECOND >= period(probe) else 0
        if at >= earliest - TRUNCATION - slow:  # the time of an Event is cut as well
            return []
        early = duration((earliest - at) // MILLISECOND * MILLISECOND)
        return [
            diverges(
                seen,
                "early",
                f"container {view.name} is killed for its {kind} probe {early} before that can have failed so often",
                f"The probe ({arithmetic(probe)}) must fail {probe.failure_threshold or 3} times in a row.",
                view.fact("state.running.startedAt", view.status.state.running.started_at),
                Fact(f"event {event.reason}", event.message),
            )
        ]
    return []
