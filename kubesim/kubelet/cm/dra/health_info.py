"""Device health as reported by the drivers. A report is valid until its timeout; then the health is unknown.

Mirrors: pkg/kubelet/cm/dra/healthinfo.go
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kubesim.api.timestamps import SECOND
from kubesim.values import replace, value_object

HEALTHY, UNHEALTHY, UNKNOWN = "Healthy", "Unhealthy", "Unknown"
DEFAULT_TIMEOUT = 30 * SECOND
MAX_MESSAGE = 1024  # bytes
CHECKPOINT = "dra_health_state"


@value_object
class DeviceHealthReport:
    """A health report. A `timeout` of 0 means the default."""

    pool: str
    device: str
    health: str = UNKNOWN
    message: str = ""
    timeout: int = 0
    last_updated: int = 0


class HealthInfoCache:
    """Health by driver, pool and device. `checkpoints` is on the kubelet's disk."""

    def __init__(self, now: Callable[[], int], checkpoints: dict[str, Any]) -> None:
        self._now = now
        self._checkpoints = checkpoints
        saved = checkpoints.get(CHECKPOINT) or {}
        self._drivers: dict[str, dict[tuple[str, str], DeviceHealthReport]] = {
            driver: dict(devices) for driver, devices in saved.items()
        }

    def get(self, driver: str, pool: str, device: str) -> DeviceHealthReport:
        found = self._drivers.get(driver, {}).get((pool, device))
        if found is None or self._is_old(found):
            return DeviceHealthReport(pool, device)
        return found

    def _is_old(self, report: DeviceHealthReport) -> bool:
        return self._now() - report.last_updated > (report.timeout or DEFAULT_TIMEOUT)

    def update(self, driver: str, devices: Sequence[DeviceHealthReport]) -> list[DeviceHealthReport]:
        """The changed devices: newly reported ones, and those whose report timed out."""
        now, known = self._now(), self._drivers.setdefault(driver, {})
        changed: list[DeviceHealthReport] = []
        reported: set[tuple[str, str]] = set()
        for device in devices:
            key = (device.pool, device.device)
            reported.add(key)
            old, new = known.get(key), replace(device, last_updated=now)
            if old is None or replace(old, last_updated=now) != new:
                changed.append(new)
            known[key] = new
        for key, old in known.items():
            if key not in reported and old.health != UNKNOWN and self._is_old(old):
                known[key] = replace(old, health=UNKNOWN, message="", last_updated=now)
                changed.append(known[key])
        if changed:
            self._save()
        return changed

    def clear(self, driver: str) -> None:
        self._drivers.pop(driver, None)
        self._save()

    def _save(self) -> None:
        self._checkpoints[CHECKPOINT] = {driver: dict(devices) for driver, devices in self._drivers.items()}


def truncated(message: str) -> str:
    """The message, shortened to 1024 bytes with trailing dots."""
    raw = message.encode()
    return message if len(raw) <= MAX_MESSAGE else raw[: MAX_MESSAGE - 3].decode(errors="ignore") + "..."
