"""Cases from upstream's pkg/kubelet/eviction/helpers_test.go: TestParseThresholdConfig, TestAddAllocatableThresholds,
TestAddContainerFsThresholds, TestParsePercentage."""

from __future__ import annotations

import pytest

from kubesim.api.quantity import quantity
from kubesim.kubelet.eviction.thresholds import (
    DEFAULT_EVICTION_HARD,
    InvalidThreshold,
    Threshold,
    ThresholdValue,
    parse_threshold_config,
    with_container_fs,
)

SECOND = 1_000_000


def value(text: str) -> ThresholdValue:
    return ThresholdValue(quantity(text))


def test_hard_and_soft_memory_thresholds_and_that_of_all_pods() -> None:
    found = parse_threshold_config(
        {"memory.available": "150Mi"},
        {"memory.available": "300Mi"},
        {"memory.available": 30 * SECOND},
        {"memory.available": "0"},
    )
    assert found == (
        Threshold("memory.available", value("150Mi"), 0, value("0")),
        Threshold("memory.available", value("300Mi"), 30 * SECOND, value("0")),
        Threshold("allocatableMemory.available", value("150Mi"), 0, value("0")),
    )
    assert [threshold.is_hard for threshold in found] == [True, False, True]


def test_percentages_have_single_precision() -> None:
    hard = {"nodefs.available": "10.5%", "imagefs.available": "15%"}
    nodefs, imagefs = parse_threshold_config(hard, minimum_reclaim={"imagefs.available": "5%"})
    assert nodefs.value.percentage == pytest.approx(0.105, abs=1e-7)
    assert imagefs.min_reclaim is not None
    assert imagefs.min_reclaim.percentage == pytest.approx(0.05, abs=1e-7)
    ten_percent = parse_threshold_config({"nodefs.available": "10%"})[0].value.of(quantity("100Gi"))
    assert str(ten_percent) == "10737418400"  # not 10737418240: 0.1 in single precision is a little more


@pytest.mark.parametrize("text", ["0%", "100%"])
def test_zero_and_hundred_percent_are_not_thresholds(text: str) -> None:
    assert parse_threshold_config({"memory.available": text}) == ()


@pytest.mark.parametrize(
    ("hard", "soft", "grace", "reclaim", "problem"),
    [
        ({"mem.available": "150Mi"}, {}, {}, {}, "unsupported eviction signal mem.available"),
        ({"memory.available": "-150Mi"}, {}, {}, {}, "eviction threshold memory.available must be positive: -150Mi"),
        ({"memory.available": "0"}, {}, {}, {}, "must be positive: 0"),
        ({"memory.available": "-15%"}, {}, {}, {}, "memory.available must be >= 0%: -15%"),
        ({"memory.available": "150%"}, {}, {}, {}, "memory.available must be <= 100%: 150%"),
        ({"memory.available": "15x%"}, {}, {}, {}, "invalid syntax"),
        ({"memory.available": "much"}, {}, {}, {}, "quantities must match"),
        ({}, {"memory.available": "150Mi"}, {}, {}, "grace period must be specified for the soft eviction threshold"),
        ({}, {}, {"mem.available": 1}, {}, "unsupported eviction signal"),
        ({}, {"memory.available": "1Gi"}, {"memory.available": -1}, {}, "must be a positive value"),
        ({}, {}, {}, {"memory.available": "-300Mi"}, "negative eviction minimum reclaim"),
        ({}, {}, {}, {"memory.available": "-15%"}, "minimum reclaim memory.available must be positive: -15%"),
    ],
)
def test_invalid_thresholds(
    hard: dict[str, str], soft: dict[str, str], grace: dict[str, int], reclaim: dict[str, str], problem: str
) -> None:
    with pytest.raises(InvalidThreshold, match=problem.replace("(", r"\(")):
        parse_threshold_config(hard, soft, grace, reclaim)


def test_writable_layers_are_on_the_file_system_of_their_signal() -> None:
    thresholds = parse_threshold_config(
        {**DEFAULT_EVICTION_HARD, "containerfs.available": "1Gi"},
        {"nodefs.available": "20%"},
        {"nodefs.available": SECOND},
    )
    for dedicated, model in ((False, "nodefs"), (True, "imagefs")):
        found = with_container_fs(thresholds, dedicated_image_fs=dedicated)
        for signal in ("available", "inodesFree"):
            own = [(t.value, t.grace_period) for t in found if t.signal == f"containerfs.{signal}"]
            assert own == [(t.value, t.grace_period) for t in thresholds if t.signal == f"{model}.{signal}"]
            assert own
