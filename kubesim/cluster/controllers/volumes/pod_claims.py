"""Index of the pods that use a claim.

Mirrors: pkg/controller/volume/common/common.go PodPVCIndexFunc
"""

from __future__ import annotations

from collections import defaultdict

from kubesim.api.pod import Pod
from kubesim.cluster.controllers.volumes.storage_fields import claims_of
from kubesim.cluster.store.store import Key, Store
from kubesim.cluster.store.watches import WatchEvent


class PodClaimIndex:
    """An index like an informer's: it follows the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pods: defaultdict[Key, dict[str, None]] = defaultdict(dict)  # claim -> names of pods in its namespace
        for pod in store.list("Pod"):
            if isinstance(pod, Pod) and pod.spec.volumes:
                self._add(pod)
        store.watch("Pod", self._changed)

    def _changed(self, change: WatchEvent) -> None:
        pod = change.object
        if not isinstance(pod, Pod) or not pod.spec.volumes or change.type == "MODIFIED":
            return  # the volumes of a pod are immutable
        if change.type == "ADDED":
            self._add(pod)
            return
        for name in claims_of(pod):
            self._pods[pod.metadata.namespace, name].pop(pod.metadata.name, None)

    def _add(self, pod: Pod) -> None:
        for name in claims_of(pod):
            self._pods[pod.metadata.namespace, name][pod.metadata.name] = None

    def pods_of(self, namespace: str, claim: str) -> list[Pod]:
        found = (self._store.find("Pod", namespace, name) for name in self._pods.get((namespace, claim), ()))
        return [pod for pod in found if isinstance(pod, Pod)]
