"""Binding: assigns a pod to a node.

(`status`, `ephemeralcontainers`, `resize` and `finalize` are updates with their own strategy: `strategies.py`.)

Mirrors: pkg/registry/core/pod/storage storage.go BindingREST
"""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Pod, PodCondition
from kubesim.api.timestamps import format_time
from kubesim.api.validation.field import Errors, JsonObject
from kubesim.cluster.problems import bad_request, conflict, internal_error, precondition_failed
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.store.store import Store
from kubesim.golang.text import aggregate


def bind(store: Store, target: Target, binding: JsonObject, *, dry_run: bool = False) -> None:
    """Bind a pod to a node. A binding is final, and the node need not exist."""
    metadata, node = binding.get("metadata") or {}, binding.get("target") or {}
    if metadata.get("name", "") != target.name:
        raise bad_request("name in URL does not match name in Binding object")
    errors = Errors()
    if node.get("kind", "") not in ("", "Node"):
        errors.unsupported("target.kind", node["kind"], ("Node", "<empty>"))
    if not node.get("name"):
        errors.required("target.name")
    if errors:
        raise internal_error(aggregate(errors))
    pod = store.get("Pod", target.namespace, target.name)
    assert isinstance(pod, Pod)
    if metadata.get("uid") and metadata["uid"] != pod.metadata.uid:
        raise precondition_failed(target.resource, target.namespace, target.name, metadata["uid"], pod.metadata.uid)
    problem = _why_not_bound(pod)
    if problem:
        raise conflict(target.resource, target.name, problem, named="pods/binding")
    if not dry_run:
        store.write(pod, _bound(pod, node["name"], metadata, store.now()))


def _why_not_bound(pod: Pod) -> str:
    name = pod.metadata.name
    if pod.metadata.deletion_timestamp is not None:
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if pod.spec.node_name:
        return f'pod {name} is already assigned to node "{pod.spec.node_name}"'
    if pod.spec.scheduling_gates:
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def _bound(pod: Pod, node_name: str, metadata: JsonObject, now: int) -> Pod:
    """The pod with its node, the PodScheduled condition, and the scheduler's annotations and labels of the Binding."""
    changes: dict[str, Any] = {}
    for name in ("annotations", "labels"):
        if metadata.get(name):
            changes[name] = {**getattr(pod.metadata, name), **metadata[name]}
    pod = pod_with_condition(pod, PodCondition(type="PodScheduled", status="True"), now)
    return pod.changed(
        metadata=pod.metadata.changed(**changes),
        spec=pod.spec.changed(node_name=node_name),
        status=pod.status.changed(nominated_node_name=""),
    )


def pod_with_condition(pod: Pod, condition: PodCondition, now: int) -> Pod:
    """The pod with this condition added or replaced. The transition time changes only if the status does.

    Mirrors: pkg/api/v1/pod util.go UpdatePodCondition
    """
    conditions = list(pod.status.conditions)
    at = next((n for n, other in enumerate(conditions) if other.type == condition.type), None)
    moment = format_time(now)
    if at is not None and conditions[at].status == condition.status:
        moment = conditions[at].last_transition_time or moment
    changed = condition.changed(last_probe_time=None, last_transition_time=moment)
    if at is None:
        conditions.append(changed)
    else:
        conditions[at] = changed
    return pod.changed(status=pod.status.changed(conditions=tuple(conditions)))


# -- eviction -------------------------------------------------------------------------------------------------------
