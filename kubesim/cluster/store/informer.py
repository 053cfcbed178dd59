"""An informer: lists all objects of one kind, then watches them.

While the connection is cut, it keeps its objects. Shortly after reconnecting it lists again.

Mirrors: client-go informers SharedInformer: its lister and HasSynced
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kubesim.api.meta import ApiObject
from kubesim.clock import LoopClock
from kubesim.cluster.connection import ApiConnection
from kubesim.cluster.store.object_watch import LIST_LATENCY, RECONNECT, WATCH_LATENCY
from kubesim.cluster.store.store import Key, Store
from kubesim.cluster.store.watches import WatchEvent


class MemoryInformer:
    """An informer of one agent, which calls `start` and `stop`."""

    def __init__(
        self,
        clock: LoopClock,
        store: Store,
        kind: str,
        connection: ApiConnection | None = None,
        *,
        synced: bool = False,
    ) -> None:
        self.has_synced = synced
        self._clock = clock
        self._store = store
        self._kind = kind
        self._connection = connection or ApiConnection()
        self._objects: dict[Key, ApiObject] = {}
        self._watches = 0  # ignores pending changes of an earlier watch
        self._stops: list[Callable[[], None]] = []

    def list(self) -> Iterable[ApiObject]:
        return self._objects.values()

    def start(self) -> None:
        self._stops = [self._connection.listen(self._connection_changed), self._store.watch(self._kind, self._changed)]
        self._list_later(LIST_LATENCY)

    def stop(self) -> None:
        self._watches += 1
        for stop in self._stops:
            stop()

    def _list_later(self, delay: int) -> None:
        self._watches += 1
        self._clock.call_at(self._clock.now() + delay, self._list, self._watches)

    def _list(self, watch: int) -> None:
        if watch == self._watches and self._connection.up:
            self.has_synced = True
            found = self._store.list(self._kind)
            self._objects = {(each.metadata.namespace, each.metadata.name): each for each in found}

    def _changed(self, event: WatchEvent) -> None:
        if self._connection.up:
            self._clock.call_at(self._clock.now() + WATCH_LATENCY, self._deliver, self._watches, event)

    def _deliver(self, watch: int, event: WatchEvent) -> None:
        if watch != self._watches:
            return
        metadata = event.object.metadata
        if event.type == "DELETED":
            self._objects.pop((metadata.namespace, metadata.name), None)
        else:
            self._objects[metadata.namespace, metadata.name] = event.object

    def _connection_changed(self, up: bool) -> None:
        self._watches += 1
        if up:
            self._list_later(RECONNECT)
