"""Compares a replayed node story: the same statuses and Events, in the same order, with the same delays.

Exact equality is impossible: a status that lasted less than BRIEF_S may have been overwritten before the API server saw
it, two Events of the same time may swap, and delays have the kubelet's jitter. `story_views` defines the compared
fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from kubesim.conformance.stories.story_views import EventView, Json, StatusView, event_view, status_view
from kubesim.values import value_object

Story = Mapping[str, Any]

BRIEF_S = 0.25  # minimum duration of a state that is certainly visible, and minimum distance of Events in a fixed order
# below this, a delay may deviate by SLACK_S (relist period and noise), above it by the jitter factors
SHORT_DELAY_S = 3
SLACK_S = 1.5
FASTEST, SLOWEST = 0.6, 1.7
_LISTS = {"conditions", "init_containers", "containers", "ephemeral_containers"}


def story_differences(reference: Story, produced: Story) -> list[str]:
    """The differences between `produced` and `reference`; empty if the story is reproduced."""
    pods = dict.fromkeys(entry["pod"] for story in (reference, produced) for entry in story["statuses"])
    found = [line for pod in pods for line in _status_differences(pod, _shown(reference, pod), _shown(produced, pod))]
    return found + list(_event_differences(reference, produced))


def _delay_is_off(expected: float, actual: float) -> bool:
    if expected <= SHORT_DELAY_S:
        return abs(actual - expected) > SLACK_S
    return not FASTEST * expected <= actual <= SLOWEST * expected


# -- statuses -----------------------------------------------------------------------------------------------------


@value_object
class _Shown:
    """A status that differs from its predecessor."""

    t: float
    view: StatusView
    brief: bool  # short-lived and written by the kubelet: a watcher may have missed it


def _shown(story: Story, pod: str) -> list[_Shown]:
    distinct: list[tuple[float, StatusView]] = []
    for entry in story["statuses"]:
        if entry["pod"] != pod:
            continue
        view = status_view(entry)
        if view.type != "DELETED" and distinct and distinct[-1][1]._replace(type=view.type) == view:
            continue
        distinct.append((entry["t"], view))
    shown = []
    for n, (t, view) in enumerate(distinct):
        stood = distinct[n + 1][0] - t if n + 1 < len(distinct) else float("inf")
        deletion = n > 0 and distinct[n - 1][1].grace_s != view.grace_s  # written by the API server itself
        shown.append(_Shown(t, view, stood < BRIEF_S and view.type == "MODIFIED" and not deletion))
    return shown


def _status_differences(pod: str, reference: list[_Shown], produced: list[_Shown]) -> Iterator[str]:
    pairs = _aligned(reference, produced)
    missed = sorted(set(range(len(reference))) - {left for left, _ in pairs})
    added = sorted(set(range(len(produced))) - {right for _, right in pairs})
    for n in missed:
        if not reference[n].brief:
            yield f"{pod}: status missing, at {reference[n].t:.2f}s: {reference[n].view}"
    for n in added:
        if not produced[n].brief:
            yield f"{pod}: status not expected, at {produced[n].t:.2f}s: {produced[n].view}"
    yield from _brief_differences(pod, reference, produced, pairs)
    for (left, right), (next_left, next_right) in pairwise(pairs):
        expected = reference[next_left].t - reference[left].t
        actual = produced[next_right].t - produced[right].t
        if _delay_is_off(expected, actual):
            yield f"{pod}: {actual:.2f}s instead of {expected:.2f}s until {reference[next_left].view}"


def _brief_differences(
    pod: str, reference: list[_Shown], produced: list[_Shown], pairs: list[tuple[int, int]]
) -> Iterator[str]:
    """Differences in brief statuses. A quarter of them (or one) may be missing, but no two neighbours. As many may be
    added if they repeat their neighbours.
    """
    brief = [n for n, shown in enumerate(reference) if shown.brief]
    tolerated = max(1, len(brief) // 4)
    met, used = dict(pairs), {right: left for left, right in pairs}
    missed = [n for n in brief if n not in met]
    if len(missed) > tolerated or any(n + 1 in missed for n in missed):
        first = reference[missed[0]].view
        yield f"{pod}: {len(missed)} of {len(brief)} brief statuses missing, first: {first}"
    added = [n for n, shown in enumerate(produced) if shown.brief and n not in used]
    if len(added) > tolerated:
        yield f"{pod}: {len(added)} brief statuses not expected, first: {produced[added[0]].view}"
    for n in added:
        before = max((right for right in used if right < n), default=None)
        after = min((right for right in used if right > n), default=None)
        neighbours = [reference[used[right]].view for right in (before, after) if right is not None]
        if not _only_repeats(produced[n].view, neighbours):
            yield f"{pod}: brief status that says something new, at {produced[n].t:.2f}s: {produced[n].view}"


def _only_repeats(view: StatusView, neighbours: Sequence[StatusView]) -> bool:
    for name, value in view._asdict().items():
        others = [getattr(neighbour, name) for neighbour in neighbours]
        if name in _LISTS:
            reported = [item for other in others for item in other]
            if not all(item in reported for item in value):
                return False
        elif name != "type" and value not in others:
            return False
    return True


def _aligned(reference: list[_Shown], produced: list[_Shown]) -> list[tuple[int, int]]:
    """The best alignment of equal statuses in order: fewest unpaired non-brief ones, then most pairs, then the
    earliest.
    """
    rows, columns = len(reference), len(produced)
    # best[i][j]: (unpaired, minus pairs) for the statuses after i and j.
    best = [[(0, 0)] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows, -1, -1):
        for j in range(columns, -1, -1):
            choices = []
            if i < rows:
                choices.append(_plus(best[i + 1][j], unpaired=not reference[i].brief))
            if j < columns:
                choices.append(_plus(best[i][j + 1], unpaired=not produced[j].brief))
            if i < rows and j < columns and reference[i].view == produced[j].view:
                choices.append(_plus(best[i + 1][j + 1], pairs=1))
            if choices:
                best[i][j] = min(choices)
    pairs = []
    i = j = 0
    while i < rows and j < columns:
        if reference[i].view == produced[j].view and best[i][j] == _plus(best[i + 1][j + 1], pairs=1):
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == _plus(best[i + 1][j], unpaired=not reference[i].brief):
            i += 1
        else:
            j += 1
    return pairs


def _plus(cost: tuple[int, int], *, unpaired: int = 0, pairs: int = 0) -> tuple[int, int]:
    return cost[0] + unpaired, cost[1] - pairs


# -- events -------------------------------------------------------------------------------------------------------


@value_object
class _Match:
    """An Event in both; `position` is its index in the replay."""

    view: EventView
    t: float
    produced_t: float
    position: int


def _event_differences(reference: Story, produced: Story) -> Iterator[str]:
    waiting: dict[EventView, list[tuple[int, Json]]] = {}
    for position, event in enumerate(_kubelet_events(produced)):
        waiting.setdefault(event_view(event), []).append((position, event))
    matches = []
    for event in _kubelet_events(reference):
        view = event_view(event)
        if waiting.get(view):
            position, counterpart = waiting[view].pop(0)
            matches.append(_Match(view, event["t"], counterpart["t"], position))
        else:
            yield f"event missing, at {event['t']:.2f}s: {view}"
    for view, left_over in waiting.items():
        for _, event in left_over:
            yield f"event not expected, at {event['t']:.2f}s: {view}"
    for n, match in enumerate(matches):
        if any(_wrongly_swapped(earlier, match) for earlier in matches[:n]):
            yield f"event out of order: {match.view}"
    yield from _event_delays(matches, _first_seen(reference), _first_seen(produced))


def _kubelet_events(story: Story) -> list[Json]:
    """The kubelet's Events. Whether a deletion interrupts a probe is random, so such an Event is optional."""
    return [
        event
        for event in story["events"]
        if event.get("component") in (None, "kubelet") and "Canceled" not in event["message"]
    ]


def _wrongly_swapped(earlier: _Match, later: _Match) -> bool:
    """Events that are in the wrong order. Close Events may swap, unless they are steps of one container (a failed probe
    never is).
    """
    if earlier.position < later.position:
        return False
    steps = (earlier.view.pod, earlier.view.field_path) == (later.view.pod, later.view.field_path)
    probed = "Unhealthy" in (earlier.view.reason, later.view.reason)
    return later.t - earlier.t > BRIEF_S or (steps and not probed)


def _event_delays(
    matches: list[_Match], first_seen: Mapping[str, float], first_produced: Mapping[str, float]
) -> Iterator[str]:
    """The delay of each Event from the pod's previous one, and of the first from the creation of the pod."""
    last: dict[str, tuple[float, float]] = {}
    for match in matches:
        pod = match.view.pod
        before, produced_before = last.get(pod, (first_seen.get(pod, 0), first_produced.get(pod, 0)))
        expected, actual = match.t - before, match.produced_t - produced_before
        if _delay_is_off(expected, actual):
            yield f"{actual:.2f}s instead of {expected:.2f}s until the event {match.view}"
        last[pod] = match.t, match.produced_t


def _first_seen(story: Story) -> dict[str, float]:
    seen: dict[str, float] = {}
    for entry in story["statuses"]:
        seen.setdefault(entry["pod"], entry["t"])
    return seen
