"""The Scale of a workload: its desired and actual number of pods, as an object of its own.

Mirrors: pkg/registry/apps/*/storage storage.go ScaleREST
"""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.validation.field import Errors
from kubesim.cluster.problems import bad_request, invalid
from kubesim.cluster.registry import registry
from kubesim.cluster.registry.bodies.patching import MERGE_PATCH
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.store.store import Store

JsonObject = dict[str, Any]

GROUP, VERSION = "autoscaling", "autoscaling/v1"


def scale_of(obj: ApiObject) -> JsonObject:
    body = obj.to_json()
    spec, status, metadata = body.get("spec") or {}, body.get("status") or {}, obj.metadata
    shown = {
        "name": metadata.name,
        "namespace": metadata.namespace,
        "uid": metadata.uid,
        "resourceVersion": metadata.resource_version,
        "creationTimestamp": metadata.creation_timestamp,
    }
    replicas = spec.get("replicas")
    scale: JsonObject = {
        "kind": "Scale",
        "apiVersion": VERSION,
        "metadata": shown,
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": status.get("replicas") or 0},
    }
    selector = _selector(obj.kind, spec.get("selector") or {})
    if selector:
        scale["status"]["selector"] = selector
    return scale


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
    patch: JsonObject = {"spec": {"replicas": replicas}}
    if version:
        patch["metadata"] = {"resourceVersion": version}
    return registry.patch(store, target, MERGE_PATCH, patch, dry_run=dry_run, manager=manager)[0]
