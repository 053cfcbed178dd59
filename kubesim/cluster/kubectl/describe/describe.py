"""Describes an object at a given time: finds related objects, and chooses the page."""

from __future__ import annotations

from kubesim.cluster.kubectl.describe import others, storage, workloads
from kubesim.cluster.kubectl.describe.nodes import OnNode, describe_node
from kubesim.cluster.kubectl.describe.page import DescriptionPage
from kubesim.cluster.kubectl.describe.pods import describe_pod
from kubesim.cluster.kubectl.events import about
from kubesim.cluster.saved.moment import ClusterMoment, ObjectSelection
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.tables.table import JsonObject, dig

_LEASES = "kube-node-lease"
_SERVICE = "kubernetes.io/service-name"
_WITH_PODS = {
    "ReplicaSet": workloads.describe_replica_set,
    "ReplicationController": workloads.describe_replica_set,
    "StatefulSet": workloads.describe_stateful_set,
    "DaemonSet": workloads.describe_daemon_set,
    "PersistentVolumeClaim": storage.describe_claim,
}
_ALONE = {
    "Pod": describe_pod,
    "Job": workloads.describe_job,
    "CronJob": workloads.describe_cron_job,
    "ConfigMap": others.describe_config_map,
    "ServiceAccount": others.describe_service_account,
    "PriorityClass": others.describe_priority_class,
    "PersistentVolume": storage.describe_persistent_volume,
    "StorageClass": storage.describe_storage_class,
}


def describe(moment: ClusterMoment, obj: JsonObject) -> str:
    page, kind = DescriptionPage(moment.now), obj["kind"]
    namespace = obj["metadata"].get("namespace")
    events = about(moment.list(RESOURCES["Event"]), obj)
    if kind == "Node":
        describe_node(page, obj, _on_node(moment, obj["metadata"]["name"]), events)
    elif kind == "Deployment":
        sets = moment.list(RESOURCES["ReplicaSet"], ObjectSelection(namespace))
        workloads.describe_deployment(page, obj, sets, events)
    elif kind in _WITH_PODS:
        _WITH_PODS[kind](page, obj, moment.list(RESOURCES["Pod"], ObjectSelection(namespace)), events)
    elif kind == "Service":
        slices = moment.list(RESOURCES["EndpointSlice"], ObjectSelection(namespace))
        name = obj["metadata"]["name"]
        own = [each for each in slices if dig(each, "metadata.labels", {}).get(_SERVICE) == name]
        others.describe_service(page, obj, own, events)
    elif kind == "Secret":
        others.describe_secret(page, obj)
    elif kind == "Namespace":
        others.describe_namespace(page, obj)
    else:
        _ALONE.get(kind, others.describe_any)(page, obj, events)
    return page.text()


def _on_node(moment: ClusterMoment, name: str) -> OnNode:
    pods = [
        pod
        for pod in moment.list(RESOURCES["Pod"])
        if dig(pod, "spec.nodeName") == name and dig(pod, "status.phase") not in ("Succeeded", "Failed")
    ]
    slices = [each for each in moment.list(RESOURCES["ResourceSlice"]) if dig(each, "spec.nodeName") == name]
    return OnNode(pods, moment.find(RESOURCES["Lease"], _LEASES, name), slices)
