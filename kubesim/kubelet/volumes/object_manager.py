"""The kubelet's cache of ConfigMaps and Secrets: one watch per object that a registered pod references.

A pod's first sync registers it; it is unregistered when its volumes are cleaned up. Reading an unregistered object is
an error. Reading an unlisted object waits for the list, at most one second.

Mirrors: pkg/kubelet/util/manager/watch_based_manager.go, cache_based_manager.go; pkg/api/v1/pod/util.go
VisitPodConfigmapNames, VisitPodSecretNames
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Container, Pod, PodSpec
from kubesim.api.timestamps import SECOND
from kubesim.clock import Awaited, LoopClock, wake
from kubesim.cluster.store.object_watch import ObjectKey, ObjectWatcher
from kubesim.errors import KubesimError
from kubesim.golang.text import quoted
from kubesim.values import value_object

SYNC_TIMEOUT = 1 * SECOND
CONFIG_MAP, SECRET = "ConfigMap", "Secret"
_KINDS = ((CONFIG_MAP, "configMap"), (SECRET, "secret"))
_SECRET_REFS = ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")


class ObjectUnavailable(KubesimError):
    """An object that cannot be read; the text is the kubelet's."""


class ObjectNotFound(ObjectUnavailable):
    """The object does not exist; an optional reference can do without it."""


class NotListedYet(ObjectUnavailable):
    """The object's watch has not listed yet; the caller may wait."""

    def __init__(self, key: ObjectKey) -> None:
        self.key = key
        super().__init__(f"failed to sync {key[0].lower()} cache: timed out waiting for the condition")


class _Item:
    __slots__ = ("found", "listed", "stop", "users", "waiters")

    def __init__(self) -> None:
        self.users: dict[str, None] = {}  # UIDs of the pods that reference it
        self.found: ApiObject | None = None
        self.listed = False
        self.stop: Callable[[], None] = lambda: None
        self.waiters: dict[asyncio.Future[bool], None] = {}


@value_object
class _References:
    """The references of a pod, and the spec they come from."""

    spec: PodSpec
    volumes: frozenset[ObjectKey]
    pull_secrets: frozenset[ObjectKey]
    environment: frozenset[ObjectKey]

    def all(self) -> frozenset[ObjectKey]:
        return self.volumes | self.pull_secrets | self.environment


class ObjectManager:
    """The object cache. `on_change` is called when an object changes that a synced pod references; the flag is true if
    a volume uses it. A container's environment is read only at its creation.
    """

    def __init__(self, clock: LoopClock, watcher: ObjectWatcher, on_change: Callable[[str, bool], None]) -> None:
        self._clock = clock
        self._watcher = watcher
        self._on_change = on_change
        self._items: dict[ObjectKey, _Item] = {}
        self._registered: dict[str, _References] = {}

    def __len__(self) -> int:
        """The number of watched objects."""
        return len(self._items)

    # -- pods ---------------------------------------------------------------------------------------------------

    def register_pod(self, pod: Pod) -> None:
        """Watch the objects that the pod references, and drop references of its previous spec."""
        uid = pod.metadata.uid
        before = self._registered.get(uid)
        if before is not None and before.spec is pod.spec:
            return
        found = _References(
            pod.spec,
            frozenset(volume_references(pod)),
            frozenset(pull_secret_references(pod)),
            frozenset(environment_references(pod)),
        )
        self._registered[uid] = found
        keys, old = found.all(), before.all() if before is not None else frozenset()
        for key in sorted(keys - old):
            self._add_reference(key, uid)
        for key in old - keys:
            self._delete_reference(key, uid)

    def unregister_pod(self, uid: str) -> None:
        found = self._registered.pop(uid, None)
        for key in found.all() if found is not None else ():
            self._delete_reference(key, uid)

    def _add_reference(self, key: ObjectKey, uid: str) -> None:
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = _Item()
            item.stop = self._watcher.watch(key, lambda found: self._changed(key, found))
        item.users[uid] = None

    def _delete_reference(self, key: ObjectKey, uid: str) -> None:
        item = self._items[key]
        del item.users[uid]
        if not item.users:
            item.stop()
            del self._items[key]

    def _changed(self, key: ObjectKey, found: ApiObject | None) -> None:
        item = self._items[key]
        if item.listed and _version(found) == _version(item.found):
            return
        first, item.listed, item.found = not item.listed, True, found
        for waiter in item.waiters:
            wake(waiter, True)
        if not first:
            for uid in list(item.users):
                references = self._registered[uid]
                if key in references.volumes or key in references.pull_secrets:
                    self._on_change(uid, key in references.volumes)

    # -- objects ------------------------------------------------------------------------------------------------

    def get(self, kind: str, namespace: str, name: str) -> ApiObject:
        """The object. Raises ObjectUnavailable."""
        key = (kind, namespace, name)
        item = self._items.get(key)
        if item is None:
            raise ObjectUnavailable(f"object {quoted(namespace)}/{quoted(name)} not registered")
        if not item.listed:
            raise NotListedYet(key)
        if item.found is None:
            raise ObjectNotFound(f"{kind.lower()} {quoted(name)} not found")
        return item.found

    async def wait_until_listed(self, key: ObjectKey) -> bool:
        """Wait for the list; false on timeout."""
        item = self._items.get(key)
        if item is None or item.listed:
            return True
        waiter: Awaited[bool] = Awaited(f"the list of {key[0]} {key[1]}/{key[2]}")
        item.waiters[waiter] = None
        timer = self._clock.call_at(self._clock.now() + SYNC_TIMEOUT, wake, waiter, False)
        try:
            return await waiter
        finally:
            timer.cancel()
            del item.waiters[waiter]


def _version(found: ApiObject | None) -> tuple[str, str] | None:
    return None if found is None else (found.metadata.uid, found.metadata.resource_version)


# -- references of a pod --------------------------------------------------------------------------------------------


def volume_references(pod: Pod) -> Iterator[ObjectKey]:
    namespace = pod.metadata.namespace
    for volume in pod.spec.volumes:
        for kind, name in _names_in_volume(volume):
            if name:
                yield kind, namespace, name


def pull_secret_references(pod: Pod) -> Iterator[ObjectKey]:
    for reference in pod.spec.image_pull_secrets:
        if reference.name:
            yield SECRET, pod.metadata.namespace, reference.name


def environment_references(pod: Pod) -> Iterator[ObjectKey]:
    spec, namespace = pod.spec, pod.metadata.namespace
    for containers in (spec.init_containers, spec.containers, spec.ephemeral_containers):
        for container in containers:
            if container.env or container.env_from:
                for kind, name in _names_in_environment(container):
                    if name:
                        yield kind, namespace, name


def _names_in_volume(volume: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if (projected := volume.get("projected")) is not None:
        for source in projected.get("sources") or ():
            for kind, field in _KINDS:
                if source.get(field) is not None:
                    yield kind, source[field].get("name") or ""
    elif (config_map := volume.get("configMap")) is not None:
        yield CONFIG_MAP, config_map.get("name") or ""
    elif (secret := volume.get("secret")) is not None:
        yield SECRET, secret.get("secretName") or ""
    elif (azure_file := volume.get("azureFile")) is not None:
        yield SECRET, azure_file.get("secretName") or ""
    elif (csi := volume.get("csi")) is not None:
        yield SECRET, (csi.get("nodePublishSecretRef") or {}).get("name") or ""
    else:
        for field in _SECRET_REFS:
            if volume.get(field) is not None:
                yield SECRET, (volume[field].get("secretRef") or {}).get("name") or ""


def _names_in_environment(container: Container) -> Iterator[tuple[str, str]]:
    for source in container.env_from:
        for kind, field in _KINDS:
            if source.get(f"{field}Ref") is not None:
                yield kind, source[f"{field}Ref"].get("name") or ""
    for variable in container.env:
        value_from = variable.value_from or {}
        for kind, field in _KINDS:
            if value_from.get(f"{field}KeyRef") is not None:
                yield kind, value_from[f"{field}KeyRef"].get("name") or ""
