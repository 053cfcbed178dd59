"""Which nodes match a DaemonSet, and the pods created for them.

Mirrors: pkg/controller/daemon/daemon_controller_test.go TestNodeShouldRunDaemonPod, TestTaint*;
daemon/util/daemonset_util_test.go
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ObjectMeta
from kubesim.api.node import Node, NodeSpec, Taint
from kubesim.api.pod import Pod, PodSpec
from kubesim.api.workloads.apps import DaemonSet
from kubesim.cluster.controllers.daemonset.placement import (
    Fit,
    daemon_tolerations,
    fit_of,
    is_updated,
    new_daemon_pod,
    oldest_first,
    target_node,
)
from tests.support.workloads.sets import daemon_set, template

EVERYWHERE, NOWHERE, STAYS = Fit(True, True), Fit(False, False), Fit(False, True)


def _set(**pod_spec: Any) -> DaemonSet:
    return DaemonSet.from_json(daemon_set(template=template(**pod_spec)))


def _node(*taints: tuple[str, str], unschedulable: bool = False) -> Node:
    marks = tuple(Taint(key=key, effect=effect) for key, effect in taints)
    metadata = ObjectMeta(name="node-0", labels={"type": "production"})
    return Node(metadata=metadata, spec=NodeSpec(taints=marks, unschedulable=unschedulable))


def _required(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = [{"matchExpressions": list(expressions)}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


_PORTS = [{"name": "main", "image": "x", "ports": [{"containerPort": 666, "hostPort": 666}]}]
_BIG = [{"name": "main", "image": "x", "resources": {"requests": {"memory": "200M", "cpu": "500"}}}]


@pytest.mark.parametrize(
    ("pod_spec", "expected"),
    [
        ({}, EVERYWHERE),
        ({"containers": _BIG}, EVERYWHERE),
        ({"nodeName": "other-node"}, NOWHERE),
        ({"nodeName": "node-0"}, EVERYWHERE),
        ({"containers": _PORTS}, EVERYWHERE),
        ({"nodeSelector": {"type": "test"}}, NOWHERE),
        ({"nodeSelector": {"type": "production"}}, EVERYWHERE),
        ({"affinity": _required({"key": "type", "operator": "In", "values": ["test"]})}, NOWHERE),
        ({"affinity": _required({"key": "type", "operator": "In", "values": ["production"]})}, EVERYWHERE),
    ],
    ids=[
        "plain",
        "too big",
        "other node",
        "this node",
        "ports",
        "selector",
        "own selector",
        "affinity",
        "own affinity",
    ],
)
def test_names_and_labels_are_checked_but_not_resources(pod_spec: dict[str, Any], expected: Fit) -> None:
    set_ = DaemonSet.from_json(daemon_set(template={"spec": {"containers": [], **pod_spec}}))
    assert fit_of(set_, _node()) == expected
    assert fit_of(set_, _node(unschedulable=True)) == expected


@pytest.mark.parametrize(
    ("taints", "tolerations", "expected"),
    [
        ([("x", "NoSchedule")], [], STAYS),
        ([("x", "NoExecute")], [], NOWHERE),
        ([("x", "PreferNoSchedule")], [], EVERYWHERE),
        ([("x", "NoSchedule")], [{"key": "x", "operator": "Exists"}], EVERYWHERE),
        ([("x", "NoExecute")], [{"key": "x", "operator": "Exists", "effect": "NoSchedule"}], NOWHERE),
        ([("node.kubernetes.io/not-ready", "NoExecute")], [], EVERYWHERE),
        ([("node.kubernetes.io/not-ready", "NoSchedule")], [], STAYS),
        ([("node.kubernetes.io/unreachable", "NoExecute")], [], EVERYWHERE),
        ([("node.kubernetes.io/disk-pressure", "NoSchedule")], [], EVERYWHERE),
        ([("node.kubernetes.io/memory-pressure", "NoSchedule")], [], EVERYWHERE),
        ([("node.kubernetes.io/pid-pressure", "NoSchedule")], [], EVERYWHERE),
        ([("node.kubernetes.io/unschedulable", "NoSchedule")], [], EVERYWHERE),
        ([("node.kubernetes.io/network-unavailable", "NoSchedule")], [], STAYS),
    ],
)
def test_taints(taints: list[tuple[str, str]], tolerations: list[dict[str, Any]], expected: Fit) -> None:
    assert fit_of(_set(tolerations=tolerations), _node(*taints)) == expected


def test_host_network_pods_tolerate_an_unavailable_network() -> None:
    node = _node(("node.kubernetes.io/network-unavailable", "NoSchedule"))
    assert fit_of(_set(hostNetwork=True), node) == EVERYWHERE


def test_a_toleration_with_tolerationSeconds_is_replaced_by_one_without() -> None:
    limited = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    spec = PodSpec.from_json({"containers": [], "tolerations": [{**limited, "tolerationSeconds": 5}]})
    tolerations = daemon_tolerations(spec)
    assert tolerations[0].to_json() == limited
    assert [each.key.partition("/")[2] for each in tolerations] == [
        "not-ready",
        "unreachable",
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
    ]


def test_a_daemon_pod_requires_its_node_and_keeps_preferences() -> None:
    preferred = [{"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}]
    affinity = _required({"key": "type", "operator": "In", "values": ["production"]})
    affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    affinity["podAffinity"] = {}
    pod = new_daemon_pod(_set(affinity=affinity), "node-0", "12345")
    assert pod.spec.node_name == ""
    field = {"key": "metadata.name", "operator": "In", "values": ["node-0"]}
    assert pod.spec.affinity == {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]},
            "preferredDuringSchedulingIgnoredDuringExecution": preferred,
        },
        "podAffinity": {},
    }
    assert target_node(pod) == "node-0"
    assert pod.metadata.labels == {"app": "x", "controller-revision-hash": "12345"}
    assert pod.metadata.generate_name == "agent-"


def _for_nodes(*names: str) -> dict[str, Any]:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(names)}]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"nodeName": "node-1"}, "node-1"),
        ({"affinity": _for_nodes("node-1")}, "node-1"),
        ({"affinity": _for_nodes("node-1", "node-2")}, ""),
        ({}, ""),
    ],
)
def test_the_node_of_a_pod(spec: dict[str, Any], expected: str) -> None:
    assert target_node(Pod.from_json({"spec": spec})) == expected


_GENERATION, _HASH = "12345", "55555"
_BOTH = {"pod-template-generation": _GENERATION, "controller-revision-hash": _HASH}
_NO_HASH = {"pod-template-generation": _GENERATION}


@pytest.mark.parametrize(
    ("generation", "labels", "revision_hash", "expected"),
    [
        (_GENERATION, _BOTH, _HASH, True),
        (_GENERATION, _BOTH, _HASH + "123", True),
        (_GENERATION, _NO_HASH, _HASH, True),
        (_GENERATION, _NO_HASH, "", True),
        (_GENERATION, _BOTH, "", True),
        ("12350", _BOTH, _HASH, True),
        ("12350", _BOTH, _HASH + "123", False),
        (_GENERATION, {}, "", False),
        (_GENERATION, {}, _HASH, False),
        ("none", _BOTH, _HASH, True),
    ],
)
def test_a_pod_is_updated_if_its_hash_or_generation_matches(
    generation: str, labels: dict[str, str], revision_hash: str, expected: bool
) -> None:
    set_ = _set()
    annotations = {"deprecated.daemonset.template.generation": generation}
    set_ = set_.changed(metadata=set_.metadata.changed(annotations=annotations))
    assert is_updated(set_, Pod(metadata=ObjectMeta(labels=labels)), revision_hash) is expected


def test_bound_pods_come_first_then_older_ones() -> None:
    def pod(name: str, node: str, created: str) -> Pod:
        return Pod(metadata=ObjectMeta(name=name, creation_timestamp=created), spec=PodSpec(node_name=node))

    early, late = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
    pods = [pod("a", "", early), pod("b", "n", late), pod("d", "n", early), pod("c", "n", early)]
    assert [each.metadata.name for each in oldest_first(pods)] == ["c", "d", "b", "a"]
