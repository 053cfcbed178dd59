"""The claims that this controller made in the last hour, which count as existing even if they have been deleted.

Upstream's cache covers claims that its informer has not seen yet. It also keeps the controller from making a
claim again that it has just deleted, because the pod is done.

Mirrors: client-go tools/cache/mutation_cache.go ByIndex, as pkg/controller/resourceclaim/controller.go uses it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.timestamps import MINUTE
from kubesim.api.workloads.resource_claims import POD_CLAIM_NAME
from kubesim.cluster.controllers.resourceclaim.decisions import owning_pod

TTL = 60 * MINUTE
SIZE = 100


class GeneratedClaims:
    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._made: list[tuple[int, ApiObject]] = []  # with the moment at which it is forgotten, oldest first

    def add(self, claim: ApiObject) -> None:
        self._made = [*self._made, (self._now() + TTL, claim)][-SIZE:]

    def of(self, pod: Pod, name: str, stored: Sequence[ApiObject]) -> ApiObject | None:
        """The claim that was made for this claim of the pod: one that is stored, or one that was."""
        remembered = (claim for expires, claim in self._made if expires > self._now())
        for claim in (*stored, *(claim for claim in remembered if owning_pod(claim)[1] == pod.metadata.uid)):
            if claim.metadata.annotations.get(POD_CLAIM_NAME) == name:
                return claim
        return None
