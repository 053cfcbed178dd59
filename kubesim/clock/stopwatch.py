"""Real elapsed time, for progress and tables, never for decisions."""

from __future__ import annotations

import time as wall_time


class Stopwatch:
    """Starts when it is created."""

    def __init__(self) -> None:
        self._start = wall_time.perf_counter()
        self._cpu_start = wall_time.process_time()

    def seconds(self) -> float:
        return wall_time.perf_counter() - self._start

    def cpu_seconds(self) -> float:
        """The CPU time of this process since the stopwatch started, whatever else the machine was doing."""
        return wall_time.process_time() - self._cpu_start
