"""External actions of a story: create, patch, scale, delete, evict, and some kubectl commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.cluster.registry import registry
from kubesim.cluster.registry.bodies.patching import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from kubesim.cluster.registry.deletion import DeleteOptions
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.registry.subresources.eviction import evict
from kubesim.cluster.store.kinds import RESOURCES, resource_of
from kubesim.cluster.store.selectors import parse_label_selector
from kubesim.cluster.store.store import Store
from kubesim.conformance.stories.playing import CannotPlay
from kubesim.conformance.workloads.kubectl_commands import kubectl_delete, kubectl_patch

Action = Mapping[str, Any]

ACTIONS = ("create", "patch", "scale", "delete", "evict", "kubectl")
_PATCHES = {"strategic": STRATEGIC_MERGE_PATCH, "merge": MERGE_PATCH, "json": JSON_PATCH}


def create(store: Store, namespace: str, manifest: Mapping[str, Any]) -> ApiObject:
    resource, metadata = resource_of(manifest["kind"]), manifest["metadata"]
    own = metadata.get("namespace", namespace) if resource.namespaced else ""
    if resource.kind in RESOURCES:
        return registry.create(store, Target(resource, own), dict(manifest))
    return store.create(ApiObject.from_json({**manifest, "metadata": {**metadata, "namespace": own}}))


def carry_out(store: Store, namespace: str, action: Action) -> None:
    """Perform an action; raises ApiError if the API server rejects it."""
    match action["do"]:
        case "create":
            create(store, namespace, action["object"])
        case "patch":
            target = _target(store, namespace, action)
            registry.patch(store, target, _PATCHES[action.get("type") or "strategic"], action["patch"])
        case "scale":
            patch = {"spec": {"replicas": action["replicas"]}}
            registry.patch(store, _target(store, namespace, action), STRATEGIC_MERGE_PATCH, patch)
        case "delete":
            registry.delete(store, _target(store, namespace, action), _options(action.get("options") or {}))
        case "evict":
            target = _target(store, namespace, {"kind": "Pod", **action}, "eviction")
            evict(store, target, {"metadata": {"name": target.name}}, _options(action.get("options") or {}))
        case "kubectl" if action["args"][0] == "delete":
            registry.delete(store, *kubectl_delete(namespace, action["args"]))
        case "kubectl":
            for target, patch in kubectl_patch(store, namespace, action["args"]):
                registry.patch(store, target, STRATEGIC_MERGE_PATCH, patch)
        case unknown:
            raise CannotPlay(f"the action {unknown!r} is not simulated")


def _target(store: Store, namespace: str, action: Action, subresource: str = "") -> Target:
    resource = resource_of(action["kind"])
    own = namespace if resource.namespaced else ""
    name = pick(store, namespace, action["pick"]) if action.get("pick") else action["name"]
    return Target(resource, own, name, subresource or action.get("sub") or "")


def pick(store: Store, namespace: str, how: Mapping[str, Any]) -> str:
    """The pod that corresponds to one with another random name in the recording: oldest first, then by name."""
    selector = parse_label_selector(how["selector"])
    pods = [
        pod
        for pod in store.list("Pod", namespace)
        if isinstance(pod, Pod)
        and selector.matches(pod.metadata.labels)
        and how.get("node", pod.spec.node_name) == pod.spec.node_name
    ]
    pods.sort(key=lambda pod: (pod.metadata.creation_timestamp or "", pod.metadata.name))
    return pods[min(how.get("which", 0), len(pods) - 1)].metadata.name if pods else ""


def _options(options: Mapping[str, Any]) -> DeleteOptions:
    return DeleteOptions(
        grace_s=options.get("gracePeriodSeconds"),
        orphan_dependents=options.get("orphanDependents"),
        propagation_policy=options.get("propagationPolicy"),
    )
