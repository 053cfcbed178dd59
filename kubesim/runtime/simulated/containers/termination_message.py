"""The termination message of a container: the end of its file or of its log.

Mirrors: pkg/kubelet/kuberuntime/kuberuntime_container.go getTerminationMessage, readLastStringFromContainerLogs
"""

from __future__ import annotations

from kubesim.api.pod import Container
from kubesim.shell import Log

MAX_TERMINATION_MESSAGE = 4096
MAX_LOG_MESSAGE = 2048
MAX_LOG_LINES = 80


def termination_message(container: Container, written: str, exit_code: int, log: Log) -> str:
    """The file's content. If it is empty and the policy allows it, the log of a failed container."""
    if written and container.termination_message_path:
        return _last(written, MAX_TERMINATION_MESSAGE)
    if exit_code == 0 or container.termination_message_policy != "FallbackToLogsOnError":
        return ""
    return _last("".join(line.text + "\n" for line in log.lines[-MAX_LOG_LINES:]), MAX_LOG_MESSAGE)


def _last(text: str, limit: int) -> str:
    data = text.encode()
    return text if len(data) <= limit else data[-limit:].decode(errors="replace")
