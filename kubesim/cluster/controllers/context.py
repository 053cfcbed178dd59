"""State shared by the controllers and the scheduler of a cluster."""

from __future__ import annotations

from dataclasses import field

from kubesim.clock import LoopClock, Randomness
from kubesim.cluster.controllers.owners import OwnerIndex
from kubesim.cluster.controllers.pods import is_pod_unfinished
from kubesim.cluster.controllers.volumes.pod_claims import PodClaimIndex
from kubesim.cluster.store.store import Store
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.trace import Recorder
from kubesim.values import part


@part
class ControllerContext:
    """One per cluster."""

    clock: LoopClock
    store: Store
    recorder: Recorder
    randomness: Randomness
    gates: FeatureGates = DEFAULT_GATES
    _indexes: dict[str, OwnerIndex] = field(default_factory=dict)
    _unfinished: OwnerIndex | None = None
    _pods_by_claim: PodClaimIndex | None = None

    def owned(self, kind: str) -> OwnerIndex:
        """The index of objects of this kind by their controller, maintained from the first call on."""
        index = self._indexes.get(kind)
        if index is None:
            index = self._indexes[kind] = OwnerIndex(self.store, kind)
        return index

    def unfinished_pods(self) -> OwnerIndex:
        """The index of pods whose phase is not terminal, maintained from the first call on."""
        if self._unfinished is None:
            self._unfinished = OwnerIndex(self.store, "Pod", is_pod_unfinished)
        return self._unfinished

    def pods_by_claim(self) -> PodClaimIndex:
        """The index of pods by the claims they use, maintained from the first call on."""
        if self._pods_by_claim is None:
            self._pods_by_claim = PodClaimIndex(self.store)
        return self._pods_by_claim
