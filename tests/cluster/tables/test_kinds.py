"""Table rows of other kinds; cases adapted from upstream's TestPrintDeployment, TestPrintJob, TestPrintService and
others.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.timestamps import parse_time
from kubesim.cluster.tables.rules import table_of
from kubesim.cluster.tables.table import TableContext

NOW = parse_time("2026-01-01T01:00:00Z")
TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "img:1"}, {"name": "b", "image": "img:2"}]}}
SELECTOR = {"matchLabels": {"foo": "bar"}}


def row(kind: str, *, wide: bool = False, metadata: dict[str, Any] | None = None, **fields: Any) -> list[object]:
    named = {"name": "x", "creationTimestamp": "2026-01-01T00:58:00Z", **(metadata or {})}
    rules = table_of(kind)
    cells = rules.cells({"kind": kind, "metadata": named, **fields}, TableContext(NOW, wide))
    assert len(cells) == len(rules.columns)
    return [cells[number] for number in rules.shown(wide)]


def test_deployments_and_replica_sets() -> None:
    spec = {"replicas": 5, "template": TEMPLATE, "selector": SELECTOR}
    status = {"replicas": 10, "updatedReplicas": 2, "unavailableReplicas": 4, "availableReplicas": 1}
    assert row("Deployment", spec=spec, status=status) == ["x", "0/5", 2, 1, "2m"]
    assert row("Deployment", wide=True, spec=spec)[5:] == ["a,b", "img:1,img:2", "foo=bar"]
    counts = {"replicas": 4, "readyReplicas": 3}
    assert row("ReplicaSet", spec=spec, status=counts) == ["x", 5, 4, 3, "2m"]
    plain = {**spec, "selector": {"a": "1", "b": "2"}}
    assert row("ReplicationController", wide=True, spec=plain, status=counts)[1:4] == [5, 4, 3]
    assert row("ReplicationController", wide=True, spec=plain)[-1] == "a=1,b=2"


def test_stateful_sets_and_daemon_sets() -> None:
    spec = {"replicas": 5, "template": TEMPLATE, "selector": SELECTOR}
    assert row("StatefulSet", wide=True, spec=spec, status={"readyReplicas": 2}) == [
        "x", "2/5", "2m", "a,b", "img:1,img:2",
    ]  # fmt: skip
    status = {"desiredNumberScheduled": 3, "currentNumberScheduled": 2, "numberReady": 1, "updatedNumberScheduled": 2}
    assert row("DaemonSet", spec=spec, status=status) == ["x", 3, 2, 1, 2, 0, "<none>", "2m"]


@pytest.mark.parametrize(
    ("spec", "status", "cells"),
    [
        ({"completions": 2}, {"succeeded": 1}, ["Running", "1/2", ""]),
        ({}, {}, ["Running", "0/1", ""]),
        ({"parallelism": 4}, {}, ["Running", "0/1 of 4", ""]),
        ({"completions": 1}, {"startTime": "2026-01-01T00:59:00Z"}, ["Running", "0/1", "60s"]),
        (
            {"completions": 1},
            {
                "startTime": "2026-01-01T00:58:00Z",
                "completionTime": "2026-01-01T00:58:33Z",
                "succeeded": 1,
                "conditions": [{"type": "Complete", "status": "True"}],
            },
            ["Complete", "1/1", "33s"],
        ),
        ({}, {"conditions": [{"type": "Failed", "status": "True"}]}, ["Failed", "0/1", ""]),
        ({}, {"conditions": [{"type": "Suspended", "status": "True"}]}, ["Suspended", "0/1", ""]),
        ({}, {"conditions": [{"type": "FailureTarget", "status": "True"}]}, ["FailureTarget", "0/1", ""]),
        ({}, {"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]}, ["SuccessCriteriaMet", "0/1", ""]),
        ({}, {"conditions": [{"type": "Failed", "status": "False"}]}, ["Running", "0/1", ""]),
    ],
)
def test_jobs(spec: dict[str, Any], status: dict[str, Any], cells: list[str]) -> None:
    assert row("Job", spec=spec, status=status) == ["x", *cells, "2m"]
    deleted = {"deletionTimestamp": "2026-01-01T00:59:00Z"}
    if cells[0] not in ("Complete", "Failed"):
        assert row("Job", metadata=deleted, spec=spec, status=status)[1] == "Terminating"


def test_cron_jobs() -> None:
    spec = {"schedule": "0/5 * * * ?", "suspend": False, "jobTemplate": {"spec": {"template": TEMPLATE}}}
    status = {"lastScheduleTime": "2026-01-01T00:30:00Z", "active": [{}, {}]}
    assert row("CronJob", spec=spec, status=status) == ["x", "0/5 * * * ?", "<none>", "False", 2, "30m", "2m"]
    zoned = {**spec, "timeZone": "Europe/Berlin", "suspend": None}
    assert row("CronJob", wide=True, spec=zoned) == [
        "x", "0/5 * * * ?", "Europe/Berlin", "<unset>", 0, "<none>", "2m", "a,b", "img:1,img:2", "<none>",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "status", "cells"),
    [
        ({"type": "ClusterIP", "clusterIPs": ["10.9.8.7"], "ports": [{"port": 80, "protocol": "TCP"}]}, {},
         ["ClusterIP", "10.9.8.7", "<none>", "80/TCP"]),
        ({"type": "NodePort", "clusterIPs": ["10.9.8.7"], "ports": [{"port": 80, "protocol": "UDP", "nodePort": 9999}]},
         {}, ["NodePort", "10.9.8.7", "<none>", "80:9999/UDP"]),
        ({"type": "LoadBalancer", "clusterIPs": ["10.9.8.7"]}, {}, ["LoadBalancer", "10.9.8.7", "<pending>", "<none>"]),
        ({"type": "LoadBalancer", "clusterIPs": ["10.9.8.7"], "externalIPs": ["1.2.3.4"]},
         {"loadBalancer": {"ingress": [{"ip": "2.2.2.2"}]}}, ["LoadBalancer", "10.9.8.7", "2.2.2.2,1.2.3.4", "<none>"]),
        ({"type": "LoadBalancer"}, {"loadBalancer": {"ingress": [{"hostname": "a-long-name.example.com"}]}},
         ["LoadBalancer", "<none>", "a-long-name.e...", "<none>"]),
        ({"type": "ExternalName", "externalName": "my.example.com"}, {},
         ["ExternalName", "<none>", "my.example.com", "<none>"]),
    ],
)  # fmt: skip
def test_services(spec: dict[str, Any], status: dict[str, Any], cells: list[str]) -> None:
    assert row("Service", spec=spec, status=status) == ["x", *cells, "2m"]


def test_endpoint_slices_show_three_of_many() -> None:
    endpoints = [{"addresses": [f"10.1.2.{n}"]} for n in range(5)]
    ports = [{"port": 80 + n} for n in range(4)]
    assert row("EndpointSlice", addressType="IPv4", ports=ports, endpoints=endpoints) == [
        "x", "IPv4", "80,81,82 + 1 more...", "10.1.2.0,10.1.2.1,10.1.2.2 + 2 more...", "2m",
    ]  # fmt: skip
    assert row("EndpointSlice", addressType="IPv4", ports=[{"name": "http"}])[2:4] == ["http", "<unset>"]


def test_claims_and_volumes() -> None:
    spec = {"volumeName": "v", "storageClassName": "fast", "volumeMode": "Filesystem"}
    status = {"phase": "Bound", "capacity": {"storage": "4Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"]}
    assert row("PersistentVolumeClaim", wide=True, spec=spec, status=status) == [
        "x", "Bound", "v", "4Gi", "RWO,RWX", "fast", "<unset>", "2m", "Filesystem",
    ]  # fmt: skip
    pending = {"accessModes": ["ReadOnlyMany"], "resources": {"requests": {"storage": "1Gi"}}}
    assert row("PersistentVolumeClaim", spec=pending, status={"phase": "Pending"})[1:6] == ["Pending", "", "", "", ""]
    claim = {"namespace": "ns", "name": "c"}
    volume = {"capacity": {"storage": "4Gi"}, "accessModes": ["ReadOnlyMany"], "claimRef": claim}
    deleted = {"deletionTimestamp": "2026-01-01T00:59:00Z"}
    assert row("PersistentVolume", metadata=deleted, spec=volume, status={"phase": "Bound"}) == [
        "x", "4Gi", "ROX", "", "Terminating", "ns/c", "", "<unset>", "", "2m",
    ]  # fmt: skip


def test_cluster_level_kinds() -> None:
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    assert row("StorageClass", metadata=default, provisioner="p") == [
        "x (default)", "p", "Delete", "Immediate", False, "2m",
    ]  # fmt: skip
    assert row("PodDisruptionBudget", spec={"minAvailable": "50%"}, status={"disruptionsAllowed": 1}) == [
        "x", "50%", "N/A", 1, "2m",
    ]  # fmt: skip
    claim: dict[str, Any] = {"allocation": {}, "reservedFor": [{}]}
    assert row("ResourceClaim", status=claim)[1] == "allocated,reserved"
    assert row("ResourceClaim")[1] == "pending"
    hard = {"cpu": "4", "limits.cpu": "8"}
    assert row("ResourceQuota", status={"hard": hard, "used": {"cpu": "1"}})[1:3] == ["cpu: 1/4", "limits.cpu: 0/8"]
    owner = {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": True}]}
    assert row("ControllerRevision", metadata=owner, revision=2) == ["x", "daemonset.apps/d", 2, "2m"]
    assert row("Gateway") == ["x", "2m"]


def test_a_node_without_conditions_is_unknown() -> None:
    labels = {"labels": {"node-role.kubernetes.io/b": "", "kubernetes.io/role": "a", "node-role.kubernetes.io/": ""}}
    assert row("Node", metadata=labels, spec={"unschedulable": True})[1:3] == ["Unknown,SchedulingDisabled", "a,b"]


def test_label_selectors_with_expressions() -> None:
    selector = {
        "matchLabels": {"z": "1"},
        "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["y", "x"]},
            {"key": "b", "operator": "NotIn", "values": ["n"]},
            {"key": "c", "operator": "Exists"},
            {"key": "d", "operator": "DoesNotExist"},
        ],
    }
    assert row("ReplicaSet", wide=True, spec={"selector": selector})[-1] == "a in (x,y),b notin (n),c,!d,z=1"


def test_network_kinds() -> None:
    rules = [{"host": f"{name}.example"} for name in "abcd"]
    spec: dict[str, Any] = {"ingressClassName": "nginx", "rules": rules, "tls": [{}]}
    status: dict[str, Any] = {"loadBalancer": {"ingress": [{"ip": "10.0.0.2"}, {"hostname": "b.example"}]}}
    hosts = "a.example,b.example,c.example + 1 more..."
    assert row("Ingress", spec=spec, status=status) == ["x", "nginx", hosts, "10.0.0.2,b.ex...", "80, 443", "2m"]
    assert row("Ingress", spec={"defaultBackend": {}}) == ["x", "<none>", "*", "", "80", "2m"]
    parameters = {"apiGroup": "k8s.example", "kind": "P", "name": "p"}
    spec = {"controller": "k8s.example/c", "parameters": parameters}
    assert row("IngressClass", spec=spec) == ["x", "k8s.example/c", "P.k8s.example/p", "2m"]
    assert row("NetworkPolicy", spec={"podSelector": SELECTOR}) == ["x", "foo=bar", "2m"]
    subset: dict[str, Any] = {
        "addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
        "ports": [{"port": 80}, {"port": 81}],
    }
    shown = "10.0.0.1:80,[fd00::1]:80,10.0.0.1:81 + 1 more..."
    assert row("Endpoints", subsets=[subset]) == ["x", shown, "2m"]


def test_autoscalers() -> None:
    metrics: list[dict[str, Any]] = [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
        {"type": "Pods", "pods": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "5"}}},
        {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "5"}}},
    ]
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "minReplicas": 1, "maxReplicas": 3}
    status = {"currentReplicas": 2, "currentMetrics": [{"resource": {"current": {"averageUtilization": 40}}}]}
    shown = row("HorizontalPodAutoscaler", spec={**spec, "metrics": metrics}, status=status)
    assert shown == ["x", "Deployment/d", "cpu: 40%/80%, <unknown>/5 + 1 more...", "1", 3, 2, "2m"]


def test_access_and_kinds_without_columns() -> None:
    subjects = [
        {"kind": "User", "name": "a"},
        {"kind": "User", "name": "b"},
        {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
    ]
    role = {"kind": "Role", "name": "r"}
    assert row("RoleBinding", wide=True, roleRef=role, subjects=subjects) == ["x", "Role/r", "2m", "a, b", "", "n/s"]
    assert row("LimitRange") == row("Role") == ["x", "2026-01-01T00:58:00Z"]
