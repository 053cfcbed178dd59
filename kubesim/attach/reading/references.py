"""The ConfigMaps and Secrets that a pod names, and whether they exist. Nothing else about them is stored.

Each object is read by a get of its metadata alone, and immediately reduced to "exists" or "missing": after `kubectl
apply` of a Secret, an annotation contains its values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from kubesim.api.pod import Container, Pod
from kubesim.cluster.remote.answers import Undecodable, decode_json
from kubesim.cluster.remote.transport import METADATA_ONLY, Call, Transport, read_all
from kubesim.cluster.store.object_watch import ObjectKey
from kubesim.errors import UsageError
from kubesim.values import value_object

Purpose = Literal["volume", "environment", "pull"]
_PLURALS = {"ConfigMap": "configmaps", "Secret": "secrets", "PersistentVolumeClaim": "persistentvolumeclaims"}
_FIELDS = (("ConfigMap", "configMap"), ("Secret", "secret"))
TIMEOUT_S = 5.0


@value_object
class Reference:
    """A reference to an object. `where` is the field that names it; `container` is empty unless only one container
    needs it."""

    key: ObjectKey
    where: str
    purpose: Purpose
    container: str = ""
    optional: bool = False

    @property
    def words(self) -> str:
        kind, namespace, name = self.key
        return f"{kind} {namespace}/{name}"


def references(pod: Pod) -> Iterator[Reference]:
    """All objects that the pod names; references without a name are skipped."""
    return (reference for reference in _references(pod) if reference.key[2])


def _references(pod: Pod) -> Iterator[Reference]:
    spec, namespace = pod.spec, pod.metadata.namespace
    for pull in spec.image_pull_secrets:
        yield Reference(("Secret", namespace, pull.name), "spec.imagePullSecrets", "pull")
    for volume in spec.volumes:
        where = f"spec.volumes[{volume.get('name')}]"
        for source in (volume, *((volume.get("projected") or {}).get("sources") or ())):
            for kind, field in _FIELDS:
                named = source.get(field)
                if named is not None:
                    # A volume of its own has secretName, a projected source has name.
                    name = named.get("secretName") or named.get("name") or ""
                    yield Reference((kind, namespace, name), where, "volume", optional=bool(named.get("optional")))
    for field, containers in (
        ("initContainers", spec.init_containers),
        ("containers", spec.containers),
        ("ephemeralContainers", spec.ephemeral_containers),
    ):
        for container in containers:
            yield from _in_environment(container, f"spec.{field}[{container.name}]", namespace)


def _in_environment(container: Container, where: str, namespace: str) -> Iterator[Reference]:
    named: list[tuple[str, str, Mapping[str, Any]]] = []
    for source in container.env_from:
        named += [(kind, "envFrom", source[f"{field}Ref"]) for kind, field in _FIELDS if source.get(f"{field}Ref")]
    for variable in container.env:
        value = variable.value_from or {}
        source_field = f"env[{variable.name}]"
        named += [
            (kind, source_field, value[f"{field}KeyRef"]) for kind, field in _FIELDS if value.get(f"{field}KeyRef")
        ]
    for kind, source_field, reference in named:
        key = (kind, namespace, reference.get("name") or "")
        yield Reference(key, f"{where}.{source_field}", "environment", container.name, bool(reference.get("optional")))


def data_keys(metadata: Mapping[str, Any]) -> frozenset[str] | None:
    """The keys of a ConfigMap or Secret, from the managed fields of its metadata; None if it has none."""
    keys: set[str] | None = None
    for entry in metadata.get("managedFields") or ():
        fields = entry.get("fieldsV1") or {}
        for part in ("f:data", "f:binaryData"):
            if part in fields:
                keys = (keys or set()) | {name[2:] for name in fields[part] or {} if name.startswith("f:")}
    return None if keys is None else frozenset(keys)


async def is_there(transport: Transport, key: ObjectKey, keys: dict[ObjectKey, frozenset[str]] | None = None) -> bool:
    """Whether an object exists, by a request for its metadata. Raises `TransportError`, or UsageError with the server's
    message.

    `keys` gets the names of its entries, if the metadata has them.
    """
    kind, namespace, name = key
    path = f"/api/v1/namespaces/{namespace}/{_PLURALS[kind]}/{name}"
    async with transport.open(Call("get", path, accept=METADATA_ONLY, timeout_s=TIMEOUT_S)) as reply:
        body = await read_all(reply)
    if reply.status == 404:
        return False
    try:
        reported = decode_json(body)
        said = reported.get("message") if reply.status != 200 else reported.get("kind")
    except (Undecodable, AttributeError):
        said = None
    if reply.status != 200:
        raise UsageError(f"{kind} {namespace}/{name}: {said or f'answer {reply.status}'}")
    if said != "PartialObjectMetadata":
        raise UsageError(f"{kind} {namespace}/{name}: the server sent more than metadata, so the answer was ignored")
    if keys is not None and (held := data_keys(reported.get("metadata") or {})) is not None:
        keys[key] = held
    return True
