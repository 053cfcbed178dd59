"""Why a plugin refuses a pod, on one node or on all.

Mirrors: kube-scheduler/framework/interface.go Status
"""

from __future__ import annotations

from kubesim.errors import KubesimError
from kubesim.values import value_object


@value_object
class Status:
    """A refusal. `unresolvable`: the pod would still not fit if other pods were deleted."""

    plugin: str
    reasons: tuple[str, ...]
    unresolvable: bool = False

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)


class CycleError(KubesimError):
    """Something other than a refusal: the attempt failed and is created again after a back-off."""
