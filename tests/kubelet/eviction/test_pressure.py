"""Cases from upstream's pkg/kubelet/eviction: helpers_test.go TestThresholdsMet, TestPercentageThresholdsMet,
TestThresholdsUpdatedStats, TestSortByEvictionPriority; eviction_manager_test.go TestMemoryPressure, TestMinReclaim."""

from __future__ import annotations

import pytest

from kubesim.api.timestamps import MINUTE
from kubesim.kubelet.eviction.pressure import (
    PressureCheck,
    PressureState,
    by_eviction_priority,
    evaluate,
    thresholds_met,
)
from kubesim.kubelet.eviction.stats import SignalObservation
from kubesim.kubelet.eviction.thresholds import Threshold, parse_threshold_config
from tests.support.eviction import available

MEMORY, NODEFS, PIDS = "memory.available", "nodefs.available", "pid.available"
TRANSITION = 5 * MINUTE


def config(
    hard: dict[str, str], *, soft: dict[str, str] | None = None, **options: dict[str, str]
) -> tuple[Threshold, ...]:
    grace = dict.fromkeys(soft or {}, 2 * MINUTE)
    return parse_threshold_config(hard, soft, grace, options.get("reclaim"), enforce_node_allocatable=False)


@pytest.mark.parametrize(
    ("left", "reclaiming", "met"),
    [
        ("500Mi", False, True),
        ("1Gi", False, False),
        ("2Gi", False, False),
        ("1.05Gi", True, True),
        ("2Gi", True, False),
    ],
)
def test_crossed_when_less_is_available(left: str, reclaiming: bool, met: bool) -> None:
    thresholds = config({MEMORY: "1Gi"}, reclaim={MEMORY: "500Mi"})
    found = thresholds_met(thresholds, {MEMORY: available(left)}, enforce_min_reclaim=reclaiming)
    assert bool(found) == met


@pytest.mark.parametrize(
    ("memory", "disk", "reclaiming", "signals"),
    [
        ("100Mi", "100Gi", False, [MEMORY, NODEFS]),
        ("300Mi", "400Gi", False, []),
        ("300Mi", "100Gi", False, [NODEFS]),
        ("100Mi", "400Gi", False, [MEMORY]),
        ("225Mi", "400Gi", True, [MEMORY]),
        ("300Mi", "400Gi", True, []),
    ],
)
def test_fractions_of_the_capacity(memory: str, disk: str, reclaiming: bool, signals: list[str]) -> None:
    thresholds = config({MEMORY: "20%", NODEFS: "30%"}, reclaim={MEMORY: "5%"})
    observations = {MEMORY: available(memory, "1000Mi"), NODEFS: available(disk, "1000Gi")}
    found = thresholds_met(thresholds, observations, enforce_min_reclaim=reclaiming)
    assert [threshold.signal for threshold in found] == signals


def test_unmeasured_signals_have_no_pressure() -> None:
    assert thresholds_met(config({MEMORY: "1Gi"}), {}) == ()


def test_memory_is_checked_first_and_hard_thresholds_before_soft_ones() -> None:
    thresholds = config({NODEFS: "1Gi", MEMORY: "1Gi"}, soft={PIDS: "5%", MEMORY: "2Gi"})
    order = [(threshold.signal, threshold.is_hard) for threshold in by_eviction_priority(thresholds)]
    assert order == [(MEMORY, True), (MEMORY, False), (NODEFS, True), (PIDS, False)]


class Watcher:
    """Checks repeatedly, with time passing."""

    def __init__(self, thresholds: tuple[Threshold, ...]) -> None:
        self.thresholds = thresholds
        self.state = PressureState()
        self.now = 0

    def check(self, minutes: int, left: str) -> PressureCheck:
        self.now += minutes * MINUTE
        return self.observe({MEMORY: available(left, time=self.now)})

    def observe(self, observations: dict[str, SignalObservation]) -> PressureCheck:
        found = evaluate(self.state, self.thresholds, observations, self.now, TRANSITION)
        self.state = found.state
        return found


def test_soft_thresholds_wait_and_conditions_stay() -> None:
    node = Watcher(config({MEMORY: "1Gi"}, soft={MEMORY: "2Gi"}))
    hard, soft = node.thresholds

    assert node.check(0, "2Gi").to_reclaim == ()
    assert node.state.is_quiet

    assert node.check(1, "1500Mi").to_reclaim == ()  # the soft threshold has just been crossed
    assert node.state.node_conditions == ("MemoryPressure",)

    assert node.check(3, "1500Mi").to_reclaim == (soft,)

    relieved = node.check(20, "3Gi")
    assert relieved.to_reclaim == ()
    assert relieved.state.node_conditions == ()

    assert node.check(1, "500Mi").to_reclaim == (hard,)
    after = node.check(1, "2Gi")
    assert after.to_reclaim == ()
    assert after.state.node_conditions == ("MemoryPressure",)  # the transition period is not over
    assert not after.state.is_quiet
    later = node.check(5, "2Gi").state
    assert later.node_conditions == ()
    assert later.is_quiet


def test_a_soft_threshold_that_ends_starts_over() -> None:
    node = Watcher(config({}, soft={MEMORY: "2Gi"}))
    for left in ("1Gi", "3Gi", "1Gi"):
        assert node.check(1, left).to_reclaim == ()
    assert node.check(1, "1Gi").to_reclaim == ()
    assert node.check(1, "1Gi").to_reclaim == node.thresholds


def test_eviction_continues_until_the_minimum_is_reclaimed() -> None:
    node = Watcher(config({MEMORY: "1Gi"}, reclaim={MEMORY: "500Mi"}))
    assert node.check(1, "1.2Gi").to_reclaim == ()
    assert node.check(1, "500Mi").to_reclaim == node.thresholds
    assert node.check(1, "1.2Gi").to_reclaim == node.thresholds
    assert node.check(1, "2Gi").to_reclaim == ()


def test_an_old_measurement_evicts_nothing_twice() -> None:
    node = Watcher(config({MEMORY: "1Gi"}))
    assert node.check(1, "500Mi").to_reclaim == node.thresholds
    assert node.observe({MEMORY: available("500Mi", time=node.now)}).to_reclaim == ()
    assert node.observe({MEMORY: available("500Mi", time=None)}).to_reclaim == node.thresholds
    assert node.state.node_conditions == ("MemoryPressure",)
