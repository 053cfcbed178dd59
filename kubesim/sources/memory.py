"""The API server source of a simulated cluster: lists, then watches, with a delay per change.

While the connection is down it receives nothing. Shortly after the connection is back it lists again.

Mirrors: pkg/kubelet/config/apiserver.go newSourceApiserverFromLW (field selector spec.nodeName)
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.cluster.connection import ApiConnection
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent
from kubesim.sources.config import ConfigStream

SOURCE = "api"
RECONNECT = 1 * SECOND


class ClusterSource:
    """The pods of one node. `latency` is the delay between a write and its delivery to the kubelet."""

    def __init__(
        self,
        clock: LoopClock,
        store: Store,
        config: ConfigStream,
        node_name: str,
        latency: int,
        connection: ApiConnection | None = None,
    ) -> None:
        self._clock = clock
        self._store = store
        self._config = config
        self._node_name = node_name
        self._latency = latency
        self._connection = connection or ApiConnection()
        self._stop_listening: Callable[[], None] | None = None
        self._stop_watch: Callable[[], None] | None = None
        self._watches = 0  # number of the current watch; events of earlier ones are dropped

    def start(self) -> None:
        self._stop_listening = self._connection.listen(self._connection_changed)
        self._list_and_watch()

    def stop(self) -> None:
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None
        self._end_watch()

    def _connection_changed(self, up: bool) -> None:
        if up:
            self._clock.call_at(self._clock.now() + RECONNECT, self._list_and_watch)
        else:
            self._end_watch()

    def _list_and_watch(self) -> None:
        if self._stop_listening is None or self._stop_watch is not None or not self._connection.up:
            return
        self._watches += 1
        self._stop_watch = self._store.watch("Pod", self._changed, node=self._node_name)
        pods = [
            pod for pod in self._store.list("Pod") if isinstance(pod, Pod) and pod.spec.node_name == self._node_name
        ]
        self._config.snapshot(SOURCE, pods)

    def _end_watch(self) -> None:
        self._watches += 1
        if self._stop_watch is not None:
            self._stop_watch()
            self._stop_watch = None

    def _changed(self, event: WatchEvent) -> None:
        pod = event.object
        assert isinstance(pod, Pod)
        self._clock.call_at(self._clock.now() + self._latency, self._deliver, self._watches, event.type, pod)

    def _deliver(self, watch: int, type: str, pod: Pod) -> None:
        if watch != self._watches:
            return
        if type == "DELETED":
            self._config.remove(SOURCE, pod.metadata.namespace, pod.metadata.name)
        else:
            self._config.upsert(SOURCE, pod)
