"""Rotation of container logs: rename a log that is too large, compress older logs, delete the oldest.

The rules are functions on file names; `ContainerLogManager` checks the logs of running containers every ten seconds.

Mirrors: pkg/kubelet/logs/container_log_manager.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from kubesim.api.timestamps import SECOND, format_time
from kubesim.clock import LoopClock
from kubesim.concurrency import act_every
from kubesim.errors import RuntimeCallError
from kubesim.runtime.kuberuntime.logs import log_path
from kubesim.runtime.protocol import Runtime
from kubesim.values import value_object

COMPRESSED = ".gz"
TEMPORARY = ".tmp"


@value_object
class LogRotatePolicy:
    max_size: int = 10 << 20  # bytes; negative: no rotation
    max_files: int = 5
    monitoring_period: int = 10 * SECOND


@value_object
class Rotation:
    """The file operations for one log, in this order."""

    remove: tuple[str, ...]
    compress: tuple[str, ...]
    rename_to: str


def plan_rotation(log: str, rotated: Iterable[str], policy: LogRotatePolicy, now: int) -> Rotation:
    """The rotation of one log. `rotated` are all previously rotated files, whatever their suffix."""
    in_use, unused = filter_unused_logs(rotated)
    in_use.sort()
    # The newly rotated log and the new log count too.
    excess = max(0, len(in_use) - max(0, policy.max_files - 2))
    compress = tuple(file for file in in_use[excess:] if not file.endswith(COMPRESSED))
    return Rotation((*unused, *in_use[:excess]), compress, f"{log}.{_timestamp(now)}")


def filter_unused_logs(rotated: Iterable[str]) -> tuple[list[str], list[str]]:
    """The files in use, and leftovers of earlier rotations: temporary files and originals of compressed files."""
    files = list(rotated)
    in_use = [
        file
        for file in files
        if not file.endswith(TEMPORARY) and (file.endswith(COMPRESSED) or file + COMPRESSED not in files)
    ]
    return in_use, [file for file in files if file not in in_use]


def get_all_logs(log: str, rotated: Iterable[str]) -> list[str]:
    """All readable files of a log, oldest first."""
    return [*sorted(filter_unused_logs(rotated)[0]), log]


def _timestamp(now: int) -> str:
    """The time as 20060102-150405."""
    date, _, time = format_time(now).removesuffix("Z").partition("T")
    return f"{date.replace('-', '')}-{time.replace(':', '')}"


class LogFiles(Protocol):
    """The log files of a node, by path."""

    def size(self, log: str) -> int: ...

    def rotated(self, log: str) -> list[str]:
        """The files named after this log with a dot and a suffix."""
        ...

    def remove(self, file: str) -> None: ...
    def compress(self, file: str) -> None: ...
    def rename(self, file: str, new: str) -> None: ...


class ContainerLogManager:
    def __init__(self, clock: LoopClock, runtime: Runtime, files: LogFiles, policy: LogRotatePolicy) -> None:
        self._clock = clock
        self._runtime = runtime
        self._files = files
        self._policy = policy

    async def run(self) -> None:
        if self._policy.max_size < 0:
            return
        await act_every(self._clock, "log rotation", self._policy.monitoring_period, self.rotate_logs)

    async def rotate_logs(self) -> bool:
        """Rotate logs of running containers only: a dead container writes no more, and rotation would leave its log
        empty.

        Returns whether a log was rotated or the next round must retry.
        """
        try:
            containers = await self._runtime.list_containers()
        except RuntimeCallError:
            return True
        full = [
            log
            for info in containers
            if info.state == "running" and info.log_path
            if self._files.size(log := log_path(info)) >= self._policy.max_size
        ]
        for log in full:
            self._rotate(log)
        return bool(full)

    def _rotate(self, log: str) -> None:
        files = self._files
        rotation = plan_rotation(log, files.rotated(log), self._policy, self._clock.now())
        for file in rotation.remove:
            files.remove(file)
        for file in rotation.compress:
            files.compress(file)
        files.rename(log, rotation.rename_to)
