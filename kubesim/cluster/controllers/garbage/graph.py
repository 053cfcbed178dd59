"""`DependencyGraph`: the dependents of each object, across all kinds.

Mirrors: pkg/controller/garbagecollector/graph_builder.go, the part that the store does not provide
"""

from __future__ import annotations

from collections import defaultdict

from kubesim.api.meta import ApiObject, OwnerReference
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.store import Store

ObjectKey = tuple[str, str, str]  # kind, namespace, name


class DependencyGraph:
    """Dependents by owner uid. It holds only objects that have owners or wait for their dependents."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys: dict[str, ObjectKey] = {}  # by uid
        # uids of dependents by uid of the owner
        self._dependents: defaultdict[str, dict[str, None]] = defaultdict(dict)

    def hold(self, obj: ApiObject) -> None:
        self._keys[obj.metadata.uid] = (obj.kind, obj.metadata.namespace, obj.metadata.name)

    def add(self, obj: ApiObject, reference: OwnerReference) -> None:
        self.hold(obj)
        self._dependents[reference.uid][obj.metadata.uid] = None

    def discard(self, obj: ApiObject, reference: OwnerReference) -> None:
        dependents = self._dependents.get(reference.uid)
        if dependents is not None:
            dependents.pop(obj.metadata.uid, None)
            if not dependents:
                del self._dependents[reference.uid]

    def remove(self, obj: ApiObject) -> list[ApiObject]:
        """Remove an object; returns its dependents."""
        for reference in obj.metadata.owner_references:
            self.discard(obj, reference)
        left = self.dependents(obj.metadata.uid)
        self._keys.pop(obj.metadata.uid, None)
        return left

    def find(self, uid: str) -> ApiObject | None:
        """The object, if it is tracked and still exists."""
        key = self._keys.get(uid)
        found = None if key is None else self._store.find(*key)
        return found if found is not None and found.metadata.uid == uid else None

    def dependents(self, uid: str) -> list[ApiObject]:
        """The dependents in order of creation."""
        found = (self.find(dependent) for dependent in self._dependents.get(uid, ()))
        return [obj for obj in found if obj is not None]

    def owner(self, obj: ApiObject, reference: OwnerReference) -> ApiObject | None:
        """The object that a reference names, in the same namespace or cluster-scoped."""
        namespace = obj.metadata.namespace if resource_of(reference.kind).namespaced else ""
        found = self._store.find(reference.kind, namespace, reference.name)
        if found is None and namespace:  # undeclared kinds may be cluster-scoped
            found = self._store.find(reference.kind, "", reference.name)
        return found if found is not None and found.metadata.uid == reference.uid else None

    def is_elsewhere(self, obj: ApiObject, reference: OwnerReference) -> bool:
        """Whether the owner exists in another namespace, which makes the reference invalid."""
        others = self._store.list(reference.kind)
        return any(o.metadata.uid == reference.uid and o.metadata.namespace != obj.metadata.namespace for o in others)
