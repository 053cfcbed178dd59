"""StatefulSets and DaemonSets for tests: manifests, and properties of their pods."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Pod
from kubesim.api.workloads.apps import DaemonSet, StatefulSet
from kubesim.cluster.controllers.daemonset.placement import target_node
from kubesim.cluster.controllers.statefulset.identity import ordinal_of
from tests.support.cluster.controlled import ControlledCluster

Json = dict[str, Any]

CLAIM_TEMPLATE: Json = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def template(image: str = "one", **spec: Any) -> Json:
    return {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "main", "image": image}], **spec}}


def stateful_set(replicas: int = 3, **spec: Any) -> Json:
    fixed = {"serviceName": "db", "selector": {"matchLabels": {"app": "x"}}, "template": template()}
    spec = {"replicas": replicas, **fixed, **spec}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec}


def daemon_set(**spec: Any) -> Json:
    fixed = {"selector": {"matchLabels": {"app": "x"}}, "template": template()}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": {**fixed, **spec}}


def rolling(**rolling_update: Any) -> Json:
    return {"type": "RollingUpdate", "rollingUpdate": rolling_update}


def image_patch(image: str) -> Json:
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}}


def add_node(cluster: ControlledCluster, name: str, labels: dict[str, str] | None = None) -> None:
    """Add a ready node, without the taint of new nodes."""
    cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels or {}}})
    cluster.patch("Node", name, {"spec": {"taints": None}})


def bind(cluster: ControlledCluster) -> None:
    """Bind pods as a scheduler does: each daemon pod to its requested node, others to any node."""
    for pod in cluster.pods():
        if not pod.spec.node_name:
            cluster.store.write(pod, pod.changed(spec=pod.spec.changed(node_name=target_node(pod) or "some-node")))


async def settle(cluster: ControlledCluster, rounds: int = 10) -> None:
    """Nodes act at once: pods are bound, become ready, and are removed when deleted."""
    for _ in range(rounds):
        await cluster.wait(0.2)
        cluster.remove_ending()
        await cluster.wait(0.2)
        bind(cluster)
        cluster.make_all_ready()


def get_set(cluster: ControlledCluster) -> StatefulSet:
    found = cluster.get("StatefulSet", "db")
    assert isinstance(found, StatefulSet)
    return found


def get_daemon_set(cluster: ControlledCluster) -> DaemonSet:
    found = cluster.get("DaemonSet", "agent")
    assert isinstance(found, DaemonSet)
    return found


def by_ordinal(cluster: ControlledCluster) -> dict[int, Pod]:
    return {ordinal_of(pod): pod for pod in sorted(cluster.pods(), key=ordinal_of)}


def images(cluster: ControlledCluster) -> list[str]:
    """The images of the pods by ordinal."""
    return [pod.spec.containers[0].image for pod in by_ordinal(cluster).values()]


def images_by_node(cluster: ControlledCluster) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pod in cluster.pods():
        if pod.metadata.deletion_timestamp is None:
            found.setdefault(target_node(pod), []).append(pod.spec.containers[0].image)
    return {node: sorted(found[node]) for node in sorted(found)}


def messages(cluster: ControlledCluster, reason: str = "") -> list[str]:
    return [event.message for event in cluster.events(reason)]
