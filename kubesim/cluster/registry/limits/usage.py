"""The usage of an object, for the resources that quotas limit.

Pure: time is an argument.

Mirrors: pkg/quota/v1/evaluator/core pods.go, services.go, persistent_volume_claims.go; apiserver/pkg/quota/v1/generic
evaluator.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubesim.api.meta import ApiObject
from kubesim.api.names import is_dra_extended_resource_name
from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.resources import (
    HUGE_PAGES_PREFIX,
    Resources,
    compute_pod_qos,
    is_pod_level_resources_set,
    pod_limits,
    pod_requests,
    quantities,
)
from kubesim.api.quantity import ZERO, Quantity, quantity
from kubesim.api.timestamps import SECOND, parse_time
from kubesim.api.validation.containers.resources import is_native_resource
from kubesim.api.validation.field import JsonObject
from kubesim.cluster.store.kinds import Resource
from kubesim.cluster.store.selectors import selector_from

_POD_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_REQUESTS, _LIMITS = "requests.", "limits."
_POD = {
    "count/pods",
    "pods",
    *_POD_COMPUTE,
    *(f"{kind}{name}" for kind in (_REQUESTS, _LIMITS) for name in _POD_COMPUTE),
}
_REQUIRED = {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
_SERVICE = {"count/services", "services", "services.nodeports", "services.loadbalancers"}
_CLAIM = {"persistentvolumeclaims", "requests.storage"}
_BY_CLASS = ".storageclass.storage.k8s.io/"
_ALIASES = ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")
_ONE = quantity(1)


def limited_by(resource: Resource, names: Iterable[str]) -> list[str]:
    """The names in a quota that count objects of this resource, or their usage."""
    return [name for name in names if _is_limited(resource, name)]


def _is_limited(resource: Resource, name: str) -> bool:
    match resource.kind:
        case "Pod":
            if name in _POD or name.startswith((HUGE_PAGES_PREFIX, f"{_REQUESTS}{HUGE_PAGES_PREFIX}")):
                return True
            return name.startswith(_REQUESTS) and not is_native_resource(name)
        case "Service":
            return name in _SERVICE
        case "PersistentVolumeClaim":
            return name in _CLAIM or name == f"count/{resource.plural}" or name.endswith(
                tuple(f"{_BY_CLASS}{each}" for each in _CLAIM)
            )  # fmt: skip
        case "Event":
            return False
    return name == f"count/{resource.group_resource}" or (name == resource.plural and name in _ALIASES)


def usage_of(resource: Resource, obj: ApiObject, now: int) -> Resources:
    """The usage of one object."""
    count = {f"count/{resource.group_resource}": _ONE}
    match resource.kind:
        case "Pod":
            assert isinstance(obj, Pod)
            return count | (_pod_usage(obj) if _counts(obj, now) else {})
        case "Service":
            return count | _service_usage(obj.to_json().get("spec") or {})
        case "PersistentVolumeClaim":
            return count | _claim_usage(obj.to_json())
    return count | ({resource.plural: _ONE} if resource.plural in _ALIASES else {})


def _counts(pod: Pod, now: int) -> bool:
    """Whether the pod has neither finished nor outlived its grace period."""
    metadata = pod.metadata
    if pod.status.phase in TERMINAL_PHASES:
        return False
    if metadata.deletion_timestamp is None or metadata.deletion_grace_period_seconds is None:
        return True
    return now <= parse_time(metadata.deletion_timestamp) + metadata.deletion_grace_period_seconds * SECOND


def _pod_usage(pod: Pod) -> Resources:
    return _compute_usage(pod_requests(pod, use_status=True), pod_limits(pod))


def _compute_usage(requests: Resources, limits: Resources) -> Resources:
    used = {"pods": _ONE}
    for name in _POD_COMPUTE:
        if name in requests:
            used[name] = used[f"{_REQUESTS}{name}"] = requests[name]
        if name in limits:
            used[f"{_LIMITS}{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith(HUGE_PAGES_PREFIX):
            used[name] = amount
        if name.startswith(HUGE_PAGES_PREFIX) or is_dra_extended_resource_name(name):
            used[f"{_REQUESTS}{name}"] = amount
    return used


def _service_usage(spec: JsonObject) -> Resources:
    ports, kind = spec.get("ports") or [], spec.get("type")
    node_ports = 0
    if kind == "NodePort" or (kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False):
        node_ports = len(ports)
    elif kind == "LoadBalancer":
        node_ports = sum(1 for port in ports if port.get("nodePort"))
    balancers = _ONE if kind == "LoadBalancer" else ZERO
    return {"services": _ONE, "services.nodeports": quantity(node_ports), "services.loadbalancers": balancers}


def _claim_usage(claim: JsonObject) -> Resources:
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    used = {"persistentvolumeclaims": _ONE}
    wanted = quantities((spec.get("resources") or {}).get("requests") or {}).get("storage")
    allocated = quantities(status.get("allocatedResources") or {}).get("storage")
    if wanted is not None:
        used["requests.storage"] = allocated if allocated is not None and allocated > wanted else wanted
    class_name = spec.get("storageClassName")
    return used | ({f"{class_name}{_BY_CLASS}{name}": amount for name, amount in used.items()} if class_name else {})


def missing_resources(resource: Resource, obj: ApiObject, names: Iterable[str]) -> str:
    """The resources of a quota that every container of a pod must set, with the containers that do not."""
    required = _REQUIRED & set(names)
    if not isinstance(obj, Pod) or is_pod_level_resources_set(obj):
        return ""
    missing: dict[str, set[str]] = {}
    for container in (*obj.spec.containers, *obj.spec.init_containers):
        resources = container.resources
        set_here = _compute_usage(quantities(resources.requests), quantities(resources.limits))
        for name in required - set_here.keys():
            missing.setdefault(name, set()).add(container.name)
    return "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


# -- scopes ---------------------------------------------------------------------------------------------------------


def in_scopes(resource: Resource, obj: ApiObject, spec: JsonObject) -> bool:
    """Whether all scopes of a quota include the object."""
    scopes = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    scopes += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    return all(_in_scope(resource, obj, scope) for scope in scopes)


def _in_scope(resource: Resource, obj: ApiObject, scope: JsonObject) -> bool:
    name = scope.get("scopeName", "")
    if resource.kind == "PersistentVolumeClaim":
        chosen = (obj.to_json().get("spec") or {}).get("volumeAttributesClassName") or ""
        return name == "VolumeAttributesClass" and _selects(scope, name, chosen)
    if not isinstance(obj, Pod):
        return False
    match name:
        case "Terminating":
            return _ends(obj)
        case "NotTerminating":
            return not _ends(obj)
        case "BestEffort":
            return compute_pod_qos(obj) == "BestEffort"
        case "NotBestEffort":
            return compute_pod_qos(obj) != "BestEffort"
        case "PriorityClass":
            return _selects(scope, name, obj.spec.priority_class_name)
        case "CrossNamespacePodAffinity":
            return _crosses_namespaces(obj.spec.to_json().get("affinity") or {})
    return False


def _ends(pod: Pod) -> bool:
    """Whether the pod has a deadline."""
    return pod.spec.active_deadline_seconds is not None and pod.spec.active_deadline_seconds >= 0


def _selects(scope: JsonObject, key: str, value: str) -> bool:
    requirement = {"key": key, "operator": scope.get("operator", ""), "values": scope.get("values") or []}
    return selector_from({"matchExpressions": [requirement]}).matches({key: value} if value else {})


def _crosses_namespaces(affinity: JsonObject) -> bool:
    for name in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(name) or {}
        terms = list(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [each.get("podAffinityTerm") or {} for each in preferred]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms):
            return True
    return False


# -- sums -----------------------------------------------------------------------------------------------------------


def total(parts: Iterable[Mapping[str, Quantity]]) -> Resources:
    found: Resources = {}
    for part in parts:
        for name, amount in part.items():
            found[name] = found[name] + amount if name in found else amount
    return found


def increase(new: Resources, old: Resources) -> Resources:
    """The additional usage of a changed object."""
    more = {name: amount - old.get(name, ZERO) for name, amount in new.items()}
    return {name: amount for name, amount in more.items() if amount.sign > 0}
