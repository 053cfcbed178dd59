"""The differences between versions, by subject; one row for each."""

from __future__ import annotations

from kubesim.features.differences.containers import CONTAINERS
from kubesim.features.differences.pod_sync import POD_SYNC
from kubesim.features.differences.pod_workers import POD_WORKERS
from kubesim.features.differences.recent import RECENT
from kubesim.features.differences.sandboxes import SANDBOXES
from kubesim.features.differences.sources import SOURCES
from kubesim.features.differences.stops import STOPS
from kubesim.features.differences.upgrades import UPGRADES
from kubesim.features.rules import Difference

DIFFERENCES: tuple[Difference, ...] = (
    *SOURCES, *POD_WORKERS, *POD_SYNC, *CONTAINERS, *STOPS, *SANDBOXES, *RECENT, *UPGRADES,
)  # fmt: skip
