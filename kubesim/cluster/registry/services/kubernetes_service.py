"""The Service `kubernetes`, by which pods find the API server: every cluster has it from the start.

Its address is the first of the range of cluster IPs. It has a uid of its own: its presence changes nothing for other
objects.

Mirrors: pkg/controlplane/controller/kubernetesservice/controller.go CreateOrUpdateMasterServiceIfNeeded
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.workloads.services import Service
from kubesim.cluster.store.store import Store

KUBERNETES_SERVICE: Mapping[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "kubernetes",
        "namespace": "default",
        "uid": "5a4c0000-0000-4000-8000-000000000003",
        "labels": {"component": "apiserver", "provider": "kubernetes"},
    },
    "spec": {
        "clusterIP": "10.96.0.1",
        "clusterIPs": ["10.96.0.1"],
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
        "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}],
    },
    "status": {"loadBalancer": {}},
}


def create_kubernetes_service(store: Store) -> None:
    """Unless it is there already."""
    if store.find("Service", "default", "kubernetes") is None:
        store.create(Service.from_json(KUBERNETES_SERVICE))


def make_way_for_service(store: Store, kind: str, namespace: str, name: str) -> None:
    """A user brings the Service of a cluster of theirs: it replaces this one, whose address could not be changed."""
    if (kind, namespace, name) != ("Service", "default", "kubernetes"):
        return
    known = store.find(kind, namespace, name)
    if known is not None and known.metadata.uid == KUBERNETES_SERVICE["metadata"]["uid"]:
        store.remove(kind, namespace, name)
