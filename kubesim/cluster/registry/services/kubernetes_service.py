"""The Service `kubernetes`, through which pods reach the API server. It exists in every cluster.

It has the first cluster IP. Its uid is fixed, so that creating it changes no other uid.

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
    """Create the Service unless it exists."""
    if store.find("Service", "default", "kubernetes") is None:
        store.create(Service.from_json(KUBERNETES_SERVICE))


def yield_to_user_service(store: Store, kind: str, namespace: str, name: str) -> None:
    """Remove the generated Service when a user creates their own, because its address is immutable."""
    if (kind, namespace, name) != ("Service", "default", "kubernetes"):
        return
    known = store.find(kind, namespace, name)
    if known is not None and known.metadata.uid == KUBERNETES_SERVICE["metadata"]["uid"]:
        store.remove(kind, namespace, name)
