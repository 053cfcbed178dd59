"""The API server as a source when it is the in-memory cluster: list, then watch, each change a little later.

Mirrors: pkg/kubelet/config/apiserver.go newSourceApiserverFromLW (field selector spec.nodeName)
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.pod import Pod
from kubesim.clock import LoopClock
from kubesim.cluster.store import Store
from kubesim.cluster.watches import WatchEvent
from kubesim.sources.config import ConfigStream

SOURCE = "api"


class ClusterSource:
    """The pods of one node. `latency` is the time between a write and the kubelet hearing of it."""

    def __init__(self, clock: LoopClock, store: Store, config: ConfigStream, node_name: str, latency: int) -> None:
        self._clock = clock
        self._store = store
        self._config = config
        self._node_name = node_name
        self._latency = latency
        self._stop: Callable[[], None] | None = None

    def start(self) -> None:
        self._stop = self._store.watch("Pod", self._changed)
        pods = [pod for pod in self._store.list("Pod") if isinstance(pod, Pod) and self._is_ours(pod)]
        self._config.snapshot(SOURCE, pods)

    def stop(self) -> None:
        if self._stop is not None:
            self._stop()
            self._stop = None

    def _is_ours(self, pod: Pod) -> bool:
        return pod.spec.node_name == self._node_name

    def _changed(self, event: WatchEvent) -> None:
        pod = event.object
        if isinstance(pod, Pod) and self._is_ours(pod):
            self._clock.call_at(self._clock.now() + self._latency, self._deliver, event.type, pod)

    def _deliver(self, type: str, pod: Pod) -> None:
        if self._stop is None:
            return
        if type == "DELETED":
            self._config.remove(SOURCE, pod.metadata.namespace, pod.metadata.name)
        else:
            self._config.upsert(SOURCE, pod)
