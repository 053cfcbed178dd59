"""Cache of container start failures; the status shows them as the waiting reason.

Mirrors: pkg/kubelet/reason_cache.go (an LRU of 1000 entries, so a big node may forget)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from kubesim.api.pod import Pod
from kubesim.runtime.kuberuntime.results import PodSyncResult

MAX_ENTRIES = 1000


class ReasonCache:
    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[str, str], tuple[str, str]] = OrderedDict()

    def update(self, uid: str, result: PodSyncResult) -> None:
        for outcome in result.results:
            if outcome.action != "StartContainer":
                continue
            key = (uid, outcome.target)
            if not outcome.error:
                self._entries.pop(key, None)
                continue
            self._entries[key] = (outcome.error, outcome.message)
            self._entries.move_to_end(key)
            if len(self._entries) > MAX_ENTRIES:
                self._entries.popitem(last=False)

    def of(self, pod: Pod) -> Mapping[str, tuple[str, str]]:
        """The failures of a pod's containers, by container name."""
        if not self._entries:
            return {}
        found = {}
        uid = pod.metadata.uid
        for containers in (pod.spec.init_containers, pod.spec.containers, pod.spec.ephemeral_containers):
            for container in containers:
                key = (uid, container.name)
                if key in self._entries:
                    self._entries.move_to_end(key)
                    found[container.name] = self._entries[key]
        return found
