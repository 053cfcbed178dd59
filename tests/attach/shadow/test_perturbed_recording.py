"""The recording of a real node, received differently: late, without some Events, with gaps, by a different clock, or
with an unannounced restart of the kubelet. The kubelet is the same, so nothing is reported."""

from __future__ import annotations

import pytest

from kubesim.api.timestamps import SECOND
from tests.support.attach.perturbations import (
    Perturbation,
    both,
    clock_off,
    delayed,
    events_dropped,
    gap,
    no_node_events,
    no_starting_events,
)
from tests.support.attach.recorded_node import STAYS, followed, recording
from tests.support.soak import SOAK

LINES = recording()
SEEDS = range(20) if SOAK else range(2)
PERTURBED: dict[str, Perturbation] = {
    **{f"received up to 2 s later, {seed}": delayed(seed) for seed in SEEDS},
    **{f"two of five Events lost, {seed}": events_dropped(seed) for seed in SEEDS},
    **{f"late and with Events lost, {seed}": both(delayed(seed), events_dropped(seed)) for seed in SEEDS},
    **{f"no {kind} for 20 s from {begin}": gap(kind, begin)
       for kind in ("Pod", "Event", "Lease", "Node") for begin in range(100, 900, 50 if SOAK else 250)},
    **{f"our clock ahead by {by} s": clock_off(by) for by in (-180, 3.3, 240)},
    "no Event that the kubelet starts": no_starting_events,
    "no Events of the node": no_node_events,
}  # fmt: skip


@pytest.mark.parametrize("name", PERTURBED)
def test_nothing_is_reported_from_the_start(name: str) -> None:
    follower, notes = followed(PERTURBED[name](LINES))
    assert [f"{one.name}: {one.says}" for one in notes.divergences] == []
    assert follower.shadow.outcomes["restart", "kept"] >= 10


@pytest.mark.parametrize("come_s", range(255, 360, 20))
@pytest.mark.parametrize("name", ["no Event that the kubelet starts", "no Events of the node"])
def test_nothing_is_reported_by_a_follower_that_starts_shortly_before_the_restart(name: str, come_s: int) -> None:
    _, notes = followed(PERTURBED[name](LINES), come_s * SECOND, STAYS)
    assert [f"{one.name}: {one.says}" for one in notes.divergences] == []
    assert notes.reports


@pytest.mark.parametrize("come_s", [51, 68, 102, 187, 204])
@pytest.mark.parametrize("by", [-90, 120])
def test_nothing_is_reported_by_a_late_follower_with_a_different_clock(by: float, come_s: int) -> None:
    """Observations from before the node's clock was measured are not reported as divergences."""
    _, notes = followed(clock_off(by)(LINES), come_s * SECOND, STAYS)
    assert [f"{one.name}: {one.says}" for one in notes.divergences] == []
    assert notes.reports
