"""The in-memory API store: objects, one growing resource version, watches, and pods that are deleted gracefully.

Everything here is synchronous and takes no time; what a request costs is the client's affair (`memory_client.py`). Objects are
immutable and shared: a write stores a new object, a reader may keep the old one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import SECOND, format_time
from kubesim.errors import ApiError

Key = tuple[str, str]  # namespace, name


@dataclass(frozen=True, slots=True)
class WatchEvent:
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: ApiObject
    resource_version: int


Listener = Callable[[WatchEvent], None]


class Store:
    """Objects by kind, then by namespace and name."""

    def __init__(self, now: Callable[[], int], new_uid: Callable[[], str]) -> None:
        self._now = now
        self._new_uid = new_uid
        self.resource_version = 0
        self._objects: dict[str, dict[Key, ApiObject]] = {}
        self._watches: dict[str, dict[Listener, None]] = {}

    # -- reading ------------------------------------------------------------------------------------------------

    def find(self, kind: str, namespace: str, name: str) -> ApiObject | None:
        return self._objects.get(kind, {}).get((namespace, name))

    def get(self, kind: str, namespace: str, name: str) -> ApiObject:
        found = self.find(kind, namespace, name)
        if found is None:
            raise not_found(kind, name)
        return found

    def list(self, kind: str, namespace: str | None = None) -> list[ApiObject]:
        objects = self._objects.get(kind, {})
        return [objects[key] for key in sorted(objects) if namespace is None or key[0] == namespace]

    def watch(self, kind: str, listener: Listener) -> Callable[[], None]:
        """Tell the listener about every later change; the answer ends the watch."""
        listeners = self._watches.setdefault(kind, {})
        listeners[listener] = None
        
        def stop() -> None:
            listeners.pop(listener, None)

        return stop

    # -- writing ------------------------------------------------------------------------------------------------

    def create(self, obj: ApiObject) -> ApiObject:
        metadata = obj.metadata
        if self.find(obj.kind, metadata.namespace, metadata.name) is not None:
            raise ApiError(409, "AlreadyExists", f'{plural(obj.kind)} "{metadata.name}" already exists')
        changes: dict[str, object] = {"creation_timestamp": format_time(self._now())}
        if not metadata.uid:
            changes["uid"] = self._new_uid()
        if isinstance(obj, Pod):
            changes["generation"] = 1
            obj = obj.changed(status=_initial_status(obj))
        return self._write("ADDED", obj.changed(metadata=metadata.changed(**changes)))

    def replace(self, obj: ApiObject) -> ApiObject:
        """Store an object over the one that has its name. A pod whose spec changed gets a new generation."""
        old = self.get(obj.kind, obj.metadata.namespace, obj.metadata.name)
        if isinstance(obj, Pod) and isinstance(old, Pod) and obj.spec != old.spec:
            obj = obj.changed(metadata=obj.metadata.changed(generation=old.metadata.generation + 1))
        return self._write("MODIFIED", obj)

    def set_pod_status(self, namespace: str, name: str, uid: str, status: PodStatus) -> Pod:
        """What a kubelet's PATCH of the status subresource comes to."""
        pod = self.get("Pod", namespace, name)
        assert isinstance(pod, Pod)
        if uid and pod.metadata.uid != uid:
            problem = f'Pod "{name}" is invalid: metadata.uid: Invalid value: "{uid}": field is immutable'
            raise ApiError(422, "Invalid", problem)
        if pod.status == status:
            return pod
        written = self._write("MODIFIED", pod.changed(status=status))
        assert isinstance(written, Pod)
        return written

    def delete(self, kind: str, namespace: str, name: str, *, uid: str = "", grace_s: int | None = None) -> ApiObject:
        """Delete at once, or, for a pod that runs on a node, ask its kubelet to end it within the grace period."""
        obj = self.get(kind, namespace, name)
        if uid and obj.metadata.uid != uid:
            raise ApiError(
                409,
                "Conflict",
                f'Operation cannot be fulfilled on {kind} "{name}": the UID in the precondition ({uid}) does not match '
                f"the UID in record ({obj.metadata.uid}). The object might have been deleted and then recreated",
            )
        if isinstance(obj, Pod):
            grace_s = _effective_grace(obj, grace_s)
            if grace_s > 0:
                return self._begin_deletion(obj, grace_s)
        if obj.metadata.finalizers:
            return self._begin_deletion(obj, 0)
        return self._remove(obj)

    def _begin_deletion(self, obj: ApiObject, grace_s: int) -> ApiObject:
        metadata = obj.metadata
        if metadata.deletion_timestamp is not None:
            held = metadata.deletion_grace_period_seconds
            if held is not None and grace_s >= held:  # a later delete can only shorten the grace
                return obj
        changes: dict[str, object] = {
            "deletion_timestamp": format_time(self._now() + grace_s * SECOND),
            "deletion_grace_period_seconds": grace_s,
        }
        if metadata.deletion_timestamp is None and metadata.generation:
            changes["generation"] = metadata.generation + 1
        return self._write("MODIFIED", obj.changed(metadata=metadata.changed(**changes)))

    def _remove(self, obj: ApiObject) -> ApiObject:
        del self._objects[obj.kind][(obj.metadata.namespace, obj.metadata.name)]
        return self._stamp_and_tell("DELETED", obj)

    def _write(self, type: Literal["ADDED", "MODIFIED"], obj: ApiObject) -> ApiObject:
        metadata = obj.metadata
        stored = self._stamp(obj)
        self._objects.setdefault(obj.kind, {})[(metadata.namespace, metadata.name)] = stored
        self._tell(type, stored)
        return stored

    def _stamp_and_tell(self, type: Literal["DELETED"], obj: ApiObject) -> ApiObject:
        stamped = self._stamp(obj)
        self._tell(type, stamped)
        return stamped

    def _stamp(self, obj: ApiObject) -> ApiObject:
        self.resource_version += 1
        return obj.changed(metadata=obj.metadata.changed(resource_version=str(self.resource_version)))

    def _tell(self, type: Literal["ADDED", "MODIFIED", "DELETED"], obj: ApiObject) -> None:
        listeners = self._watches.get(obj.kind)
        if listeners:
            event = WatchEvent(type, obj, self.resource_version)
            for listener in list(listeners):
                listener(event)


def _initial_status(pod: Pod) -> PodStatus:
    """Nothing is known of a new pod but that it waits."""
    return pod.status if pod.status.phase else pod.status.changed(phase="Pending")


def _effective_grace(pod: Pod, asked: int | None) -> int:
    """A pod without a node, or one that has ended, has nothing to wait for."""
    if not pod.spec.node_name or pod.status.phase in ("Succeeded", "Failed"):
        return 0
    if asked is not None:
        return asked
    grace = pod.spec.termination_grace_period_seconds
    return 30 if grace is None else grace


def not_found(kind: str, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{plural(kind)} "{name}" not found')


def plural(kind: str) -> str:
    lower = kind.lower()
    return lower + ("es" if lower.endswith("s") else "s")
