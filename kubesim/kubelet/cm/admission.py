"""Why the container manager does not admit a pod.

Mirrors: pkg/kubelet/cm/admission/errors.go
"""

from __future__ import annotations

from kubesim.errors import KubesimError

UNEXPECTED = "UnexpectedAdmissionError"
EMPTY_POD_SHARED_POOL = "EmptyPodSharedPoolError"


class AllocationError(KubesimError):
    """A resource cannot be allocated. `type` is the reason of a refusal that upstream has a name for."""

    def __init__(self, message: str, type: str = "") -> None:
        super().__init__(message)
        self.type = type


def pod_admit_result(error: AllocationError) -> tuple[str, str]:
    """The reason and the message of the refusal."""
    if error.type:
        return error.type, str(error)
    return UNEXPECTED, f"Allocate failed due to {error}, which is unexpected"
