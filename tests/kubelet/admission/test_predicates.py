"""The kubelet's own admission checks: resources, affinity, name, ports, taints, and features that the node lacks."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.node_info import NodeResources
from kubesim.features import FeatureGates
from kubesim.kubelet.admission import AdmissionResult, admit
from kubesim.kubelet.admission.node_admission import NodeAdmission


def node(allocatable: dict[str, str] | None = None, *, labels: Any = None, taints: Any = ()) -> Node:
    amounts = {"cpu": "2", "memory": "1Gi", "pods": "10", **(allocatable or {})}
    metadata = {"name": "node-1", "labels": {"zone": "a"} if labels is None else labels}
    return Node.from_json({"metadata": metadata, "spec": {"taints": taints}, "status": {"allocatable": amounts}})


def pod(requests: dict[str, str] | None = None, *, metadata: Any = None, ports: Any = (), **spec: Any) -> Pod:
    container = {"name": "c", "resources": {"requests": requests or {}}, "ports": ports}
    return Pod.from_json({"metadata": metadata or {}, "spec": {"containers": [container], **spec}})


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def test_resources_are_counted_with_the_existing_pods() -> None:
    others = [pod({"cpu": "1500m"}), pod({"memory": "512Mi"})]
    assert admit(pod({"cpu": "500m", "memory": "512Mi"}), node(), others) == AdmissionResult(True)
    result = admit(pod({"cpu": "501m", "memory": "1Gi"}), node(), others)
    assert (result.admit, result.reason) == (False, "OutOfcpu")
    assert result.message == "Node didn't have enough resource: cpu, requested: 501, used: 1500, capacity: 2000"
    assert [failure.reason for failure in result.failures] == ["OutOfcpu", "OutOfmemory"]


def test_every_failure_is_found_and_the_first_in_order_is_reported() -> None:
    taint = {"key": "k", "effect": "NoExecute"}
    result = admit(
        pod({"ephemeral-storage": "1"}, nodeName="other", nodeSelector={"zone": "b"}, ports=[{"hostPort": 80}]),
        node({"pods": "1"}, taints=[taint]),
        [pod(ports=[{"hostPort": 80, "protocol": "TCP", "hostIP": "10.0.0.1"}])],
    )
    assert [failure.reason for failure in result.failures] == [
        "OutOfpods", "OutOfephemeral-storage", "NodeAffinity", "NodeName", "NodePorts", "TaintToleration"
    ]  # fmt: skip
    assert result.message == "Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1"


def test_only_extended_resources_the_node_knows_count_but_huge_pages_always() -> None:
    assert admit(pod({"example.com/gpu": "1"}), node(), []).admit
    assert admit(pod({"example.com/gpu": "3"}), node({"example.com/gpu": "2"}), []).reason == "OutOfexample.com/gpu"
    assert admit(pod({"hugepages-2Mi": "2Mi"}), node(), []).reason == "OutOfhugepages-2Mi"


def test_a_dynamically_allocated_resource_is_not_counted_again() -> None:
    mapping = {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "r"}
    claimed = Pod.from_json({
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"example.com/gpu": "3"}}}]},
        "status": {"extendedResourceClaimStatus": {"requestMappings": [mapping], "resourceClaimName": "x"}},
    })  # fmt: skip
    has_two = node({"example.com/gpu": "2"})
    assert admit(claimed, has_two, []).admit
    assert not admit(claimed, has_two, [], FeatureGates({"DRAExtendedResource": False})).admit


@pytest.mark.parametrize(
    ("term", "matches"),
    [
        (expression("zone", "In", "a", "b"), True),
        (expression("zone", "NotIn", "b"), True),
        (expression("absent", "NotIn", "b"), True),
        (expression("absent", "Exists"), False),
        (expression("size", "Gt", "9"), True),
        (expression("size", "Lt", "10"), False),
        (expression("size", "Gt", "-1"), False),  # not a label value, so the term selects nothing
        (expression("zone", "Exists", "a"), False),
        (expression("bad key", "DoesNotExist"), False),
        (expression("kubernetes.io/os", "In", "linux"), True),  # set by the kubelet
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}, True),
        ({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["node-1"]}]}, False),
        ({"matchFields": [{"key": "metadata.name", "operator": "Exists", "values": ["node-1"]}]}, False),
        ({}, False),
    ],
)
def test_node_affinity(term: dict[str, Any], matches: bool) -> None:
    labelled = node(labels={"zone": "a", "size": "10"})
    assert admit(pod(affinity=affinity(term)), labelled, []).admit == matches
    assert admit(pod(affinity=affinity(term, expression("zone", "In", "a"))), labelled, []).admit


@pytest.mark.parametrize(
    ("wanted", "taken", "conflict"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, True),
        ({"hostPort": 80, "protocol": "UDP"}, {"hostPort": 80}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "0.0.0.0"}, True),
        ({"containerPort": 80}, {"hostPort": 80}, False),
    ],
)
def test_host_ports(wanted: dict[str, Any], taken: dict[str, Any], conflict: bool) -> None:
    assert admit(pod(ports=[wanted]), node(), [pod(ports=[taken])]).admit is not conflict


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "k", "value": "5"}, True),
        ({"key": "k", "operator": "Equal", "value": "6"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "k", "operator": "Lt", "value": "6"}, False),
    ],
)
def test_taints(toleration: dict[str, Any], tolerated: bool) -> None:
    tainted = node(taints=[{"key": "k", "value": "5", "effect": "NoExecute"}, {"key": "x", "effect": "NoSchedule"}])
    assert admit(pod(tolerations=[toleration]), tainted, []).admit == tolerated


def test_taints_of_static_pods_and_comparison_operators() -> None:
    tainted = node(taints=[{"key": "k", "value": "5", "effect": "NoExecute"}])
    assert admit(pod(metadata={"annotations": {"kubernetes.io/config.source": "file"}}), tainted, []).admit
    gates = FeatureGates({"TaintTolerationComparisonOperators": True})
    below, above = ({"key": "k", "operator": operator, "value": "6"} for operator in ("Lt", "Gt"))
    assert admit(pod(tolerations=[below]), tainted, [], gates).admit
    assert not admit(pod(tolerations=[above]), tainted, [], gates).admit


def test_a_reason_that_more_resources_cannot_fix_is_reported_alone() -> None:
    windows = admit(pod({"cpu": "9"}, metadata={"labels": {"kubernetes.io/os": "windows"}}), node(), [])
    assert (windows.reason, windows.failures) == ("PodOSSelectorNodeLabelDoesNotMatch", ())
    assert admit(pod(os={"name": "windows"}), node(), []).reason == "PodOSNotSupported"
    strict = admit(pod(securityContext={"supplementalGroupsPolicy": "Strict"}), node(), [])
    assert strict.reason == "SupplementalGroupsPolicyNotSupported"
    assert strict.message == "SupplementalGroupsPolicy=Strict is not supported in this node"


def test_a_resource_that_is_not_counted() -> None:
    assert admit(pod({"apples": "1000"}), node({"apples": "1"}), []).admit


@pytest.mark.parametrize(
    ("value", "bound", "admitted"), [("5", "10", True), ("10", "10", False), ("5", "many", False), ("?", "10", False)]
)
def test_taints_compared_with_numbers(value: str, bound: str, admitted: bool) -> None:
    taint = {"key": "load", "value": value, "effect": "NoExecute"}
    toleration = {"key": "load", "operator": "Lt", "value": bound, "effect": "NoExecute"}
    gates = FeatureGates({"TaintTolerationComparisonOperators": True})
    assert admit(pod(tolerations=[toleration]), node(taints=[taint]), [], gates=gates).admit is admitted


OLD = ["v1.6", "v1.12"]


@pytest.mark.parametrize("profile", OLD)
def test_older_kubelets_have_their_own_predicates_and_order(profile: str) -> None:
    taint = {"key": "k", "effect": "NoExecute"}
    port = [{"hostPort": 80, "containerPort": 80}]
    asking = pod(nodeName="other", nodeSelector={"zone": "b"}, ports=port)
    result = admit(asking, node(taints=[taint]), [pod(ports=port)], FeatureGates(profile=profile))
    assert [failure.reason for failure in result.failures] == ["HostName", "PodFitsHostPorts", "MatchNodeSelector"]
    assert result.message == "Predicate HostName failed"


@pytest.mark.parametrize("profile", OLD)
def test_older_kubelets_do_not_check_taints_and_operating_systems(profile: str) -> None:
    taint = {"key": "k", "effect": "NoExecute"}
    gates = FeatureGates(profile=profile)
    assert admit(pod(os={"name": "windows"}), node(taints=[taint]), [], gates).admit


def test_without_the_gate_no_init_container_may_restart_always() -> None:
    gates = FeatureGates({"SidecarContainers": False}, profile="v1.30")
    sidecar = {"name": "log", "restartPolicy": "Always"}
    result = admit(pod(initContainers=[{"name": "init"}, sidecar]), node(), [], gates)
    assert not result.admit
    assert (result.reason, result.message) == (
        "InitContainerRestartPolicyForbidden",
        'Init container "log" may not have a non-default restartPolicy',
    )


def test_the_capacity_of_a_plugin_counts_for_one_pod() -> None:
    asked: list[str] = []

    def plugins(pod: Pod, allocatable: NodeResources) -> NodeResources:
        asked.append(pod.metadata.name)
        resources = allocatable.copy()
        resources.scalars["a.b/gpu"] = 1
        return resources

    admission = NodeAdmission(lambda: node({"a.b/gpu": "0"}))
    wants = pod({"a.b/gpu": "1"}, metadata={"name": "wants"})
    assert not admission.admit(wants, lambda: ()).admit
    admission.update_plugin_resources = plugins
    assert admission.admit(wants, lambda: ()).admit
    assert asked == ["wants"]
