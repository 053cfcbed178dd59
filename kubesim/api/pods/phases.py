"""The phases of a pod."""

from __future__ import annotations

PENDING = "Pending"
RUNNING = "Running"
SUCCEEDED = "Succeeded"
FAILED = "Failed"

TERMINAL_PHASES = frozenset({SUCCEEDED, FAILED})
