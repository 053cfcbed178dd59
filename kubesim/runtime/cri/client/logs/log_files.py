"""Log files of real containers: the kubelet rotates them, and removes them with their containers and pods.

Mirrors: pkg/kubelet/logs/container_log_manager.go; kuberuntime_container.go removeContainerLog; kuberuntime_gc.go
evictPodLogsDirectories
"""

from __future__ import annotations

import glob
import gzip
import os
import shutil
from collections.abc import Callable

from kubesim.api.pod import Pod
from kubesim.runtime.cri.client.files.real_files import remove_tree
from kubesim.runtime.kuberuntime.logs import LogDirectory
from kubesim.runtime.kuberuntime.naming import POD_LOGS_ROOT, container_log_path, container_logs_directory


class RealLogFiles:
    """Implements `LogFiles`; paths are the kubelet's, below /var/log/pods. `reopen` makes the runtime open a new file
    where one was renamed."""

    def __init__(self, logs: str, reopen: Callable[[str], None]) -> None:
        self._logs = logs
        self._reopen = reopen

    def _real(self, path: str) -> str:
        return f"{self._logs}{path.removeprefix(POD_LOGS_ROOT)}"

    def size(self, log: str) -> int:
        try:
            return os.stat(self._real(log)).st_size
        except OSError:
            return 0

    def rotated(self, log: str) -> list[str]:
        real = self._real(log)
        return [log + path.removeprefix(real) for path in sorted(glob.glob(f"{glob.escape(real)}.*"))]

    def remove(self, file: str) -> None:
        if os.path.exists(self._real(file)):
            os.unlink(self._real(file))

    def compress(self, file: str) -> None:
        real = self._real(file)
        with open(real, "rb") as plain, gzip.open(f"{real}.gz.tmp", "wb") as packed:
            shutil.copyfileobj(plain, packed)
        os.rename(f"{real}.gz.tmp", f"{real}.gz")
        os.unlink(real)

    def rename(self, file: str, new: str) -> None:
        os.rename(self._real(file), self._real(new))
        self._reopen(file)


class RealLogDirectory(LogDirectory):
    """Log directories of pods on this machine."""

    def __init__(self, logs: str) -> None:
        super().__init__()
        self._logs = logs
        os.makedirs(logs, mode=0o755, exist_ok=True)

    def next_attempt(self, pod: Pod, container: str) -> int:
        """By the names of the files, so that a restart count survives everything else."""
        directory = container_logs_directory(pod, container, self._logs)
        names = os.listdir(directory) if os.path.isdir(directory) else []
        attempts = [int(name.partition(".")[0]) for name in names if name.partition(".")[0].isdigit()]
        return max(attempts) + 1 if attempts else 0

    def removed(self, uid: str, container: str, attempt: int) -> None:
        super().removed(uid, container, attempt)
        for directory in self._directories(uid):
            log = f"{directory}/{container_log_path(container, attempt)}"
            for path in (log, *glob.glob(f"{glob.escape(log)}.*")):
                if os.path.exists(path):
                    os.unlink(path)

    def remove_pod(self, uid: str) -> None:
        super().remove_pod(uid)
        for directory in self._directories(uid):
            remove_tree(directory)

    def pods(self) -> tuple[str, ...]:
        found = (name.rpartition("_")[2] for name in os.listdir(self._logs))
        return tuple(dict.fromkeys((*super().pods(), *found)))

    def _directories(self, uid: str) -> list[str]:
        return [f"{self._logs}/{name}" for name in os.listdir(self._logs) if name.endswith(f"_{uid}")]
