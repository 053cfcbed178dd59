"""Decides how to handle an object, from its owner references and dependents.

Pure.

Mirrors: pkg/controller/garbagecollector/garbagecollector.go classifyReferences, attemptToDeleteItem,
processDeletingDependentsItem; graph.go blockingDependents
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from kubesim.api.meta import ApiObject, OwnerReference
from kubesim.cluster.registry.deletion import FOREGROUND, ORPHAN
from kubesim.values import value_object

FindOwner = Callable[[ApiObject, OwnerReference], ApiObject | None]
Policy = Literal["Background", "Foreground", "Orphan"]


@value_object
class References:
    """Owner references: `solid`: the owner exists. `dangling`: it does not. `waiting`: it is being deleted in the
    foreground.
    """

    solid: tuple[OwnerReference, ...] = ()
    dangling: tuple[OwnerReference, ...] = ()
    waiting: tuple[OwnerReference, ...] = ()


@value_object
class GarbageAction:
    """Steps for one object. `release`: owners to remove from its references. `delete`: how to delete it; with
    `unblock`, its references first stop blocking their owners. `finished`: it no longer waits for dependents. `visit`:
    dependents to process.
    """

    release: tuple[str, ...] = ()
    delete: Policy | None = None
    unblock: bool = False
    finished: bool = False
    visit: tuple[ApiObject, ...] = ()


LEAVE = GarbageAction()


def is_deleting_dependents(obj: ApiObject) -> bool:
    return obj.metadata.deletion_timestamp is not None and FOREGROUND in obj.metadata.finalizers


def classify_references(obj: ApiObject, find_owner: FindOwner) -> References:
    solid: list[OwnerReference] = []
    dangling: list[OwnerReference] = []
    waiting: list[OwnerReference] = []
    for reference in obj.metadata.owner_references:
        owner = find_owner(obj, reference)
        if owner is None:
            dangling.append(reference)
        else:
            (waiting if is_deleting_dependents(owner) else solid).append(reference)
    return References(tuple(solid), tuple(dangling), tuple(waiting))


def blocking_dependents(obj: ApiObject, dependents: Sequence[ApiObject]) -> list[ApiObject]:
    """Dependents whose reference has blockOwnerDeletion."""
    uid = obj.metadata.uid
    return [
        dependent
        for dependent in dependents
        if any(o.uid == uid and o.block_owner_deletion for o in dependent.metadata.owner_references)
    ]


def decide(obj: ApiObject, references: References, dependents: Sequence[ApiObject]) -> GarbageAction:
    if is_deleting_dependents(obj):
        blocking = blocking_dependents(obj, dependents)
        if not blocking:
            return GarbageAction(finished=True)
        return GarbageAction(visit=tuple(item for item in blocking if not is_deleting_dependents(item)))
    if obj.metadata.deletion_timestamp is not None or not obj.metadata.owner_references:
        return LEAVE
    if references.solid:
        return GarbageAction(release=tuple(o.uid for o in (*references.dangling, *references.waiting)))
    if references.waiting and dependents:
        # An owner waits for this object, which waits for its own dependents: there may be a cycle.
        unblock = any(is_deleting_dependents(item) for item in dependents)
        return GarbageAction(delete="Foreground", unblock=unblock)
    if ORPHAN in obj.metadata.finalizers:
        return GarbageAction(delete="Orphan")
    return GarbageAction(delete="Foreground" if FOREGROUND in obj.metadata.finalizers else "Background")
