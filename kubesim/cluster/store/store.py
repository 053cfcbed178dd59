"""The in-memory API store: objects, one growing resource version, watches, and pods that are deleted gracefully.

Everything here is synchronous and takes no time: `cluster/memory_client.py` adds the latency of a request, and
`cluster/registry/registry.py` prepares a request body for storage. Objects are immutable and shared: a write stores a
new object, a reader may keep the old one. A write reads only the object that it changes.
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
        self.binds_tokens = True  # are tokens of service accounts made for each pod, or kept as Secrets?
        self.proposes_resizes = False  # in status.resize, as API servers did while resizes were alpha
        self.resource_version = 0
        self._objects: defaultdict[str, dict[Key, ApiObject]] = defaultdict(dict)
        self._listeners: defaultdict[str, tuple[Listener, ...]] = defaultdict(tuple)
        self._listeners_to_all: tuple[Listener, ...] = ()
        self._pending: deque[WatchEvent] = deque()
        self._notifying = False
        self._restored_at = 0  # the version of what was brought back
        self._history = defaultdict[str, History](lambda: History(history_limit, self._restored_at))
        self._expiring: deque[tuple[int, Key, str]] = deque()  # events: until when, which one, in which version

    # -- reading ------------------------------------------------------------------------------------------------

    def find(self, kind: str, namespace: str, name: str) -> ApiObject | None:
        return self._objects[kind].get((namespace, name))

    def get(self, kind: str, namespace: str, name: str) -> ApiObject:
        found = self._objects[kind].get((namespace, name))
        if found is None:
            raise not_found(resource_of(kind), name)
        return found

    def list_at(self, kind: str, version: int, selection: Selection = EVERYTHING) -> list[ApiObject]:
        """The objects as they were at an earlier version: the later changes are reverted one by one."""
        objects = dict(self._objects[kind])
        for event in reversed(list(self.history(kind).since(version))):
            key = (event.object.metadata.namespace, event.object.metadata.name)
            if event.previous is None:
                del objects[key]
            else:
                objects[key] = event.previous
        return [objects[key] for key in sorted(objects) if selection.matches(objects[key])]

    def list(self, kind: str, namespace: str | None = None, selection: Selection = EVERYTHING) -> list[ApiObject]:
        """By namespace and name."""
        objects = self._objects[kind]
        keys = sorted(objects if namespace is None else (key for key in objects if key[0] == namespace))
        if selection is EVERYTHING:
            return [objects[key] for key in keys]
        return [objects[key] for key in keys if selection.matches(objects[key])]

    def history(self, kind: str) -> History:
        return self._history[kind]

    def compact(self, kind: str) -> None:
        """Forget the history of a kind's objects."""
        self._history[kind] = History(self._history_limit, self.resource_version)

    # -- watching -----------------------------------------------------------------------------------------------

    def watch(self, kind: str, listener: Listener) -> Callable[[], None]:
        """Notify the listener of every later change; returns a function that ends the watch."""
        self._listeners[kind] += (listener,)

        def stop() -> None:
            self._listeners[kind] = tuple(other for other in self._listeners[kind] if other != listener)

        return stop

    def watch_all(self, listener: Listener) -> Callable[[], None]:
        """Tell the listener about every later change of every kind, after those that watch just this kind."""
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
        """A queue of the changes after a version; from 0 it begins with every existing object."""
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
        """Store an object as another API server has it: uid, generation and times are its own."""
        old = self.find(obj.kind, obj.metadata.namespace, obj.metadata.name)
        return self._commit("ADDED" if old is None else "MODIFIED", obj, old)

    def restore(self, objects: Iterable[ApiObject], version: int) -> None:
        """Bring back the objects of an earlier store, as they were, in place of those that are here by the same name.
        Listeners see each; of the changes before nothing is known."""
        self.resource_version = self._restored_at = max(version, self.resource_version)
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
        """Store an object over the one that has its name. A pod whose spec changed gets a new generation."""
        old = self.get(obj.kind, obj.metadata.namespace, obj.metadata.name)
        if isinstance(obj, Pod) and isinstance(old, Pod) and obj.spec != old.spec:
            obj = obj.changed(metadata=obj.metadata.changed(generation=old.metadata.generation + 1))
        return self.write(old, obj)

    def write(self, old: ApiObject, new: ApiObject) -> ApiObject:
        """Store a new state of an object. The one that has lost its last finalizer goes instead, in its old state."""
        if is_done(new):
            self._commit("DELETED", old, old)
            return new
        return self._commit("MODIFIED", new, old)

    def set_pod_status(self, namespace: str, name: str, uid: str, status: PodStatus) -> Pod:
        """The result of a kubelet's PATCH of the status subresource, without the detour through JSON."""
        pod = self.get("Pod", namespace, name)
        assert isinstance(pod, Pod)
        return self.write_pod_status(pod, uid, status)

    def write_pod_status(self, pod: Pod, uid: str, status: PodStatus) -> Pod:
        """The same for a pod that was just read."""
        if uid and pod.metadata.uid != uid:
            # Upstream checks the metadata twice on its way, and reports both.
            problem = FieldError("Invalid value", "metadata.uid", uid, "field is immutable")
            raise invalid_object(resource_of("Pod"), pod.metadata.name, (problem, problem))
        before = pod.status
        # Fields that a client without knowledge of them cannot erase.
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
        """Delete immediately, or, for a pod that runs on a node, ask its kubelet to end it within the grace period."""
        return self.delete_with(self.get(kind, namespace, name), DeleteOptions(grace_s=grace_s, uid=uid))

    def delete_with(self, obj: ApiObject, options: DeleteOptions) -> ApiObject:
        """The object as it stands after the request: marked, unchanged, or gone."""
        plan = plan_deletion(obj, options, self.now())
        if options.dry_run:
            return plan.marked or obj
        if plan.marked is not None:
            obj = self._commit("MODIFIED", plan.marked, obj)
        return self._commit("DELETED", obj, obj) if plan.removed else obj

    def remove(self, kind: str, namespace: str, name: str) -> ApiObject:
        """Take an object away as it is, whatever holds it: no mark, no grace, no finalizers."""
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
        """The object in its next version, with these changes to its metadata and other fields: store it or delete it,
        and notify the watches."""
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
        """Notify the listeners in order. A change made by a listener is queued until all have seen the one before."""
        self._notifying = True
        try:
            while self._pending:
                event = self._pending.popleft()
                for listener in self._listeners[event.object.kind]:
                    listener(event)
                for listener in self._listeners_to_all:
                    listener(event)
        finally:
            self._notifying = False

    def _expire(self, now: int) -> None:
        """Events unchanged for an hour are dropped, to bound the memory of a long run."""
        while self._expiring and self._expiring[0][0] <= now:
            _, key, version = self._expiring.popleft()
            event = self._objects["Event"].get(key)
            if event is not None and event.metadata.resource_version == version:
                self._commit("DELETED", event, event)


def _event_uid(metadata: ObjectMeta) -> str:
    """Made of its name, which is unique: the number of Events has no influence on the uids of other objects."""
    digest = hashlib.sha256(f"{metadata.namespace}/{metadata.name}".encode()).digest()
    return uuid4_text(int.from_bytes(digest[:16], "big"))


def initial_status(pod: Pod) -> PodStatus:
    """Of a new pod little is known; also that it has a node is for others to say."""
    return pod.status.changed(phase=pod.status.phase or "Pending", qos_class=compute_pod_qos(pod))
