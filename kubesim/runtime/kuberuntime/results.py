"""Results of SyncPod or KillPod: one result per action, and their aggregated error.

Mirrors: pkg/kubelet/container/sync_result.go; the texts are Go's, because events and logs show them.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from kubesim.golang.text import quoted
from kubesim.values import mutable

SyncAction = Literal[
    "StartContainer",
    "KillContainer",
    "CreatePodSandbox",
    "KillPodSandbox",
    "ResizePodInPlace",
    "RemoveContainer",
    "SetupNetwork",
    "InitContainer",
]

RUN_CONTAINER_ERROR = "RunContainerError"
RUN_INIT_CONTAINER_ERROR = "RunInitContainerError"  # of dockertools
VERIFY_NON_ROOT_ERROR = "VerifyNonRootError"  # of dockertools
KILL_CONTAINER_ERROR = "KillContainerError"
CREATE_POD_SANDBOX_ERROR = "CreatePodSandboxError"
SETUP_NETWORK_ERROR = "SetupNetworkError"
KILL_POD_SANDBOX_ERROR = "KillPodSandboxError"
REMOVE_CONTAINER_ERROR = "RemoveContainerError"
RESIZE_POD_IN_PLACE_ERROR = "ResizePodInPlaceError"
CRASH_LOOP_BACK_OFF = "CrashLoopBackOff"
CREATE_CONTAINER_CONFIG_ERROR = "CreateContainerConfigError"
CREATE_CONTAINER_ERROR = "CreateContainerError"


@mutable
class SyncResult:
    """One action on one target; `error` is the short reason for statuses, `message` the long one."""

    action: SyncAction
    target: str
    error: str = ""
    message: str = ""
    retry_at: int | None = None  # end of a back-off error

    def fail(self, error: str, message: str, retry_at: int | None = None) -> None:
        self.error, self.message, self.retry_at = error, message, retry_at


@mutable
class PodSyncResult:
    results: list[SyncResult] = field(default_factory=list)
    sync_error: str = ""
    has_more_to_do: bool = False  # the sync did work that is not in the results

    def add(self, action: SyncAction, target: str) -> SyncResult:
        result = SyncResult(action, target)
        self.results.append(result)
        return result

    def error(self) -> str:
        """All errors in the format of Go's aggregate; empty without errors."""
        if not self.results and not self.sync_error:
            return ""
        errors = {f"failed to SyncPod: {self.sync_error}": None} if self.sync_error else {}
        for r in self.results:
            if r.error:
                errors[f"failed to {quoted(r.action)} for {quoted(r.target)} with {r.error}: {quoted(r.message)}"] = (
                    None
                )
        return f"[{', '.join(errors)}]" if len(errors) > 1 else "".join(errors)

    def backoff_expires_at(self) -> int | None:
        """The earliest end of a back-off among the errors (MinBackoffExpiration)."""
        earliest = None
        for r in self.results:
            if r.error and r.retry_at is not None and (earliest is None or r.retry_at < earliest):
                earliest = r.retry_at
        return earliest
