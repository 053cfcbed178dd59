"""The names of the pods and other objects that a scenario can create, with the containers of the pods."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any

from kubesim.cluster.store.served_kinds import stored_kind
from kubesim.scenario.client.placement import pod_specs
from kubesim.scenario.language.document import Spec
from kubesim.scenario.language.object_names import has_namespace
from kubesim.scenario.language.sources.source_items import Manifest
from kubesim.scenario.load.objects import items_of
from kubesim.values import part, value_object

if TYPE_CHECKING:
    from kubesim.scenario.language.step_items import Patch

JsonObject = dict[str, Any]

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_SUFFIX = "[a-z0-9]+"
# The suffix, after a hyphen, that a controller appends to the name of a workload for its pods.
_POD_SUFFIXES = {
    "Deployment": f"{_SUFFIX}-{_SUFFIX}",
    "ReplicaSet": _SUFFIX,
    "ReplicationController": _SUFFIX,
    "DaemonSet": _SUFFIX,
    "StatefulSet": "[0-9]+",
    "Job": f"([0-9]+-)?{_SUFFIX}",
    "CronJob": f"[0-9]+-([0-9]+-)?{_SUFFIX}",
}
_MADE_BY = {"ReplicaSet": ("Deployment", _SUFFIX), "Job": ("CronJob", "[0-9]+")}
# The cluster creates objects of these kinds by itself; all others are in the file or created by its workloads.
_MADE_BY_CLUSTER = frozenset(
    (
        "CSINode", "CSIStorageCapacity", "ControllerRevision", "Endpoints", "EndpointSlice", "Event", "Lease",
        "PersistentVolume", "PersistentVolumeClaim", "ResourceClaim", "ResourceSlice", "Secret", "VolumeAttachment",
    )
)  # fmt: skip
_NAMESPACES = ("kube-node-lease", "kube-public", "kube-system")
_IN_NAMESPACES = (("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default"))
_PRIORITY_CLASSES = ("system-cluster-critical", "system-node-critical")


def is_checked(kind: str) -> bool:
    """Whether the file determines the possible objects of this kind."""
    return bool(kind) and kind not in _MADE_BY_CLUSTER


@value_object
class Makeable:
    """Objects that the scenario can create: `prefix` is the beginning of their names, `shape` a regular expression for
    the rest."""

    kind: str
    namespace: str
    prefix: str
    shape: str = ""
    containers: frozenset[str] = frozenset()

    def is_named(self, name: str) -> bool:
        return name.startswith(self.prefix) and re.fullmatch(self.shape, name[len(self.prefix) :]) is not None

    def may_match(self, glob: str) -> bool:
        """Whether some possible name may match; only prefixes are compared."""
        begins = re.split(r"[*?\[]", glob, maxsplit=1)[0]
        if not self.shape:
            return self.prefix.startswith(begins)
        return self.prefix.startswith(begins) or begins.startswith(self.prefix)

    @property
    def shown(self) -> str:
        return self.prefix + ("*" if self.shape else "")


@part
class Cast:
    """All objects that a scenario can create. `unknown` if it also has pods that only the run determines."""

    makeable: list[Makeable]
    unknown: bool
    extra_containers: frozenset[str]  # added by patches
    readiness_gates: frozenset[str]
    _by_kind: dict[str, list[Makeable]] = field(default_factory=dict)

    def of(self, kind: str) -> list[Makeable]:
        if not self._by_kind:
            for item in self.makeable:
                self._by_kind.setdefault(item.kind, []).append(item)
        return self._by_kind.get(kind, [])


def cast_of(spec: Spec) -> Cast:
    manifests = [*spec.objects, *(step.apply for step in spec.steps if step.apply is not None)]
    objects = [item for manifest in manifests for _, item in items_of(manifest)]
    makeable = [Makeable("Node", "", node.name) for node in spec.nodes]
    makeable += _of_the_cluster({"default", *(_namespace_of(manifest) for manifest in objects)})
    gates: set[str] = set()
    for manifest in objects:
        makeable += _made_from(manifest)
        gates.update(gate.get("conditionType", "") for pod in pod_specs(manifest) for gate in _gates(pod))
    unknown = spec.sources.apiserver is not None or bool(spec.sources.file.path and not spec.sources.file.manifests)
    unknown |= spec.sources.http is not None and not spec.sources.http.answers
    unknown |= bool(
        spec.kubelet_configuration.values["staticPodURL"] or spec.kubelet_configuration.given.get("staticPodPath")
    )
    for given, nodes in _static_manifests(spec):
        unknown |= isinstance(given, str)
        makeable += [pod for item in _items(given) for pod in _static_pods(item, nodes)]
    added = frozenset(name for step in spec.steps if step.patch is not None for name in _patched_names(step.patch))
    return Cast(makeable, unknown, added, frozenset(gates))


def _gates(pod: JsonObject) -> Iterable[JsonObject]:
    return [gate for gate in pod.get("readinessGates") or () if isinstance(gate, dict)]


def _namespace_of(manifest: JsonObject) -> str:
    return (manifest.get("metadata") or {}).get("namespace") or "default"


def _of_the_cluster(namespaces: Iterable[str]) -> Iterator[Makeable]:
    """The objects that every cluster has."""
    yield Makeable("Service", "default", "kubernetes")
    yield from (Makeable("PriorityClass", "", name) for name in _PRIORITY_CLASSES)
    yield from (Makeable("Namespace", "", name) for name in _NAMESPACES)
    for namespace in namespaces:
        yield Makeable("Namespace", "", namespace)
        yield from (Makeable(kind, namespace, name) for kind, name in _IN_NAMESPACES)


def _made_from(manifest: JsonObject) -> Iterator[Makeable]:
    """The object itself, and the objects that controllers create for it."""
    kind, metadata = stored_kind(manifest["apiVersion"], manifest["kind"]), manifest.get("metadata") or {}
    name, namespace = metadata.get("name") or "", _namespace_of(manifest)
    prefix, own_shape = (name, "") if name else (metadata.get("generateName", ""), _SUFFIX)
    namespace = namespace if has_namespace(kind) else ""
    containers = frozenset(name for pod in pod_specs(manifest) for name in _container_names(pod))
    yield Makeable(kind, namespace, prefix, own_shape, containers)
    made = [("Pod", _POD_SUFFIXES[kind])] if kind in _POD_SUFFIXES else []
    made += [(other, shape) for other, (owner, shape) in _MADE_BY.items() if owner == kind]
    for other, shape in made:
        begins, ends = (prefix, f"{own_shape}-{shape}") if own_shape else (f"{prefix}-", shape)
        yield Makeable(other, namespace, begins, ends, containers)


def _container_names(pod: JsonObject) -> Iterator[str]:
    for kind in _CONTAINERS:
        yield from (each["name"] for each in pod.get(kind) or () if isinstance(each, dict) and "name" in each)


def _static_manifests(spec: Spec) -> Iterator[tuple[Manifest, list[str]]]:
    """The static pod manifests, each with the names of the nodes that read it."""
    nodes = [node.name for node in spec.nodes]
    for manifest in spec.sources.file.manifests.values():
        yield manifest, nodes
    for step in spec.steps:
        if step.write_static_pod is not None:
            yield step.write_static_pod.manifest, [step.write_static_pod.node or nodes[0]]
    for answer in (spec.sources.http, *(step.serve_manifest for step in spec.steps)):
        if answer is not None:
            yield from ((given, nodes) for given in (answer.manifest, *answer.manifests) if given is not None)


def _items(manifest: Manifest) -> list[JsonObject]:
    return [] if isinstance(manifest, str) else [item for _, item in items_of(manifest)]


def _static_pods(manifest: JsonObject, nodes: list[str]) -> Iterator[Makeable]:
    """The mirror pods of a manifest; the name of each ends with the name of its node."""
    for item in _made_from(manifest):
        for node in nodes:
            yield Makeable("Pod", item.namespace, f"{item.prefix}-{node}", "", item.containers)


def _patched_names(patch: Patch) -> Iterator[str]:
    """All names in a patch, each of which may be the name of a container."""
    pieces: list[Any] = [patch.patch]
    while pieces:
        piece = pieces.pop()
        if isinstance(piece, dict):
            if isinstance(piece.get("name"), str):
                yield piece["name"]
            pieces += piece.values()
        elif isinstance(piece, list | tuple):
            pieces += piece
