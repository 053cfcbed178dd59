"""An evicted pod gets at most the grace period of its eviction.

A hard threshold evicts without a grace period (1 s since v1.31), because the node needs the resource now. A soft
threshold gives at most evictionMaxPodGracePeriod. The runtime gets at least 2 s.

Kubelets before v1.31 violate it: a grace period of 0 counts as not set, so a pod of a hard eviction keeps the one of
its spec (kubernetes/kubernetes#115819, #124405).
"""

from __future__ import annotations

from kubesim.runtime.kuberuntime.decide.termination import MINIMUM_GRACE_PERIOD_S
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.strict.observer import RuleObserver, Scene
from kubesim.trace.records import CriCall, EventRecorded, Record


class Evictions(RuleObserver):
    """Remembers the pods that are evicted."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._evicted: set[str] = set()

    def recorded(self, record: Record) -> str:
        if isinstance(record, EventRecorded) and record.reason == "Evicted":
            self._evicted.add(record.pod)
        elif isinstance(record, CriCall) and record.call == "RunPodSandbox":
            self._evicted.discard(record.pod)  # another pod with this name
        elif isinstance(record, CriCall) and record.call == "StopContainer" and record.pod in self._evicted:
            return self._stopping(record)
        return ""

    def _stopping(self, record: CriCall) -> str:
        most, given = self.scene.nodes[record.node].eviction_grace_s, record.args["timeout"]
        if given <= max(most, MINIMUM_GRACE_PERIOD_S):
            return ""
        return f"container {record.container} got {given}s to stop, but its eviction allows {most}s"


INVARIANT = Invariant("evictions", observer=Evictions)
