"""The Scale of a workload: its desired and actual number of pods, as an object of its own.

Mirrors: pkg/registry/apps/*/storage storage.go ScaleREST; apiextensions-apiserver pkg/registry/customresource etcd.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.validation.field import Errors
from kubesim.cluster.problems import bad_request, invalid
from kubesim.cluster.registry import registry
from kubesim.cluster.registry.bodies.patching import MERGE_PATCH
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.store.kinds import Resource
from kubesim.cluster.store.store import Store
from kubesim.cluster.tables.table import dig
from kubesim.errors import ApiError

JsonObject = dict[str, Any]

GROUP, VERSION = "autoscaling", "autoscaling/v1"


def scale_of(resource: Resource, obj: ApiObject) -> JsonObject:
    body, metadata, paths = obj.to_json(), obj.metadata, resource.scale
    shown = {
        "name": metadata.name,
        "namespace": metadata.namespace,
        "uid": metadata.uid,
        "resourceVersion": metadata.resource_version,
        "creationTimestamp": metadata.creation_timestamp,
    }
    replicas, actual = (dig(body, path.lstrip(".")) for path in _paths(resource))
    if paths is not None and replicas is None:
        raise _without_replicas(paths)
    scale: JsonObject = {
        "kind": "Scale",
        "apiVersion": VERSION,
        "metadata": shown,
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": actual or 0},
    }
    if paths is None:
        selector = _selector(obj.kind, dig(body, "spec.selector", {}))
    else:
        selector = dig(body, (paths.get("labelSelectorPath") or "").lstrip("."))
    if selector:
        scale["status"]["selector"] = selector
    return scale


def _paths(resource: Resource) -> tuple[str, str]:
    """The fields of the desired and the actual replicas."""
    paths = resource.scale or {}
    return paths.get("specReplicasPath", ".spec.replicas"), paths.get("statusReplicasPath", ".status.replicas")


def _without_replicas(paths: Mapping[str, str]) -> ApiError:
    problem = f'Internal error occurred: the spec replicas field "{paths.get("specReplicasPath", "")}" does not exist'
    return ApiError(500, "InternalError", problem, {"causes": [{"message": problem.partition(": ")[2]}]})


def _selector(kind: str, selector: JsonObject) -> str:
    """The label selector in the format of a query parameter."""
    if kind == "ReplicationController":
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    terms = {key: f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()}
    for each in selector.get("matchExpressions") or ():
        key, values = each.get("key", ""), ",".join(sorted(each.get("values") or ()))
        operator = each.get("operator")
        texts = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        terms[key] = texts.get(operator, key)
    return ",".join(terms[key] for key in sorted(terms))


def write_scale(store: Store, target: Target, scale: JsonObject, manager: str, *, dry_run: bool) -> ApiObject:
    """Set the replicas of the workload."""
    metadata = scale.get("metadata") or {}
    name, version = metadata.get("name", ""), metadata.get("resourceVersion", "")
    if name and name != target.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({target.name})")
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if replicas < 0:
        errors = Errors()
        errors.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid(GROUP, "Scale", target.name, errors)
    patch: JsonObject = {}
    *above, last = _paths(target.resource)[0].lstrip(".").split(".")
    parent = patch
    for part in above:
        parent = parent.setdefault(part, {})
    parent[last] = replicas
    if version:
        patch["metadata"] = {"resourceVersion": version}
    return registry.patch(store, target, MERGE_PATCH, patch, dry_run=dry_run, manager=manager)[0]
