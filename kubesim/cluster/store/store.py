"""The in-memory API store: objects, resource versions, watches, graceful deletion of pods.

Everything is synchronous and takes no time: `cluster/memory_client.py` adds latency, and `cluster/registry/registry.py`
prepares a request body for storage. Objects are immutable and shared: a write stores a new object, and a reader may
keep the old one. A write reads only the object that it changes.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject, ObjectMeta
from kubesim.api.pod import Pod, PodStatus
from kubesim.api.pods.resources import compute_pod_qos
from kubesim.api.pods.signed_token import signed
from kubesim.api.timestamps import SECOND, format_time
from kubesim.api.validation.field import FieldError
from kubesim.clock.randomness import uuid4_text
from kubesim.cluster.problems import already_exists, invalid_object, not_found
from kubesim.cluster.registry.deletion import DeleteOptions, is_done, plan_deletion
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.watches import (
    EVERYTHING,
    HISTORY_LIMIT,
    QUEUE_LIMIT,
    History,
    Selection,
    Watch,
    WatchEvent,
)

Key = tuple[str, str]  # namespace, name
Listener = Callable[[WatchEvent], None]

EVENT_TTL = 3600 * SECOND
NO_CHANGES: Mapping[str, object] = {}


class Store:
    """Objects by kind, then by namespace and name."""

    def __init__(
        self, now: Callable[[], int], new_uid: Callable[[], str], *, history_limit: int = HISTORY_LIMIT
    ) -> None:
        self.now = now
        self.new_uid = new_uid
        self._history_limit = history_limit
        self.binds_tokens = True  # service account tokens are created for each pod; else kept as Secrets
        self.token_key = b""  # of service account tokens; empty: none is valid
        self.proposes_resizes = False  # in status.resize, as API servers did while resize was alpha
        self.resource_version = 0
        self._objects: defaultdict[str, dict[Key, ApiObject]] = defaultdict(dict)
        # By kind: the node (empty: all) and the listener. `_called`: those of each kind and node, found at a change.
        self._listeners: defaultdict[str, tuple[tuple[str, Listener], ...]] = defaultdict(tuple)
        self._called: dict[tuple[str, str], tuple[Listener, ...]] = {}
        self._watched_nodes = {""}
        self._listeners_to_all: tuple[Listener, ...] = ()
        self._pending: deque[WatchEvent] = deque()
        self._notifying = False
        self.restored_at = 0  # resource version of the restored objects
        self._history = defaultdict[str, History](lambda: History(history_limit, self.restored_at))
        self._expiring: deque[tuple[int, Key, str]] = deque()  # Events: expiry, key, resource version

    def signed_token(self, claims: str) -> str:
        """The service account token with these claims."""
        return signed(claims, self.token_key)

    # -- reading ------------------------------------------------------------------------------------------------

    def find(self, kind: str, namespace: str, name: str) -> ApiObject | None:
        return self._objects[kind].get((namespace, name))

    def get(self, kind: str, namespace: str, name: str) -> ApiObject:
        found = self._objects[kind].get((namespace, name))
        if found is None:
            raise not_found(resource_of(kind), name)
        return found

    def list_at(self, kind: str, version: int, selection: Selection = EVERYTHING) -> list[ApiObject]:
        """The objects at an earlier resource version, by reverting later changes."""
        objects = dict(self._objects[kind])
        for event in reversed(list(self.history(kind).since(version))):
            key = (event.object.metadata.namespace, event.object.metadata.name)
            if event.previous is None:
                del objects[key]
            else:
                objects[key] = event.previous
        return [objects[key] for key in sorted(objects) if selection.matches(objects[key])]

    def list(self, kind: str, namespace: str | None = None, selection: Selection = EVERYTHING) -> list[ApiObject]:
        """The objects, sorted by namespace and name."""
        objects = self._objects[kind]
        keys = sorted(objects if namespace is None else (key for key in objects if key[0] == namespace))
        if selection is EVERYTHING:
            return [objects[key] for key in keys]
        return [objects[key] for key in keys if selection.matches(objects[key])]

    def history(self, kind: str) -> History:
        return self._history[kind]

    def compact(self, kind: str) -> None:
        """Discard the history of a kind's objects."""
        self._history[kind] = History(self._history_limit, self.resource_version)

    # -- watching -----------------------------------------------------------------------------------------------

    def watch(self, kind: str, listener: Listener, *, node: str = "") -> Callable[[], None]:
        """Call the listener after every change; returns a function that ends the watch. With a `node`, only changes of
        pods on this node count: one change costs the same on a hundred nodes.
        """
        entry = (node, listener)
        self._listeners[kind] += (entry,)
        self._watched_nodes.add(node)
        self._called.clear()

        def stop() -> None:
            self._listeners[kind] = tuple(other for other in self._listeners[kind] if other != entry)
            self._called.clear()

        return stop

    def watch_all(self, listener: Listener) -> Callable[[], None]:
        """Call the listener after every change of any kind, after the listeners of that kind."""
        self._listeners_to_all += (listener,)

        def stop() -> None:
            self._listeners_to_all = tuple(other for other in self._listeners_to_all if other != listener)

        return stop

    def kinds(self) -> tuple[str, ...]:
        """The kinds that have objects."""
        return tuple(kind for kind, objects in self._objects.items() if objects)

    def count(self, kind: str) -> int:
        return len(self._objects[kind])

    def open_watch(
        self, kind: str, selection: Selection = EVERYTHING, since: int = 0, *, limit: int = QUEUE_LIMIT
    ) -> Watch:
        """A queue of the changes after a resource version; from 0 it begins with all existing objects."""
        watch = Watch(kind, selection, max(since, 0), limit)
        if since:
            for event in self.history(kind).since(since):
                watch.offer(event)
        else:
            watch.begin_with(self.list(kind, selection.namespace, selection))
        if not watch.closed:
            watch.on_close = self.watch(kind, watch.offer)
        return watch

    # -- writing ------------------------------------------------------------------------------------------------

    def create(self, obj: ApiObject, *, dry_run: bool = False) -> ApiObject:
        metadata = obj.metadata
        if self.find(obj.kind, metadata.namespace, metadata.name) is not None:
            raise already_exists(resource_of(obj.kind), metadata.name)
        changes: dict[str, object] = {"creation_timestamp": format_time(self.now())}
        fields: dict[str, object] = {}
        if not metadata.uid:
            changes["uid"] = _event_uid(metadata) if isinstance(obj, Event) else self.new_uid()
        if isinstance(obj, Pod):
            changes["generation"] = 1
            if not obj.status.qos_class:
                fields["status"] = initial_status(obj)
        if dry_run:
            return obj.changed(metadata=metadata.changed(**changes), **fields)
        return self._commit("ADDED", obj, None, changes, fields)

    def put(self, obj: ApiObject) -> ApiObject:
        """Store an object from another API server with its own uid, generation and times."""
        old = self.find(obj.kind, obj.metadata.namespace, obj.metadata.name)
        return self._commit("ADDED" if old is None else "MODIFIED", obj, old)

    def restore(self, objects: Iterable[ApiObject], version: int) -> None:
        """Restore the objects of an earlier store in place of existing ones. Listeners are called; the history before
        is unknown.
        """
        self.resource_version = self.restored_at = max(version, self.resource_version)
        for obj in objects:
            kind, key = obj.kind, (obj.metadata.namespace, obj.metadata.name)
            previous = self._objects[kind].get(key)
            self._objects[kind][key] = obj
            number = int(obj.metadata.resource_version or 0)
            self._pending.append(WatchEvent("ADDED" if previous is None else "MODIFIED", obj, number, previous))
            if kind == "Event":
                self._expiring.append((self.now() + EVENT_TTL, key, obj.metadata.resource_version))
        self._history.clear()
        self._notify()

    def replace(self, obj: ApiObject) -> ApiObject:
        """Replace the object of the same name. A pod whose spec changed gets a new generation."""
        old = self.get(obj.kind, obj.metadata.namespace, obj.metadata.name)
        if isinstance(obj, Pod) and isinstance(old, Pod) and obj.spec != old.spec:
            obj = obj.changed(metadata=obj.metadata.changed(generation=old.metadata.generation + 1))
        return self.write(old, obj)

    def write(self, old: ApiObject, new: ApiObject) -> ApiObject:
        """Write a new state of an object. An object that has lost its last finalizer is removed instead, in its old
        state.
        """
        if is_done(new):
            self._commit("DELETED", old, old)
            return new
        return self._commit("MODIFIED", new, old)

    def set_pod_status(self, namespace: str, name: str, uid: str, status: PodStatus) -> Pod:
        """A kubelet's PATCH of the status subresource, without the conversion to JSON."""
        pod = self.get("Pod", namespace, name)
        assert isinstance(pod, Pod)
        return self.write_pod_status(pod, uid, status)

    def write_pod_status(self, pod: Pod, uid: str, status: PodStatus) -> Pod:
        """The same for a pod that was just read."""
        if uid and pod.metadata.uid != uid:
            # Upstream validates the metadata twice and reports both errors.
            problem = FieldError("Invalid value", "metadata.uid", uid, "field is immutable")
            raise invalid_object(resource_of("Pod"), pod.metadata.name, (problem, problem))
        before = pod.status
        # A client that does not know these fields cannot erase them.
        if not status.qos_class and before.qos_class:
            status = status.changed(qos_class=before.qos_class)
        if not status.observed_generation and before.observed_generation:
            status = status.changed(observed_generation=before.observed_generation)
        if before == status:
            return pod
        written = self._commit("MODIFIED", pod, pod, fields={"status": status})
        assert isinstance(written, Pod)
        return written

    def delete(self, kind: str, namespace: str, name: str, *, uid: str = "", grace_s: int | None = None) -> ApiObject:
        """Delete immediately. A pod on a node is only marked; its kubelet stops it within the grace period."""
        return self.delete_with(self.get(kind, namespace, name), DeleteOptions(grace_s=grace_s, uid=uid))

    def delete_with(self, obj: ApiObject, options: DeleteOptions) -> ApiObject:
        """Delete; returns the resulting object: marked, unchanged, or the removed one."""
        plan = plan_deletion(obj, options, self.now())
        if options.dry_run:
            return plan.marked or obj
        if plan.marked is not None:
            obj = self._commit("MODIFIED", plan.marked, obj)
        return self._commit("DELETED", obj, obj) if plan.removed else obj

    def remove(self, kind: str, namespace: str, name: str) -> ApiObject:
        """Remove an object unconditionally: no mark, no grace period, no finalizers."""
        obj = self.get(kind, namespace, name)
        return self._commit("DELETED", obj, obj)

    def _commit(
        self,
        type: Literal["ADDED", "MODIFIED", "DELETED"],
        obj: ApiObject,
        previous: ApiObject | None,
        changes: Mapping[str, object] = NO_CHANGES,
        fields: Mapping[str, object] = NO_CHANGES,
    ) -> ApiObject:
        """Store or delete the object's next version with these changes to metadata and fields, and notify watches."""
        self.resource_version = number = self.resource_version + 1
        metadata = obj.metadata.changed(resource_version=str(number), **changes)
        stored = obj.changed(metadata=metadata, **fields)
        kind, key = obj.kind, (metadata.namespace, metadata.name)
        if type == "DELETED":
            del self._objects[kind][key]
        else:
            self._objects[kind][key] = stored
        event = WatchEvent(type, stored, number, previous)
        self._history[kind].append(event)
        self._pending.append(event)
        if not self._notifying:
            self._notify()
        if kind == "Event" and type != "DELETED":
            now = self.now()
            self._expiring.append((now + EVENT_TTL, key, metadata.resource_version))
            self._expire(now)
        return stored

    def _notify(self) -> None:
        """Call the listeners in order. A change made by a listener waits until all listeners have seen the current
        one.
        """
        self._notifying = True
        try:
            while self._pending:
                event = self._pending.popleft()
                for listener in self._listeners_of(event.object):
                    listener(event)
                for listener in self._listeners_to_all:
                    listener(event)
        finally:
            self._notifying = False

    def _listeners_of(self, obj: ApiObject) -> tuple[Listener, ...]:
        """The listeners in the order in which they were added."""
        node = obj.spec.node_name if isinstance(obj, Pod) else ""
        key = obj.kind, node if node in self._watched_nodes else ""
        found = self._called.get(key)
        if found is None:
            named = ("", key[1])
            found = tuple(listener for node, listener in self._listeners[obj.kind] if node in named)
            self._called[key] = found
        return found

    def _expire(self, now: int) -> None:
        """Drop Events that have not changed for an hour, to limit the memory of a long run."""
        while self._expiring and self._expiring[0][0] <= now:
            _, key, version = self._expiring.popleft()
            event = self._objects["Event"].get(key)
            if event is not None and event.metadata.resource_version == version:
                self._commit("DELETED", event, event)


def _event_uid(metadata: ObjectMeta) -> str:
    """A uid derived from the Event's unique name, so that the number of Events does not affect other uids."""
    digest = hashlib.sha256(f"{metadata.namespace}/{metadata.name}".encode()).digest()
    return uuid4_text(int.from_bytes(digest[:16], "big"))


def initial_status(pod: Pod) -> PodStatus:
    """The status of a new pod; another component sets that it has a node."""
    return pod.status.changed(phase=pod.status.phase or "Pending", qos_class=compute_pod_qos(pod))
