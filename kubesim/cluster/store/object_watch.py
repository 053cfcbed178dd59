"""Watches of single objects, as a kubelet has for the ConfigMaps and Secrets of its pods.

`ObjectWatcher` is the interface; `MemoryObjectWatcher` implements it for the in-memory cluster. It lists the object,
then delivers every change with a delay. While the connection is cut nothing arrives; soon after reconnecting the object
is listed again.

Mirrors: client-go tools/cache reflector.go, as pkg/kubelet/util/manager/watch_based_manager.go uses it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kubesim.api.meta import ApiObject
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import LoopClock
from kubesim.cluster.connection import ApiConnection
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent
from kubesim.values import part

RECONNECT = 1 * SECOND
LIST_LATENCY = 2 * MILLISECOND
WATCH_LATENCY = 5 * MILLISECOND

ObjectKey = tuple[str, str, str]  # kind, namespace, name
Changed = Callable[[ApiObject | None], None]  # None: the object does not exist


class ObjectWatcher(Protocol):
    def watch(self, key: ObjectKey, changed: Changed) -> Callable[[], None]:
        """Report the object once it has been listed, and after every change; call the result to stop."""
        ...


class FoundObjects:
    """Looks up objects once and immediately, for an agent without an API server."""

    def __init__(self, find: Callable[[str, str, str], ApiObject | None]) -> None:
        self._find = find

    def watch(self, key: ObjectKey, changed: Changed) -> Callable[[], None]:
        changed(self._find(*key))
        return lambda: None


@part
class _Watched:
    """One watch of one object."""

    key: ObjectKey
    changed: Changed | None  # None: no listener is left
    listed: bool = False


class MemoryObjectWatcher:
    """The watches of one agent, which calls `stop`."""

    def __init__(self, clock: LoopClock, store: Store, connection: ApiConnection | None = None) -> None:
        self._clock = clock
        self._store = store
        self._connection = connection or ApiConnection()
        self._watched: dict[ObjectKey, _Watched] = {}
        self._stops: dict[str, Callable[[], None]] = {}  # kind -> one listener for all its objects
        self._stop_listening = self._connection.listen(self._connection_changed)

    def watch(self, key: ObjectKey, changed: Changed) -> Callable[[], None]:
        if key[0] not in self._stops:
            self._stops[key[0]] = self._store.watch(key[0], self._reported)
        watched = self._watched[key] = _Watched(key, changed)
        self._list_later(watched, LIST_LATENCY)

        def end() -> None:
            watched.changed = None
            if self._watched.get(key) is watched:
                del self._watched[key]

        return end

    def stop(self) -> None:
        self._stop_listening()
        for stop in self._stops.values():
            stop()
        for watched in self._watched.values():
            watched.changed = None

    def _list_later(self, watched: _Watched, delay: int) -> None:
        self._clock.call_at(self._clock.now() + delay, self._list, watched)

    def _list(self, watched: _Watched) -> None:
        """List the object. While disconnected, it waits for the connection."""
        if watched.changed is not None and self._connection.up:
            watched.listed = True
            watched.changed(self._store.find(*watched.key))

    def _reported(self, event: WatchEvent) -> None:
        metadata = event.object.metadata
        watched = self._watched.get((event.object.kind, metadata.namespace, metadata.name))
        if watched is not None and watched.listed:
            found = None if event.type == "DELETED" else event.object
            self._clock.call_at(self._clock.now() + WATCH_LATENCY, self._deliver, watched, found)

    def _deliver(self, watched: _Watched, found: ApiObject | None) -> None:
        if watched.changed is not None and watched.listed:
            watched.changed(found)

    def _connection_changed(self, up: bool) -> None:
        for watched in list(self._watched.values()):
            watched.listed = False
            if up:
                self._list_later(watched, RECONNECT)
