"""`Controller`, the base class of controllers, and the client with which they read and write.

A change of an object adds a key to the work queue. `sync` compares current and desired state and acts on the
difference. The trace records each write with its reason.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from kubesim.api.meta import ApiObject, OwnerReference
from kubesim.api.model import Model
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.owners import OwnerIndex, claim, controller_of
from kubesim.cluster.controllers.queue import KeyQueue
from kubesim.cluster.events.controller_events import ControllerEvents, subject
from kubesim.cluster.registry import registry
from kubesim.cluster.registry.deletion import DeleteOptions
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.selectors import LabelSelector, selector_from
from kubesim.cluster.store.store import Key
from kubesim.cluster.store.watches import WatchEvent
from kubesim.trace import Recorder
from kubesim.trace.records import ApiWrite


class Controller(ABC):
    """Base class of the cluster's controllers; active from creation."""

    name: ClassVar[str]  # the source component in its Events

    def __init__(self, context: ControllerContext) -> None:
        self.context = context
        self.clock, self.store = context.clock, context.store
        self.client = ControllerClient(context, self.name)
        self.queue = KeyQueue(context.clock, context.randomness.stream("controller", self.name), self._sync)

    @abstractmethod
    def sync(self, namespace: str, name: str) -> None:
        """Reconcile one object with its desired state."""

    def _sync(self, key: Key) -> None:
        self.sync(*key)

    def watch(self, kind: str) -> None:
        """Sync every object of this kind when it changes, and all existing ones now."""
        self.store.watch(kind, lambda change: self.enqueue(change.object))
        for obj in self.store.list(kind):
            self.enqueue(obj)

    def watch_owned(self, kind: str, owner_kind: str) -> None:
        """Sync the owner of an object of this kind when the object or its owner changes."""

        def changed(change: WatchEvent) -> None:
            for obj in (change.object, change.previous):
                self._enqueue_owner(obj, owner_kind)

        self.store.watch(kind, changed)

    def watch_orphans(self, kind: str, owner_kind: str, selector_of: Callable[[Any], Mapping[str, Any] | None]) -> None:
        """Sync the owners that may adopt an object of this kind, when it is created or its labels or owners change."""

        def changed(change: WatchEvent) -> None:
            metadata, old = change.object.metadata, change.previous
            if change.type == "DELETED" or controller_of(change.object) is not None:
                return
            known = old is not None and old.metadata.labels == metadata.labels
            if known and old is not None and old.metadata.owner_references == metadata.owner_references:
                return
            for owner in self.store.list(owner_kind, metadata.namespace):
                if selector_from(selector_of(owner)).matches(metadata.labels):
                    self.enqueue(owner)

        self.store.watch(kind, changed)

    def _enqueue_owner(self, obj: ApiObject | None, owner_kind: str) -> None:
        owner = None if obj is None else controller_of(obj)
        if obj is not None and owner is not None and owner.kind == owner_kind:
            self.queue.add((obj.metadata.namespace, owner.name))

    def enqueue(self, obj: ApiObject, after: int = 0) -> None:
        self.queue.add_after((obj.metadata.namespace, obj.metadata.name), after)


class ControllerClient:
    """Reads and writes on behalf of one controller. Errors are `ApiError`s."""

    def __init__(self, context: ControllerContext, name: str) -> None:
        self._store = context.store
        self._recorder = context.recorder
        self._name = name
        stream = context.randomness.stream("events", name)
        self.event = ControllerEvents(context.store, context.recorder, name, stream).event

    def create(self, obj: ApiObject, why: str) -> ApiObject:
        """Create an object; returns it with defaults, generated name and resource version."""
        target, metadata = Target(resource_of(obj.kind), obj.metadata.namespace), obj.metadata
        if not metadata.name:
            name = registry.generate_name(self._store, target, metadata.generate_name)
            obj = obj.changed(metadata=metadata.changed(name=name))
        self._record("create", target, obj, why)
        body = {**obj.to_json(), "kind": obj.kind, "apiVersion": target.resource.api_version}
        return registry.create(self._store, target, body)

    def update(self, obj: ApiObject, why: str) -> ApiObject:
        """PUT: replace the stored object, unless it has changed since it was read."""
        target = self._target(obj)
        self._record("update", target, obj, why)
        body = {**obj.to_json(), "kind": obj.kind, "apiVersion": target.resource.api_version}
        return registry.update(self._store, target, body)[0]

    def update_status(
        self, obj: ApiObject, status: Model, why: str = "", annotations: Mapping[str, str] | None = None
    ) -> ApiObject:
        """Write the status, and annotations if given; no write if nothing changes."""
        current = self._store.find(obj.kind, obj.metadata.namespace, obj.metadata.name)
        if current is None or current.metadata.uid != obj.metadata.uid:
            return obj
        new = current.changed(status=status)
        if annotations is not None:
            new = new.changed(metadata=current.metadata.changed(annotations=dict(annotations)))
        if new == current:
            return obj
        self._record("update", self._target(obj, "status"), obj, why, summary(status))
        return self._store.write(current, new)

    def patch(
        self,
        old: ApiObject,
        new: ApiObject,
        why: str,
        subresource: str = "",
        shown: Mapping[str, Any] | None = None,
        verb: str = "patch",
    ) -> ApiObject:
        """Write the new state of an object just read; no write if nothing changes."""
        if new == old:
            return old
        self._record(verb, self._target(old, subresource), old, why, shown)
        return self._store.write(old, new)

    def delete(self, obj: ApiObject, why: str, options: DeleteOptions | None = None) -> None:
        """Delete the object with this uid; a missing one is not an error."""
        current = self._store.find(obj.kind, obj.metadata.namespace, obj.metadata.name)
        if current is None or current.metadata.uid != obj.metadata.uid:
            return
        self._record("delete", self._target(obj), obj, why)
        registry.delete(self._store, self._target(obj), options or DeleteOptions(uid=obj.metadata.uid))

    def set_owners(self, obj: ApiObject, owners: tuple[OwnerReference, ...], why: str = "") -> ApiObject:
        adopted = len(owners) > len(obj.metadata.owner_references)
        reason = why or (
            "its labels match the selector, so it is adopted"
            if adopted
            else "its labels do not match the selector any more, so it is released"
        )
        return self.patch(obj, obj.changed(metadata=obj.metadata.changed(owner_references=owners)), reason)

    def claim(
        self,
        index: OwnerIndex,
        owner: ApiObject,
        selector: LabelSelector,
        only: Callable[[ApiObject], bool] = lambda _: True,
    ) -> list[ApiObject]:
        """The objects that the owner controls, after adoption and release. `only` filters the candidates."""
        return claim(index, owner, selector, self.set_owners, only)

    def _target(self, obj: ApiObject, subresource: str = "") -> Target:
        return Target(resource_of(obj.kind), obj.metadata.namespace, obj.metadata.name, subresource)

    def _record(
        self, verb: str, target: Target, about: ApiObject, why: str, shown: Mapping[str, Any] | None = None
    ) -> None:
        """Make this write the cause of later records and of watch notifications."""
        if not self._recorder.on:
            return
        path = target.resource.plural + (f"/{target.subresource}" if target.subresource else "")
        record = ApiWrite(**subject(about), verb=verb, resource=path, by=self._name, summary=shown or {}, why=why)
        Recorder.because(self._recorder.record(record))


def summary(status: Model) -> dict[str, Any]:
    """The counts of a status, for the trace."""
    return {name: value for name, value in status.to_json().items() if isinstance(value, int | str)}
