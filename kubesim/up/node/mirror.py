"""The store of simulated nodes: a copy of the pods, nodes and referenced objects of their API server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.clock.randomness import Stream
from kubesim.clock.real_clock import RealClock
from kubesim.cluster.remote.transport import Transport
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store
from kubesim.sources.reflector.list_watch import ListWatch, Watched

# Kinds that kubelets cache besides pods and their own node.
KINDS = (
    "ConfigMap",
    "Secret",
    "ServiceAccount",
    "Service",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "RuntimeClass",
)
Name = tuple[str, str]


class Copies:
    """A `CollectionListener` that keeps the objects of one kind in a store."""

    def __init__(self, store: Store, kind: str) -> None:
        self._store = store
        self._kind = kind
        self._known: set[Name] = set()

    def replaced(self, objects: Iterable[ApiObject]) -> None:
        found = {(obj.metadata.namespace, obj.metadata.name): obj for obj in objects}
        for name in self._known - found.keys():
            self._lose(name)
        for obj in found.values():
            self.changed(obj)

    def changed(self, obj: ApiObject) -> None:
        self._known.add((obj.metadata.namespace, obj.metadata.name))
        put(self._store, obj)

    def removed(self, obj: ApiObject) -> None:
        self._lose((obj.metadata.namespace, obj.metadata.name))

    def _lose(self, name: Name) -> None:
        self._known.discard(name)
        if self._store.find(self._kind, *name) is not None:
            self._store.remove(self._kind, *name)

    async def room(self) -> None:
        """Always ready: a store accepts every change immediately."""


def put(store: Store, obj: ApiObject) -> None:
    """Store an object, unless it is unchanged. Its resource version is that of another server, so nothing depends on
    it."""
    known = store.find(obj.kind, obj.metadata.namespace, obj.metadata.name)
    if known is None or _unversioned(known) != _unversioned(obj):
        store.put(obj)


def _unversioned(obj: ApiObject) -> ApiObject:
    return obj.changed(metadata=obj.metadata.changed(resource_version=""))


class PodCopies(Copies):
    """Implements `PodReceiver` for the pods of one node. `listed` is called after the first list."""

    def __init__(self, store: Store, updates: Sized, listed: Callable[[], None]) -> None:
        super().__init__(store, "Pod")
        self.updates = updates
        self._listed: Callable[[], None] | None = listed

    def snapshot(self, source: str, pods: Iterable[Pod]) -> None:
        self.replaced(pods)
        if self._listed is not None:
            listed, self._listed = self._listed, None
            listed()

    def upsert(self, source: str, pod: Pod) -> None:
        known = self._store.find("Pod", pod.metadata.namespace, pod.metadata.name)
        if known is not None and known.metadata.uid != pod.metadata.uid:
            self.removed(known)
        self.changed(pod)

    def remove(self, source: str, namespace: str, name: str) -> None:
        self._lose((namespace, name))


def follow(
    kind: str, clock: RealClock, transport: Transport, chance: Stream, store: Store, report: Callable[[str], None],
    selectors: dict[str, str] | None = None,
) -> ListWatch[ApiObject]:  # fmt: skip
    """Follow all objects of a kind, or a selection."""
    resource = RESOURCES[kind]
    root = f"/apis/{resource.group}/v1" if resource.group else "/api/v1"
    watched = Watched(f"{root}/{resource.plural}", resource.model, kind, resource.api_version, selectors)
    return ListWatch(clock, transport, chance, watched, Copies(store, kind), report)
