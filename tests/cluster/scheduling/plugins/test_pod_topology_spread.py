"""Pod topology spread constraints.

Adapted from: plugins/podtopologyspread filtering_test.go TestSingleConstraint, TestMultipleConstraints, scoring_test.go
in part.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.workloads.apps import ReplicaSet
from kubesim.cluster.scheduling.plugins.pods.pod_topology_spread_score import PLUGIN, score
from tests.support.cluster.scheduled import REFUSED, UNRESOLVABLE, answers, cycle_of, node, pod, pod_object

Json = dict[str, Any]
FOO, BAR = ({"matchExpressions": [{"key": key, "operator": "Exists"}]} for key in ("foo", "bar"))
FITS = ""


def zoned(name: str, zone: str, *taints: str, **labels: str) -> Node:
    return node(name, labels={"zone": zone, "node": name, **labels}, taints=taints)


def four(**labels: str) -> list[Node]:
    return [zoned("a", "zone1"), zoned("b", "zone1"), zoned("x", "zone2"), zoned("y", "zone2")]


def spread(skew: int, key: str, selector: Json | None = FOO, **fields: Any) -> Json:
    constraint = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", **fields}
    return constraint if selector is None else {**constraint, "labelSelector": selector}


def on(places: str, *labels: str) -> list[Pod]:
    """A pod for each letter, on the node of that name; labelled `foo` by default."""
    wanted = dict.fromkeys(labels or ("foo",), "")
    return [pod_object(pod("e", labels=wanted), place, f"{place}{n}{labels}") for n, place in enumerate(places)]


def terminating(place: str) -> Pod:
    (found,) = on(place)
    return found.changed(metadata=found.metadata.changed(uid="t", deletion_timestamp="2000-01-01T00:00:00Z"))


def elsewhere(place: str, namespace: str) -> Pod:
    return pod_object(pod("e", labels={"foo": ""}, namespace=namespace), place, f"{namespace}{place}")


def affine(*names: str, operator: str = "In") -> Json:
    terms = [{"matchExpressions": [{"key": "node", "operator": operator, "values": list(names)}]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


ABC = [node(name, labels={"node": name}) for name in "abc"]
NOT_B = {"affinity": affine("b", operator="NotIn")}
FOOS = {"nodeSelector": {"foo": ""}}


@pytest.mark.parametrize(
    ("constraints", "nodes", "pods", "spec", "expected"),
    [
        ([spread(1, "zone")], four(), [], {}, "....",),
        ([spread(1, "zone", BAR)], four(), [], {}, "...."),
        ([spread(1, "zone")], four(), [elsewhere("a", "ns1"), elsewhere("a", "ns2"), *on("xy")], {}, "..--"),
        ([spread(1, "zone", None)], four(), on("xy"), {}, "...."),
        ([spread(1, "zone")], four(), on("aabyyy"), {}, "...."),
        ([spread(1, "zone")], [zoned("a", "zone1"), node("b", labels={"zon": "zone1"}), *four()[2:]], on("abxy"), {},
         ".!--"),
        ([spread(1, "rack")], four()[::2], [], {}, "!!"),
        ([spread(1, "node")], four(), on("aabyyy"), {}, "--.-"),
        ([spread(2, "node")], four(), on("aabyyy"), {}, "-..-"),
        ([spread(1, "node")], four(), on("aabyyy"), {"labels": {"bar": ""}}, "-..-"),
        ([spread(1, "node")], four(), on("aabyyy"), {"affinity": affine("a", "y")}, "...-"),
        ([spread(1, "node")], ABC[:2], [terminating("a"), *on("b")], {}, ".-"),
        ([spread(1, "zone")], four(), on("bby"), NOT_B, "..--"),
        ([spread(2, "node", minDomains=4)], ABC, on("aabbc"), {}, "--."),
        ([spread(2, "node", minDomains=2)], ABC, on("aabbc"), {}, "..."),
        ([spread(2, "zone", minDomains=3)], four(), on("aby"), {}, "--.."),
        ([spread(2, "zone", minDomains=1)], four(), on("aby"), {}, "...."),
        ([spread(1, "node", nodeAffinityPolicy="Ignore")], four(),
         on("aabyyy"), {"affinity": affine("a", "y")}, "--.-"),
        ([spread(1, "node", nodeTaintsPolicy="Honor")], [*four()[:2], zoned("x", "zone2", "k:NoSchedule")],
         on("ab"), {},
         "..."),
        ([spread(1, "node")], [*four()[:2], zoned("x", "zone2", "k:NoSchedule")], on("ab"), {}, "--."),
        ([spread(1, "node", matchLabelKeys=["foo"])], ABC[:2], on("a"), {"labels": {"foo": "other"}}, ".."),
        # several constraints
        ([spread(1, "zone"), spread(1, "node")], four(), on("aabyyy"), {}, "--.-"),
        ([spread(1, "zone"), spread(1, "node")], four(), on("aabyyyy"), {}, "----"),
        ([spread(1, "zone"), spread(1, "node", BAR)], four(), [*on("a"), *on("y", "bar")],
         {"labels": {"foo": "", "bar": ""}}, "--.-"),
        ([spread(1, "zone"), spread(1, "node", BAR)], four(), [*on("a"), *on("xy", "bar")],
         {"labels": {"foo": "", "bar": ""}}, "----"),
        ([spread(1, "zone"), spread(1, "node", BAR)], four(), [*on("ayy"), *on("ay", "foo", "bar")],
         {"labels": {"foo": "", "bar": ""}}, "-.--"),
        ([spread(1, "zone"), spread(1, "node", BAR)], four(), [*on("a"), *on("xy", "bar")], {"labels": {"bar": ""}},
         "..--"),
        ([spread(1, "zone"), spread(1, "node")],
         [*four()[:2], node("x", labels={"zone": "zone2"}), zoned("y", "zone2")], on("ay"), {}, "-.!-"),
        ([spread(1, "zone"), spread(1, "node", nodeAffinityPolicy="Ignore")],
         [zoned("a", "zone1", foo=""), zoned("b", "zone1", foo=""), zoned("x", "zone2", foo=""), zoned("y", "zone2")],
         on("aby"), FOOS, "--.-"),
        ([spread(1, "zone", nodeTaintsPolicy="Honor"), spread(1, "node")],
         [zoned("a", "zone1"), zoned("b", "zone1"), zoned("x", "zone2"), zoned("y", "zone2", "k:NoSchedule")],
         on("aby"), {}, "--.-"),
        ([spread(1, "zone"), spread(1, "node")],
         [zoned("a", "zone1", foo=""), zoned("b", "zone1"), zoned("x", "zone2", foo=""),
          zoned("y", "zone2", "k:NoSchedule", foo="")], on("aby"), FOOS, "-..-"),
        ([spread(1, "zone", nodeTaintsPolicy="Honor"), spread(1, "node", nodeAffinityPolicy="Ignore")],
         [zoned("a", "zone1", foo=""), zoned("b", "zone1"), zoned("x", "zone2", foo=""),
          zoned("y", "zone2", "k:NoSchedule", foo="")], on("aby"), FOOS, "--.-"),
    ],
)  # fmt: skip
def test_hard_constraints(
    constraints: list[Json], nodes: list[Node], pods: list[Pod], spec: Json, expected: str
) -> None:
    """A letter for each node: `.` fits, `-` is rejected, `!` lacks the label."""
    labels = spec.get("labels", {"foo": ""})
    rest = {name: value for name, value in spec.items() if name != "labels"}
    incoming = pod_object(pod("p", labels=labels, topologySpreadConstraints=constraints, **rest))
    letters = {FITS: ".", REFUSED: "-", UNRESOLVABLE: "!"}
    assert "".join(letters[each] for each in answers(PLUGIN, cycle_of(incoming, nodes, pods))) == expected


def soft(skew: int, key: str) -> Json:
    return {**spread(skew, key), "whenUnsatisfiable": "ScheduleAnyway"}


HOST = "kubernetes.io/hostname"


@pytest.mark.parametrize(
    ("constraints", "pods", "expected"),
    [
        ([soft(1, HOST)], "", [100, 100, 100, 100]),
        ([soft(1, HOST)], "abxy", [100, 100, 100, 100]),
        ([soft(1, HOST)], "aabyyy", [20, 60, 100, 0]),
        ([{**soft(1, HOST), "labelSelector": None}], "aabyyy", [100, 100, 100, 100]),
        ([soft(2, HOST)], "aabyyy", [33, 66, 100, 16]),
        ([soft(3, HOST)], "aaaabbbxxy", [44, 66, 77, 100]),
        ([soft(1, "zone")], "aaaayy", [50, 50, 100, 100]),
        ([], "aabyyy", None),
    ],
)
def test_soft_constraints(constraints: list[Json], pods: str, expected: list[int] | None) -> None:
    cycle = cycle_of(pod_object(pod("p", labels={"foo": ""}, topologySpreadConstraints=constraints)), four(), on(pods))
    assert score(cycle, list(cycle.snapshot.nodes.values())) == expected


def test_pods_of_a_replica_set_spread_by_default() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}
    manifest = pod("p", labels={"app": "web"})
    manifest["metadata"]["ownerReferences"] = [owner]
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": {}}
    replica_set = ReplicaSet.from_json(
        {"kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "default"}, "spec": spec}
    )
    others = [pod_object(pod("e", labels={"app": "web"}), "n1", "e")]
    cycle = cycle_of(pod_object(manifest), [node("n1"), node("n2")], others, [replica_set])
    scores = score(cycle, list(cycle.snapshot.nodes.values()))
    assert scores is not None
    assert scores[0] < scores[1]
    assert score(cycle_of(pod_object(pod("p", labels={"app": "web"})), [node("n1")], others), []) is None
