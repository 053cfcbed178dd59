"""Admission errors of the container manager.

Mirrors: pkg/kubelet/cm/admission/errors.go
"""

from __future__ import annotations

from kubesim.errors import KubesimError

UNEXPECTED = "UnexpectedAdmissionError"
EMPTY_POD_SHARED_POOL = "EmptyPodSharedPoolError"


class AllocationError(KubesimError):
    """A resource cannot be allocated. `type` is the rejection reason, if upstream has a name for it."""

    def __init__(self, message: str, type: str = "") -> None:
        super().__init__(message)
        self.type = type


def pod_admit_result(error: AllocationError) -> tuple[str, str]:
    """Reason and message of the rejection."""
    if error.type:
        return error.type, str(error)
    return UNEXPECTED, f"Allocate failed due to {error}, which is unexpected"
