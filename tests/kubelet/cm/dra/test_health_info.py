"""Cases from upstream's pkg/kubelet/cm/dra/healthinfo_test.go: TestGetHealthInfo, TestGetHealthInfoRobust,
TestUpdateHealthInfo, TestClearDriver (13 of 19 rows; the others are about locks and files)."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.kubelet.cm.dra.health_info import (
    CHECKPOINT,
    DEFAULT_TIMEOUT,
    HEALTHY,
    UNHEALTHY,
    UNKNOWN,
    DeviceHealthReport,
    HealthInfoCache,
)
from kubesim.values import replace

NOW = 1000 * SECOND
DEVICE = DeviceHealthReport("pool", "device", HEALTHY)


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


def known(*devices: DeviceHealthReport) -> dict[str, Any]:
    return {CHECKPOINT: {"driver": {(each.pool, each.device): each for each in devices}}}


FRESH, OLD = NOW, NOW - DEFAULT_TIMEOUT - SECOND


@pytest.mark.parametrize(
    ("saved", "asked", "health"),
    [
        pytest.param({}, ("driver", "pool", "device"), UNKNOWN, id="empty cache"),
        pytest.param(
            known(replace(DEVICE, last_updated=FRESH)),
            ("driver", "pool", "device"),
            HEALTHY,
            id="device exists and is healthy",
        ),
        pytest.param(
            known(replace(DEVICE, last_updated=FRESH, health=UNHEALTHY)),
            ("driver", "pool", "device"),
            UNHEALTHY,
            id="device exists and is unhealthy",
        ),
        pytest.param(
            known(replace(DEVICE, last_updated=OLD)),
            ("driver", "pool", "device"),
            UNKNOWN,
            id="device exists but timed out",
        ),
        pytest.param(
            known(replace(DEVICE, last_updated=NOW - DEFAULT_TIMEOUT)),
            ("driver", "pool", "device"),
            HEALTHY,
            id="device exists, just within timeout",
        ),
        pytest.param(
            known(replace(DEVICE, last_updated=OLD)),
            ("driver", "pool", "device2"),
            UNKNOWN,
            id="device does not exist, just outside of timeout",
        ),
        pytest.param(
            known(replace(DEVICE, last_updated=FRESH)),
            ("driver", "pool", "device2"),
            UNKNOWN,
            id="device does not exist",
        ),
        pytest.param(
            known(replace(DEVICE, last_updated=FRESH)),
            ("driver2", "pool", "device"),
            UNKNOWN,
            id="driver does not exist",
        ),
        pytest.param(
            known(replace(DEVICE, last_updated=FRESH)), ("driver", "pool2", "device"), UNKNOWN, id="pool does not exist"
        ),
        pytest.param(
            known(
                replace(DEVICE, last_updated=FRESH),
                DeviceHealthReport("pool", "device2", UNHEALTHY, last_updated=FRESH),
            ),
            ("driver", "pool", "device2"),
            UNHEALTHY,
            id="multiple devices",
        ),
        pytest.param(
            known(replace(DEVICE, last_updated=OLD, timeout=DEFAULT_TIMEOUT * 2)),
            ("driver", "pool", "device"),
            HEALTHY,
            id="a timeout of its own",
        ),
    ],
)
def test_get(saved: dict[str, Any], asked: tuple[str, str, str], health: str) -> None:
    assert HealthInfoCache(lambda: NOW, saved).get(*asked).health == health


def test_update() -> None:
    """TestUpdateHealthInfo, step by step."""
    clock, disk = Clock(), dict[str, Any]()
    cache = HealthInfoCache(clock, disk)
    assert [each.health for each in cache.update("driver", [DEVICE])] == [HEALTHY]
    assert cache.update("driver", [DEVICE]) == []
    assert [each.health for each in cache.update("driver", [replace(DEVICE, health=UNHEALTHY)])] == [UNHEALTHY]
    assert [each.message for each in cache.update("driver", [replace(DEVICE, health=UNHEALTHY, message="hot")])] == [
        "hot"
    ]
    clock.now += DEFAULT_TIMEOUT * 2
    second = DeviceHealthReport("pool", "device2", HEALTHY)
    changed = cache.update("driver", [second])
    assert [(each.device, each.health, each.message) for each in changed] == [
        ("device2", HEALTHY, ""),
        ("device", UNKNOWN, ""),
    ]
    again = HealthInfoCache(clock, disk)
    assert [again.get("driver", "pool", name).health for name in ("device2", "device")] == [HEALTHY, UNKNOWN]
    clock.now += DEFAULT_TIMEOUT + SECOND
    assert [(each.device, each.health) for each in cache.update("driver", [])] == [("device2", UNKNOWN)]
    assert cache.update("driver", []) == []


def test_clear_driver() -> None:
    disk: dict[str, Any] = {}
    cache = HealthInfoCache(lambda: NOW, disk)
    cache.update("driver", [DEVICE])
    cache.clear("driver")
    assert cache.get("driver", "pool", "device").health == UNKNOWN
    assert disk[CHECKPOINT] == {}
