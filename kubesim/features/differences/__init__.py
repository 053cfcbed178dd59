"""The differences between versions, by subject; one row each."""

from __future__ import annotations

from kubesim.features.differences.pod_workers import POD_WORKERS
from kubesim.features.differences.sources import SOURCES
from kubesim.features.rules import Difference

DIFFERENCES: tuple[Difference, ...] = (*SOURCES, *POD_WORKERS)
