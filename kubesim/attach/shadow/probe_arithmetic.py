"""Checks whether a container was killed for its probe before the probe could have failed often enough.

Mirrors: prober/worker.go doProbe
"""

from __future__ import annotations

from kubesim.api.event import Event
from kubesim.api.pod import Probe
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.attach.explain.observation import ContainerView, Observation, event_time, moment
from kubesim.attach.explain.statement import Fact
from kubesim.attach.explain.timing import failure_window, first_probe, period
from kubesim.attach.explain.tolerances import TRUNCATION
from kubesim.attach.rules.readiness import arithmetic
from kubesim.attach.shadow.divergence import Divergence, diverges
from kubesim.golang.text import duration


def killed_too_early(seen: Observation, event: Event, at: int, before: Event | None = None) -> list[Divergence]:
    """Check the Killing Event of a failed liveness or startup probe against the probe's delay, period and threshold.

    `before` is the previous kill for the same reason.
    """
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
        if probe is None or started is None or _is_of_earlier_attempt(view, at, started):
            return []
        earliest = failure_window(probe, started).earliest
        if not _counts_from_zero(view, before):
            earliest = first_probe(probe, started)
        assert earliest is not None
        # The next probe follows immediately after a probe that takes longer than its period.
        slow = period(probe) if (probe.timeout_seconds or 1) * SECOND >= period(probe) else 0
        if at >= earliest - TRUNCATION - slow:  # the time of an Event is truncated, too
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


def _is_of_earlier_attempt(view: ContainerView, at: int, started: int) -> bool:
    ended = view.status.last_state.terminated
    over = moment(ended.finished_at) if ended is not None else None
    return at < started or (over is not None and at <= over)


def _counts_from_zero(view: ContainerView, before: Event | None) -> bool:
    """Whether the attempt began without failures. The worker keeps its count (`resultRun`) across a restart, unless the
    previous attempt was killed for this probe."""
    if view.status.restart_count == 0:
        return True
    ended = view.status.last_state.terminated
    began = moment(ended.started_at) if ended is not None else None
    return before is not None and began is not None and event_time(before) >= began
