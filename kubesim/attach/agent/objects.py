"""The objects that pods of the overlay refer to: stand-ins for ConfigMaps, Secrets, claims and service accounts.

A stand-in has the keys that its pods name, and no values. Without reference checks everything exists. With them, an
object that an unready pod names exists here once it was found in the live cluster, with the keys that it has there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesim.api.meta import ApiObject, OwnerReference
from kubesim.api.pod import Pod
from kubesim.attach.reading.reference_polls import is_ready, named_objects
from kubesim.attach.reading.references import references
from kubesim.cluster.store.object_watch import ObjectKey
from kubesim.cluster.store.store import Store

Keys = set[str]
CLAIM = "PersistentVolumeClaim"


class PlaceholderObjects:
    """A `PodFollower` that maintains the stand-ins. `found` says for each referenced object whether it exists; None:
    references are not checked."""

    def __init__(self, store: Store, found: dict[ObjectKey, bool] | None = None) -> None:
        self._store = store
        self._found = found
        self.real_keys: dict[ObjectKey, frozenset[str]] = {}  # of the objects that were found, if known
        self._keys: dict[ObjectKey, Keys] = {}  # keys that pods name
        self._owners: dict[ObjectKey, Pod | None] = {}  # of claims: the pod that a generated claim belongs to
        self._pods: dict[str, Pod] = {}  # by uid

    @property
    def pods(self) -> list[Pod]:
        return list(self._pods.values())

    def pod_updated(self, pod: Pod) -> None:
        self._pods[pod.metadata.uid] = pod
        for key, keys in named_keys(pod):
            self._keys.setdefault(key, set()).update(keys)
            if self._found is None or is_ready(pod) or self._found.get(key):
                self._put(key)
        self._put(("ServiceAccount", pod.metadata.namespace, pod.spec.service_account_name or "default"))
        for name, owned in claims(pod):
            key = (CLAIM, pod.metadata.namespace, name)
            self._owners[key] = pod if owned else None
            if self._found is None or is_ready(pod) or self._found.get(key):
                self._put(key)

    def pod_removed(self, pod: Pod) -> None:
        self._pods.pop(pod.metadata.uid, None)

    def found_changed(self) -> None:
        """Update the stand-ins from `found`."""
        for key, there in (self._found or {}).items():
            if there:
                self._put(key)
            elif self._store.find(*key) is not None:
                self._store.remove(*key)

    def _put(self, key: ObjectKey) -> None:
        kind, namespace, name = key
        if kind == CLAIM:
            self._put_claim(namespace, name, self._owners.get(key))
            return
        data = dict.fromkeys(sorted(self.real_keys.get(key, self._keys.get(key, ()))), "")
        known = self._store.find(*key)
        if known is not None and known.extra.get("data", {}).keys() == data.keys():
            return
        value = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}}
        self._store.put(ApiObject.from_json({**value, "data": data} if data else value))

    def _put_claim(self, namespace: str, name: str, made_for: Pod | None) -> None:
        """Create a claim that is bound to its own volume."""
        if self._store.find(CLAIM, namespace, name) is not None:
            return
        uid, volume = f"{namespace}-{name}", f"pv-{namespace}-{name}"
        claim = _object(CLAIM, {"name": name, "namespace": namespace, "uid": uid}, {"volumeName": volume})
        if made_for is not None:
            owner = OwnerReference(
                api_version="v1", kind="Pod", name=made_for.metadata.name, uid=made_for.metadata.uid, controller=True
            )
            claim = claim.changed(metadata=claim.metadata.changed(owner_references=(owner,)))
        source = {"hostPath": {"path": f"/var/lib/{volume}"}, "claimRef": {"uid": uid, "name": name}}
        self._store.put(_object("PersistentVolume", {"name": volume, "uid": volume}, source))
        self._store.put(claim)


def _object(kind: str, metadata: dict[str, str], spec: dict[str, Any]) -> ApiObject:
    value = {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec, "status": {"phase": "Bound"}}
    return ApiObject.from_json(value)


def claims(pod: Pod) -> Iterator[tuple[str, bool]]:
    """The names of a pod's claims, and whether each was generated for the pod."""
    for volume in pod.spec.volumes:
        if (claim := volume.get("persistentVolumeClaim")) is not None:
            yield claim.get("claimName") or "", False
        elif volume.get("ephemeral") is not None:
            yield f"{pod.metadata.name}-{volume.get('name')}", True


def followed(pod: Pod) -> Iterator[ObjectKey]:
    """The kinds that are looked up in the live cluster: ConfigMaps, Secrets and claims."""
    yield from named_objects(pod)
    yield from ((CLAIM, pod.metadata.namespace, name) for name, _ in claims(pod))


def named_keys(pod: Pod) -> Iterator[tuple[ObjectKey, Keys]]:
    """The ConfigMaps and Secrets of a pod, with the keys that it needs."""
    found: dict[ObjectKey, Keys] = {reference.key: set() for reference in references(pod)}
    namespace = pod.metadata.namespace
    for volume in pod.spec.volumes:
        for source in (volume, *((volume.get("projected") or {}).get("sources") or ())):
            for kind, field in (("ConfigMap", "configMap"), ("Secret", "secret")):
                if (named := source.get(field)) is not None:
                    name = named.get("secretName") or named.get("name") or ""
                    found.setdefault((kind, namespace, name), set()).update(
                        item.get("key") or "" for item in named.get("items") or ()
                    )
    for container in (*pod.spec.init_containers, *pod.spec.containers, *pod.spec.ephemeral_containers):
        for variable in container.env:
            for kind, field in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
                if (named := (variable.value_from or {}).get(field)) is not None:
                    found.setdefault((kind, namespace, named.get("name") or ""), set()).add(named.get("key") or "")
    yield from ((key, keys) for key, keys in found.items() if key[2])
