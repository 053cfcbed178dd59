"""The pod log directory: its paths, and the attempts of each container that have a log file.

A container without a runtime record continues its restart count from its log files, so the count survives the loss of
records.

Mirrors: pkg/kubelet/kuberuntime/kuberuntime_container.go calcRestartCountByLogDir
"""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.runtime.kuberuntime.labels import POD_NAME, POD_NAMESPACE
from kubesim.runtime.kuberuntime.naming import POD_LOGS_ROOT
from kubesim.runtime.protocol import ContainerInfo


class LogDirectory:
    """Log files by pod UID and container name; only the newest attempt number is stored."""

    def __init__(self) -> None:
        self._newest: dict[str, dict[str, int]] = {}

    def created(self, pod: Pod, container: str, attempt: int) -> None:
        newest = self._newest.setdefault(pod.metadata.uid, {})
        newest[container] = max(attempt, newest.get(container, 0))

    def next_attempt(self, pod: Pod, container: str) -> int:
        newest = self._newest.get(pod.metadata.uid, {}).get(container)
        return 0 if newest is None else newest + 1

    def removed(self, uid: str, container: str, attempt: int) -> None:
        """A container's log was removed with its record; older ones were removed earlier."""
        newest = self._newest.get(uid)
        if newest is not None and newest.get(container) == attempt:
            del newest[container]

    def remove_pod(self, uid: str) -> None:
        self._newest.pop(uid, None)

    def pods(self) -> tuple[str, ...]:
        return tuple(self._newest)


def log_path(info: ContainerInfo) -> str:
    """The log file of a container, from the fields that the runtime reports."""
    pod = f"{info.labels.get(POD_NAMESPACE, '')}_{info.labels.get(POD_NAME, '')}_{info.pod_uid}"
    return f"{POD_LOGS_ROOT}/{pod}/{info.log_path}"
