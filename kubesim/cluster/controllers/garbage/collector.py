"""The garbage collector: deletes objects whose owners are all gone, and handles foreground deletion and orphaning.

It starts with the first object that has an owner or a finalizer, and watches every kind but Event.

Mirrors: pkg/controller/garbagecollector/garbagecollector.go attemptToDeleteItem, attemptToOrphanWorker;
graph_builder.go processGraphChanges, processTransitions
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject, ObjectMeta, OwnerReference
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.garbage.decisions import (
    Policy,
    classify_references,
    decide,
    is_deleting_dependents,
)
from kubesim.cluster.controllers.garbage.graph import DependencyGraph
from kubesim.cluster.registry.deletion import FOREGROUND, ORPHAN, DeleteOptions
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.watches import WatchEvent

_NOBODY = ObjectMeta()
ATTEMPT_TO_DELETE, ATTEMPT_TO_ORPHAN = "delete", "orphan"


class GarbageCollector(Controller):
    """A queue key is an attempt and the uid of an object."""

    name = "garbage-collector-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._graph = DependencyGraph(self.store)
        for kind in self.store.kinds():
            if kind != "Event":
                for obj in self.store.list(kind):
                    self._observe(obj, _NOBODY)
        self.store.watch_all(self._changed)

    # -- what changes -------------------------------------------------------------------------------------------

    def _changed(self, change: WatchEvent) -> None:
        obj, old = change.object, change.previous
        if obj.kind == "Event":
            return
        if change.type == "DELETED":
            self._removed(obj)
        else:
            self._observe(obj, _NOBODY if old is None else old.metadata)

    def _observe(self, obj: ApiObject, before: ObjectMeta) -> None:
        metadata = obj.metadata
        if metadata.owner_references != before.owner_references:
            self._references_changed(obj, before)
        if metadata.deletion_timestamp is None or not metadata.finalizers:
            return
        for finalizer, attempt in ((ORPHAN, ATTEMPT_TO_ORPHAN), (FOREGROUND, ATTEMPT_TO_DELETE)):
            had = before.deletion_timestamp is not None and finalizer in before.finalizers
            if finalizer in metadata.finalizers and not had:
                self._graph.hold(obj)
                if attempt == ATTEMPT_TO_DELETE:
                    for dependent in self._graph.dependents(metadata.uid):
                        self._attempt(ATTEMPT_TO_DELETE, dependent)
                self._attempt(attempt, obj)
                return

    def _references_changed(self, obj: ApiObject, before: ObjectMeta) -> None:
        old = {reference.uid: reference for reference in before.owner_references}
        new = {reference.uid: reference for reference in obj.metadata.owner_references}
        for uid, reference in old.items():
            if uid not in new:
                self._graph.discard(obj, reference)
            if reference.block_owner_deletion and (uid not in new or not new[uid].block_owner_deletion):
                self._attempt_waiting_owner(uid)
        for uid, reference in new.items():
            if uid not in old:
                self._graph.add(obj, reference)
                self._check_new_reference(obj, reference)

    def _check_new_reference(self, obj: ApiObject, reference: OwnerReference) -> None:
        if self._graph.owner(obj, reference) is not None:
            return
        if resource_of(reference.kind).namespaced and self._graph.is_elsewhere(obj, reference):
            metadata = obj.metadata
            named = f"namespace: {metadata.namespace}, name: {reference.name}, uid: {reference.uid}"
            shown = f"[{reference.api_version}/{reference.kind}, {named}]"
            message = f'ownerRef {shown} does not exist in namespace "{metadata.namespace}"'
            self.client.event(obj, "Warning", "OwnerRefInvalidNamespace", message)
        self._attempt(ATTEMPT_TO_DELETE, obj)

    def _removed(self, obj: ApiObject) -> None:
        for dependent in self._graph.remove(obj):
            self._attempt(ATTEMPT_TO_DELETE, dependent)
        for reference in obj.metadata.owner_references:
            self._attempt_waiting_owner(reference.uid)

    def _attempt_waiting_owner(self, uid: str) -> None:
        owner = self._graph.find(uid)
        if owner is not None and is_deleting_dependents(owner):
            self._attempt(ATTEMPT_TO_DELETE, owner)

    def _attempt(self, attempt: str, obj: ApiObject) -> None:
        self.queue.add((attempt, obj.metadata.uid))

    # -- what is done -------------------------------------------------------------------------------------------

    def sync(self, namespace: str, name: str) -> None:
        attempt, uid = namespace, name
        obj = self._graph.find(uid)
        if obj is None:
            return
        if attempt == ATTEMPT_TO_ORPHAN:
            self._orphan(obj)
        else:
            self._attempt_to_delete(obj)

    def _attempt_to_delete(self, obj: ApiObject) -> None:
        references = classify_references(obj, self._graph.owner)
        if self._is_misplaced(obj, references.dangling):
            return
        action = decide(obj, references, self._graph.dependents(obj.metadata.uid))
        if action.finished:
            self._remove_finalizer(obj, FOREGROUND, "nothing that blocks its deletion depends on it any more")
        for dependent in action.visit:
            self._attempt(ATTEMPT_TO_DELETE, dependent)
        if action.release:
            self._release(obj, set(action.release), "these owners are gone, but another one is there")
        if action.unblock:
            owners = tuple(o.changed(block_owner_deletion=False) for o in obj.metadata.owner_references)
            obj = self.client.set_owners(obj, owners, "its owner and its dependents wait for each other")
        if action.delete is not None:
            self._delete(obj, action.delete, bool(references.waiting))

    def _is_misplaced(self, obj: ApiObject, dangling: tuple[OwnerReference, ...]) -> bool:
        """Whether a cluster-scoped object names a namespaced owner, which is invalid and ignored."""
        return not obj.metadata.namespace and any(resource_of(o.kind).namespaced for o in dangling)

    def _delete(self, obj: ApiObject, policy: Policy, owner_waits: bool) -> None:
        owner = obj.metadata.owner_references[0]
        state = "waits for its dependents to be deleted" if owner_waits else "is gone"
        why = f"its owner, {owner.kind} {owner.name}, {state}"
        options = DeleteOptions(uid=obj.metadata.uid, propagation_policy=policy)
        self.client.delete(obj, why, options)

    def _orphan(self, owner: ApiObject) -> None:
        metadata = owner.metadata
        if metadata.deletion_timestamp is None or ORPHAN not in metadata.finalizers:
            return
        why = f"its owner, {owner.kind} {metadata.name}, is deleted without its dependents"
        for dependent in self._graph.dependents(metadata.uid):
            self._release(dependent, {metadata.uid}, why)
        self._remove_finalizer(owner, ORPHAN, "its dependents have been released")

    def _release(self, obj: ApiObject, uids: set[str], why: str) -> None:
        kept = tuple(o for o in obj.metadata.owner_references if o.uid not in uids)
        self.client.set_owners(obj, kept, why)

    def _remove_finalizer(self, obj: ApiObject, finalizer: str, why: str) -> None:
        kept = tuple(name for name in obj.metadata.finalizers if name != finalizer)
        self.client.patch(obj, obj.changed(metadata=obj.metadata.changed(finalizers=kept)), why)
