"""Owner references: which objects a controller owns, adopts and releases.

Mirrors: pkg/controller/controller_ref_manager.go ClaimObject; apimachinery/pkg/apis/meta/v1/controller_ref.go
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from kubesim.api.meta import ApiObject, OwnerReference
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.selectors import LabelSelector
from kubesim.cluster.store.store import Key, Store
from kubesim.cluster.store.watches import WatchEvent


def controller_of(obj: ApiObject) -> OwnerReference | None:
    """The owner reference of the object's controller; None if it has none."""
    return next((owner for owner in obj.metadata.owner_references if owner.controller), None)


def is_controlled_by(obj: ApiObject, owner: ApiObject) -> bool:
    reference = controller_of(obj)
    return reference is not None and reference.uid == owner.metadata.uid


def controller_reference(owner: ApiObject) -> OwnerReference:
    return OwnerReference(
        api_version=resource_of(owner.kind).api_version,
        kind=owner.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )


class OwnerIndex:
    """The objects of one kind by the uid of their controller; orphans by namespace.

    Like an informer's index it follows the store, so a sync reads only related objects. `only` filters the indexed
    objects.
    """

    def __init__(self, store: Store, kind: str, only: Callable[[ApiObject], bool] = lambda _: True) -> None:
        self._store = store
        self._kind = kind
        self._only = only
        self._owned: defaultdict[str, dict[Key, None]] = defaultdict(dict)
        for obj in filter(only, store.list(kind)):
            self._owned[_group(obj)][_key(obj)] = None
        store.watch(kind, self._changed)

    def _changed(self, change: WatchEvent) -> None:
        obj, old = change.object, change.previous
        is_in = change.type != "DELETED" and self._only(obj)
        if old is not None and (not is_in or _group(old) != _group(obj)):
            self._owned[_group(old)].pop(_key(old), None)
        if is_in:
            self._owned[_group(obj)][_key(obj)] = None

    def of(self, owner: ApiObject) -> list[ApiObject]:
        """The objects that this object controls, in order of creation."""
        return self._objects(owner.metadata.uid)

    def orphans(self, namespace: str) -> list[ApiObject]:
        """The objects of a namespace without a controller."""
        return self._objects(f"/{namespace}")

    def _objects(self, group: str) -> list[ApiObject]:
        found = (self._store.find(self._kind, *key) for key in self._owned.get(group, ()))
        return [obj for obj in found if obj is not None]


def _group(obj: ApiObject) -> str:
    owner = controller_of(obj)
    return f"/{obj.metadata.namespace}" if owner is None else owner.uid


def _key(obj: ApiObject) -> Key:
    return obj.metadata.namespace, obj.metadata.name


def claim(
    index: OwnerIndex,
    owner: ApiObject,
    selector: LabelSelector,
    set_owners: Callable[[ApiObject, tuple[OwnerReference, ...]], ApiObject],
    only: Callable[[ApiObject], bool] = lambda _: True,
) -> list[ApiObject]:
    """The objects that the owner controls, after it adopted matching orphans and released others.

    An owner being deleted adopts nothing. `set_owners` writes the owner references of an object. `only` filters the
    candidates.
    """
    claimed = []
    for obj in filter(only, index.of(owner)):
        if selector.matches(obj.metadata.labels):
            claimed.append(obj)
        elif owner.metadata.deletion_timestamp is None:
            others = tuple(o for o in obj.metadata.owner_references if o.uid != owner.metadata.uid)
            set_owners(obj, others)
    if owner.metadata.deletion_timestamp is None:
        for obj in filter(only, index.orphans(owner.metadata.namespace)):
            if obj.metadata.deletion_timestamp is None and selector.matches(obj.metadata.labels):
                claimed.append(set_owners(obj, (*obj.metadata.owner_references, controller_reference(owner))))
    return claimed
