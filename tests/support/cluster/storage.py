"""Claims, volumes, classes and pods in a short notation, and their states for assertions."""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import ApiObject, ObjectMeta
from kubesim.api.node import Node, NodeCondition, NodeStatus
from tests.support.cluster.controlled import ControlledCluster

Json = dict[str, Any]


def claim(name: str = "c", size: str = "1Gi", **spec: Any) -> Json:
    whole = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": whole}


def volume(name: str = "v", size: str = "1Gi", **spec: Any) -> Json:
    whole = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], **spec}
    whole.setdefault("hostPath", {"path": "/data"})
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": whole}


def storage_class(name: str = "fast", provisioner: str = "disks.example.com", **fields: Any) -> Json:
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    return {**head, "provisioner": provisioner, **fields}


def pod(name: str = "p", node: str = "n1", volumes: list[Json] | None = None) -> Json:
    if volumes is None:
        volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "c"}}]
    spec: Json = {"containers": [{"name": "main", "image": "i"}], "volumes": volumes}
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def node(cluster: ControlledCluster, name: str, **labels: str) -> None:
    ready = NodeStatus(conditions=(NodeCondition(type="Ready", status="True"),))
    metadata = ObjectMeta(name=name, labels={"kubernetes.io/hostname": name, **labels})
    cluster.store.create(Node(api_version="v1", kind="Node", metadata=metadata, status=ready))


def phase(cluster: ControlledCluster, kind: str = "PersistentVolumeClaim", name: str = "c") -> str:
    found = cluster.store.find(kind, "" if kind == "PersistentVolume" else "default", name)
    return "" if found is None else str(found.extra["status"]["phase"])


def of_claim(cluster: ControlledCluster, name: str = "c") -> Json:
    found: ApiObject = cluster.get("PersistentVolumeClaim", name)
    return found.extra


def reasons(cluster: ControlledCluster) -> list[str]:
    return [event.reason for event in cluster.events()]


def text(cluster: ControlledCluster, reason: str) -> str:
    (event,) = cluster.events(reason)
    return event.message
