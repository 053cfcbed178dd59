"""The objects of a fresh cluster, and those created in every new namespace.

Mirrors: pkg/controlplane/controller/systemnamespaces; pkg/controller/serviceaccount, certificates/rootcacertpublisher;
pkg/registry/scheduling/rest storage_scheduling.go (the system's priority classes)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.cluster.registry.kind_rules import SYSTEM_PRIORITIES
from kubesim.cluster.registry.registry import Target, create
from kubesim.cluster.registry.services.kubernetes_service import create_kubernetes_service
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent

SYSTEM_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
# A CA certificate that signs nothing: clients of the in-memory API server use no TLS.
ROOT_CA = """\
-----BEGIN CERTIFICATE-----
MIIBdjCCARugAwIBAgIES1NJTTAKBggqhkjOPQQDAjAVMRMwEQYDVQQDDAprdWJl
cm5ldGVzMB4XDTk5MDEwMTAwMDAwMFoXDTQ5MDEwMTAwMDAwMFowFTETMBEGA1UE
AwwKa3ViZXJuZXRlczBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABNI3rOBS4wk8
ZwBte/ObEB5LVFu1W/qS9QDiquDNPLPpSUZdvmkHM3lwrGCCAT/8MSxKCLuPDNqf
jh3s30c9sJ2jWTBXMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgKkMB0G
A1UdDgQWBBR1/P6Jvla6U3FWcteUPOaQoB8aWzAVBgNVHREEDjAMggprdWJlcm5l
dGVzMAoGCCqGSM49BAMCA0kAMEYCIQCm+J3s//9DprleEzWECFmpvTxKkpcfmA+k
GPyGDuUYYAIhAPH9tXiqn9uhiU+MeRjugCPFCRBpx7pbowMuE5oFqAH1
-----END CERTIFICATE-----
"""
_ROOT_CA_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)
_ROOT_CA_CONFIG_MAP = {
    "metadata": {
        "name": "kube-root-ca.crt",
        "annotations": {"kubernetes.io/description": _ROOT_CA_DESCRIPTION},
    },
    "data": {"ca.crt": ROOT_CA},
}
_PRIORITY_DESCRIPTIONS = {
    "system-cluster-critical": (
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
    ),
    "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
}
_FURNITURE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ServiceAccount", {"metadata": {"name": "default"}}),
    ("ConfigMap", _ROOT_CA_CONFIG_MAP),
)


def bootstrap(store: Store) -> Callable[[], None]:
    """Fill an empty store, and populate new namespaces until the returned function is called."""
    stop = store.watch("Namespace", lambda event: _on_new_namespace(store, event))
    for name in SYSTEM_NAMESPACES:
        create_namespace(store, name)
    for name, value in SYSTEM_PRIORITIES.items():
        body = {"metadata": {"name": name}, "value": value, "description": _PRIORITY_DESCRIPTIONS[name]}
        create(store, Target(RESOURCES["PriorityClass"]), body)
    create_kubernetes_service(store)
    return stop


def create_namespace(store: Store, name: str) -> ApiObject:
    return create(store, Target(RESOURCES["Namespace"]), {"metadata": {"name": name}})


def _on_new_namespace(store: Store, event: WatchEvent) -> None:
    """Create the default service account and the root CA ConfigMap that its token volume projects."""
    if event.type == "ADDED":
        populate_namespace(store, event.object.metadata.name)


def populate_namespace(store: Store, name: str) -> None:
    """Create the missing objects of a namespace."""
    for kind, body in _FURNITURE:
        if store.find(kind, name, body["metadata"]["name"]) is None:
            create(store, Target(RESOURCES[kind], name), body)
