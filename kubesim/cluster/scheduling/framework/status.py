"""Why a plugin rejects a pod, on one node or on all.

Mirrors: kube-scheduler/framework/interface.go Status
"""

from __future__ import annotations

from kubesim.errors import KubesimError
from kubesim.values import value_object


@value_object
class Status:
    """A rejection. `unresolvable`: deleting other pods would not help."""

    plugin: str
    reasons: tuple[str, ...]
    unresolvable: bool = False

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)


class CycleError(KubesimError):
    """An error other than a rejection. The attempt is retried after a back-off."""
