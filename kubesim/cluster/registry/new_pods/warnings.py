"""Warnings about an accepted pod: deprecated fields, and probable mistakes.

Mirrors: pkg/api/pod/warnings.go; pkg/api/node/util.go
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesim.api.quantity import parse_quantity
from kubesim.golang.text import quoted

JsonObject = dict[str, Any]

_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_NO_MATCH = "a null labelSelector results in matching no pod"


def pod_warnings(pod: JsonObject, root: str = "") -> list[str]:
    """The warnings about a pod spec. `root` is the path of the pod template."""
    spec, path = pod.get("spec") or {}, f"{root}.spec" if root else "spec"
    return [
        *_selectors(spec, path),
        *_volumes(spec, path),
        *_repeated(spec, path),
        *_containers(spec, path),
        *_ports(spec, path),
        *_affinities(spec, path),
    ]


def template_of(kind: str, obj: JsonObject) -> tuple[str, JsonObject | None]:
    """The pod template of a workload, and its path."""
    spec = obj.get("spec") or {}
    if kind == "CronJob":
        inner = (spec.get("jobTemplate") or {}).get("spec") or {}
        return "spec.jobTemplate.spec.template", inner.get("template")
    workloads = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController")
    return "spec.template", spec.get("template") if kind in workloads else None


def _selectors(spec: JsonObject, path: str) -> Iterator[str]:
    for key in sorted(spec.get("nodeSelector") or {}):
        if key in _LABELS:
            yield f"{path}.nodeSelector[{key}]: {_LABELS[key]}"
    node = ((spec.get("affinity") or {}).get("nodeAffinity")) or {}
    required = f"{path}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    wanted = node.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for number, term in enumerate(wanted.get("nodeSelectorTerms") or ()):
        yield from _term(term, f"{required}[{number}]")
    preferred = f"{path}.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    for number, each in enumerate(node.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
        yield from _term(each.get("preference") or {}, f"{preferred}[{number}].preference")
    for number, each in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = f"{path}.topologySpreadConstraints[{number}]", each.get("topologyKey", "")
        if key in _LABELS:
            yield f"{where}.topologyKey: {key} is {_LABELS[key]}"
        if each.get("labelSelector") is None:
            yield f"{where}.labelSelector: {_NO_MATCH}"


def _term(term: JsonObject, path: str) -> Iterator[str]:
    for number, each in enumerate(term.get("matchExpressions") or ()):
        key = each.get("key", "")
        if key in _LABELS:
            yield f"{path}.matchExpressions[{number}].key: {key} is {_LABELS[key]}"


def _volumes(spec: JsonObject, path: str) -> Iterator[str]:
    for number, volume in enumerate(spec.get("volumes") or ()):
        for source, text in _VOLUMES.items():
            if volume.get(source) is not None:
                shown = "storageOS" if source == "storageos" else source
                yield f"{path}.volumes[{number}].{shown}: {text}"


def _repeated(spec: JsonObject, path: str) -> Iterator[str]:
    for field, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        seen: set[str] = set()
        for number, each in enumerate(spec.get(field) or ()):
            value = each.get(key, "")
            if value in seen:
                yield f"{path}.{field}[{number}].{key}: duplicate {key} {quoted(value)}"
            seen.add(value)
    for number, each in enumerate(spec.get("imagePullSecrets") or ()):
        if not each.get("name"):
            yield f'{path}.imagePullSecrets[{number}].name: invalid empty name ""'


def _all_containers(spec: JsonObject, path: str) -> Iterator[tuple[JsonObject, str]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for number, container in enumerate(spec.get(field) or ()):
            yield container, f"{path}.{field}[{number}]"


def _containers(spec: JsonObject, path: str) -> Iterator[str]:
    for container, where in _all_containers(spec, path):
        resources = container.get("resources") or {}
        for resource in ("memory", "ephemeral-storage"):
            for field in ("limits", "requests"):
                value = (resources.get(field) or {}).get(resource)
                if value is not None and parse_quantity(str(value)).milli_value() % 1000:
                    problem = f"fractional byte value {quoted(str(value))} is invalid, must be an integer"
                    yield f"{where}.resources.{field}[{resource}]: {problem}"
        yield from _environment(container, where)


def _environment(container: JsonObject, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for number, each in enumerate(container.get("env") or ()):
        name, value = each.get("name", ""), each.get("value", "")
        reference = f"$({name})"
        if name in seen and (each.get("valueFrom") is not None or value == reference or reference not in value):
            problem = f"hides previous definition of {quoted(name)}, which may be dropped when using apply"
            yield f"{path}.env[{number}]: {problem}"
        seen.add(name)


def _ports(spec: JsonObject, path: str) -> Iterator[str]:
    seen: dict[str, list[tuple[str, JsonObject]]] = {}
    for container, where in _all_containers(spec, path):
        for number, port in enumerate(container.get("ports") or ()):
            at = f"{where}.ports[{number}]"
            others = seen.setdefault(f"{port.get('containerPort', 0)}/{port.get('protocol', '')}", [])
            for other_at, other in others:
                kind = _ports_conflict(port, other)
                if kind:
                    yield f"{at}: {kind} port definition with {other_at}"
            others.append((at, port))
    names: dict[str, str] = {}
    for container, where in _all_containers(spec, path):
        for number, port in enumerate(container.get("ports") or ()):
            at, name = f"{where}.ports[{number}]", port.get("name", "")
            if name and name in names:
                first = names[name]
                problem = (
                    f"duplicate port name {quoted(name)} with {first}, services and probes that select ports by name"
                )
                yield f"{at}: {problem} will use {first}"
            names.setdefault(name, at)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        problem = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}.terminationGracePeriodSeconds: {problem}"


def _ports_conflict(port: JsonObject, other: JsonObject) -> str:
    own, theirs = (each.get("hostPort", 0) for each in (port, other))
    own_ip, their_ip = (each.get("hostIP", "") for each in (port, other))
    if (own, own_ip) == (theirs, their_ip):
        return "duplicate"
    if not own or not theirs:
        return "overlapping"
    return "dangerously ambiguous" if own == theirs and (not own_ip) != (not their_ip) else ""


def _affinities(spec: JsonObject, path: str) -> Iterator[str]:
    for field in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(field) or {}
        where = f"{path}.affinity.{field}"
        for number, term in enumerate(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()):
            if term.get("labelSelector") is None:
                at = f"{where}.requiredDuringSchedulingIgnoredDuringExecution[{number}]"
                yield f"{at}.labelSelector: {_NO_MATCH}"
        for number, each in enumerate(affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
            if (each.get("podAffinityTerm") or {}).get("labelSelector") is None:
                at = f"{where}.preferredDuringSchedulingIgnoredDuringExecution[{number}]"
                yield f"{at}.podAffinityTerm.labelSelector: {_NO_MATCH}"
