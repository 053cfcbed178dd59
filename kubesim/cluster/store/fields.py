"""Selectable fields of each kind, and their values.

Mirrors: pkg/registry/core/*/strategy.go ToSelectableFields; pkg/apis/core/v1/conversion.go AddFieldLabelConversions
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject
from kubesim.api.model import Model
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.schema.versions.events_v1 import field_path
from kubesim.cluster.store.kinds import Resource
from kubesim.cluster.store.selectors import FieldSelector, SelectorError

_POD: dict[str, Callable[[Pod], str]] = {
    "spec.nodeName": lambda pod: pod.spec.node_name,
    "spec.restartPolicy": lambda pod: pod.spec.restart_policy,
    "spec.schedulerName": lambda pod: pod.spec.scheduler_name,
    "spec.serviceAccountName": lambda pod: pod.spec.service_account_name,
    "spec.hostNetwork": lambda pod: "true" if pod.spec.host_network else "false",
    "status.phase": lambda pod: pod.status.phase,
    "status.podIP": lambda pod: pod.status.pod_ips[0].ip if pod.status.pod_ips else pod.status.pod_ip,
    "status.podIPs": lambda pod: pod.status.pod_ips[0].ip if pod.status.pod_ips else pod.status.pod_ip,
    "status.nominatedNodeName": lambda pod: pod.status.nominated_node_name,
}


def check_fields(resource: Resource, selector: FieldSelector) -> None:
    """Raise an error for a field that is not selectable."""
    for term in selector.terms:
        if term.field in ("metadata.name", "metadata.namespace") or term.field in resource.selectable:
            continue
        if resource.has_own_fields:
            raise SelectorError(f"field label not supported: {term.field}")
        known = '"metadata.name", "metadata.namespace"'
        raise SelectorError(f'"{term.field}" is not a known field selector: only {known}')


def field_value(obj: ApiObject, field: str) -> str:
    """The value of a selectable field; its zero value if missing."""
    if field == "metadata.name":
        return obj.metadata.name
    if field == "metadata.namespace":
        return obj.metadata.namespace
    if isinstance(obj, Pod):
        return _POD[field](obj)
    if isinstance(obj, Node):
        return "true" if obj.spec.unschedulable else "false"
    if isinstance(obj, Event):
        field = field_path(field)
    if isinstance(obj, Event) and field == "source":
        return obj.source.component or obj.reporting_component
    return _text(_at(obj, field.split(".")))


def _at(value: Any, path: list[str]) -> Any:
    for name in path:
        if isinstance(value, Model):
            value = value.to_json()
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str:
    return "" if value is None else str(value)
