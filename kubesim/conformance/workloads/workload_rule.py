"""Compares a replayed workload story: the same pods, scaling, Events, endpoints and claims, at the same times.

Times are equal within SLACK_S seconds, or within FASTEST to SLOWEST times the delay after the story's last action.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from kubesim.conformance.workloads.workload_views import WorkloadView, view

Story = Mapping[str, Any]

SLACK_S = 2.5
FASTEST, SLOWEST = 0.6, 1.7
_SAME_ACTION_S = 0.5  # a change this long before an action may be its effect, as clocks are not exact


def workload_differences(reference: Story, produced: Story) -> list[str]:
    """The differences between `produced` and `reference`; empty if the story is reproduced."""
    times = _Times(reference)
    expected, actual = view(reference), view(produced)
    return [
        *_pod_differences(times, expected, actual),
        *_scaling_differences(expected, actual),
        *_final_differences(expected, actual),
        *_event_differences(times, expected, actual),
        *_endpoint_differences(expected, actual),
        *_claim_differences(expected, actual),
    ]


class _Times:
    """Compares times of a story."""

    def __init__(self, story: Story) -> None:
        moments = [action.get("t", action.get("at", 0.0)) for action in story.get("actions") or ()]
        self._moments = sorted([0.0, *moments])

    def differ(self, expected: float | None, actual: float | None) -> bool:
        if expected is None or actual is None:
            return expected is not actual
        if abs(expected - actual) <= SLACK_S:
            return False
        since = max(moment for moment in self._moments if moment <= max(expected, 0.0) + _SAME_ACTION_S)
        waited = expected - since
        return not (waited > 0 and FASTEST <= (actual - since) / waited <= SLOWEST)


def _pod_differences(times: _Times, expected: WorkloadView, actual: WorkloadView) -> Iterator[str]:
    counts, produced = (Counter(pod.owner for pod in found.pods) for found in (expected, actual))
    for owner in sorted({*counts, *produced}):
        if counts[owner] != produced[owner]:
            yield f"pods of {owner}: {produced[owner]} instead of {counts[owner]}"
    if counts != produced:
        return
    for wanted, found in zip(expected.pods, actual.pods, strict=True):
        for what in ("created", "deleted"):
            when, ours = getattr(wanted, what), getattr(found, what)
            if times.differ(when, ours):
                yield f"pod {wanted.owner}: {what} at {ours} instead of {when}"
        if wanted.phase != found.phase:
            yield f"pod {wanted.owner}: last phase {found.phase} instead of {wanted.phase}"


def _scaling_differences(expected: WorkloadView, actual: WorkloadView) -> Iterator[str]:
    if expected.scaling != actual.scaling:
        yield f"spec.replicas of ReplicaSets: {actual.scaling} instead of {expected.scaling}"


def _final_differences(expected: WorkloadView, actual: WorkloadView) -> Iterator[str]:
    for key in sorted({*expected.final, *actual.final}):
        if expected.final.get(key) != actual.final.get(key):
            yield f"{' '.join(key)}: {actual.final.get(key)} instead of {expected.final.get(key)}"


def _event_differences(times: _Times, expected: WorkloadView, actual: WorkloadView) -> Iterator[str]:
    for key in sorted({*expected.events, *actual.events}):
        when, ours = expected.events.get(key), actual.events.get(key)
        if ours is None:
            yield f"event missing, at {when}: {key}"
        elif when is None:
            yield f"event not expected, at {ours}: {key}"
        elif times.differ(when, ours):
            yield f"event at {ours} instead of {when}: {key}"


def _endpoint_differences(expected: WorkloadView, actual: WorkloadView) -> Iterator[str]:
    for pod in sorted({*expected.endpoints, *actual.endpoints}):
        wanted, found = expected.endpoints.get(pod, []), actual.endpoints.get(pod, [])
        if wanted != found:
            yield f"endpoints of {pod}: {found} instead of {wanted}"


def _claim_differences(expected: WorkloadView, actual: WorkloadView) -> Iterator[str]:
    if expected.claims != actual.claims:
        yield f"phases of claims: {actual.claims} instead of {expected.claims}"
