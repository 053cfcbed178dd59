"""Affinity and anti-affinity between pods.

Adapted from: plugins/interpodaffinity filtering_test.go TestRequiredAffinitySingleNode,
TestRequiredAffinityMultipleNodes, scoring_test.go in part.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.plugins.pods.inter_pod_affinity_score import PLUGIN, score
from tests.support.cluster.scheduled import REFUSED, UNRESOLVABLE, answers, cycle_of, node, pod, pod_object

Json = dict[str, Any]
SCAN, S1 = {"service": "securityscan"}, {"security": "S1"}
NODE = node("node1", labels={"region": "r1", "zone": "z11"})
NAMESPACES = [
    ApiObject.from_json({"kind": "Namespace", "metadata": {"name": name, "labels": {"team": team}}})
    for name, team in (("subteam1.team1", "team1"), ("subteam2.team1", "team1"), ("subteam1.team2", "team2"))
]
TEAM1 = {"matchExpressions": [{"key": "team", "operator": "In", "values": ["team1"]}]}


def term(expressions: str, key: str, **fields: Any) -> Json:
    """A term; expressions are `key In a,b` or `key Exists`, separated by `;`."""
    found = []
    for text in expressions.split(";"):
        label, operator, *values = text.split()
        each: Json = {"key": label, "operator": operator}
        found.append({**each, "values": values[0].split(",")} if values else each)
    return {"labelSelector": {"matchExpressions": found}, "topologyKey": key, **fields}


def terms(near: list[Json] | None = None, apart: list[Json] | None = None) -> Json:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"podAffinity": {required: near or []}, "podAntiAffinity": {required: apart or []}}


def at(node_name: str, labels: dict[str, str], affinity: Json | None = None, namespace: str = "default") -> Pod:
    name = f"{node_name}-{'-'.join(labels)}"
    return pod_object(pod(name, labels=labels, namespace=namespace, affinity=affinity), node_name)


ON_NODE = [at("node1", SCAN)]
APART_SCAN_ZONE = term("service In securityscan,value2", "zone")
APART_VIRUS = term("service In antivirusscan,value2", "node")
NEAR_SCAN = term("service In securityscan,value2", "region")
SECURITY_ZONE, SERVICE_ZONE = term("security Exists", "zone"), term("service Exists", "zone")
ABC, DEF = term("abc Exists", "zone"), term("def Exists", "zone")


@pytest.mark.parametrize(
    ("labels", "affinity", "pods", "answer"),
    [
        ({}, terms(), [], ""),
        (S1, terms([NEAR_SCAN]), ON_NODE, ""),
        (S1, terms([term("service NotIn securityscan3,value3", "region")]), ON_NODE, ""),
        (S1, terms([term("service In securityscan,value2", "", namespaces=["DiffNameSpace"])]),
         [at("node1", SCAN, namespace="ns")], UNRESOLVABLE),
        (SCAN, terms([term("service In antivirusscan,value2", "")]), ON_NODE, UNRESOLVABLE),
        (S1, terms([term("service Exists;wrongkey DoesNotExist", "region"),
                    term("service In securityscan;service NotIn WrongValue", "region")]), ON_NODE, ""),
        (S1, terms([term("service Exists;wrongkey DoesNotExist", "region"),
                    term("service In securityscan2;service NotIn WrongValue", "region")]), ON_NODE, UNRESOLVABLE),
        (S1, terms([NEAR_SCAN], [APART_VIRUS]), ON_NODE, ""),
        (S1, terms([NEAR_SCAN], [APART_VIRUS]), [at("node1", SCAN, terms(apart=[APART_VIRUS]))], ""),
        (S1, terms([NEAR_SCAN], [APART_SCAN_ZONE]), ON_NODE, REFUSED),
        (SCAN, terms([NEAR_SCAN], [APART_VIRUS]), [at("node1", SCAN, terms(apart=[APART_SCAN_ZONE]))], REFUSED),
        (SCAN, terms([term("service NotIn securityscan,value2", "region")]), [at("node2", SCAN)], UNRESOLVABLE),
        (SCAN, None, [at("node1", SCAN, terms(apart=[APART_SCAN_ZONE]))], REFUSED),
        (SCAN, None, [at("node1", SCAN, terms(apart=[term("service NotIn securityscan,value2", "zone")]))], ""),
        (SCAN, terms(apart=[term("service Exists", "region"), term("security Exists", "region")]),
         [at("node1", S1, terms(apart=[SECURITY_ZONE]))], REFUSED),
        (SCAN, terms(apart=[SERVICE_ZONE, SECURITY_ZONE]), [at("node1", S1, terms(apart=[SECURITY_ZONE]))], REFUSED),
        (S1, terms(apart=[SECURITY_ZONE]), [at("node1", SCAN, terms(apart=[SERVICE_ZONE, SECURITY_ZONE]))], REFUSED),
        ({"abc": "", "xyz": ""}, terms(apart=[ABC, DEF]),
         [at("node1", {"def": "", "xyz": ""}, terms(apart=[ABC, DEF]))],
         REFUSED),
        ({"def": "", "xyz": ""}, terms(apart=[ABC, DEF]),
         [at("node1", {"abc": "", "xyz": ""}, terms(apart=[ABC, DEF]))],
         REFUSED),
        (S1, terms([{**NEAR_SCAN, "namespaceSelector": TEAM1}]), [at("node1", SCAN, namespace="subteam1.team1")], ""),
        (S1, terms([{**NEAR_SCAN, "namespaceSelector": TEAM1}]), [at("node1", SCAN, namespace="subteam1.team2")],
         UNRESOLVABLE),
        (S1, terms(apart=[{**APART_SCAN_ZONE, "namespaceSelector": TEAM1}]),
         [at("node1", SCAN, namespace="subteam2.team1")], REFUSED),
        (S1, terms(apart=[{**APART_SCAN_ZONE, "namespaceSelector": {}}]),
         [at("node1", SCAN, namespace="subteam2.team1")], REFUSED),
        (S1, terms(apart=[{**APART_SCAN_ZONE, "namespaceSelector": TEAM1}]),
         [at("node1", SCAN, namespace="subteam1.team2")], ""),
    ],
)  # fmt: skip
def test_required_terms_on_one_node(
    labels: dict[str, str], affinity: Json | None, pods: list[Pod], answer: str
) -> None:
    incoming = pod_object(pod("p", labels=labels, affinity=affinity))
    assert answers(PLUGIN, cycle_of(incoming, [NODE], pods, NAMESPACES)) == [answer]


A, B, C = (
    node("a", labels={"region": "China", "az": "az1"}),
    node("b", labels={"region": "China", "az": "az2"}),
    node("c", labels={"region": "India", "az": "az3"}),
)
FOO, ABC_POD = {"foo": "bar"}, {"foo": "abc"}
NEAR_FOO = term("foo In bar", "region")


@pytest.mark.parametrize(
    ("labels", "affinity", "nodes", "pods", "expected"),
    [
        # The pod that affinity requires is in one of the regions.
        ({}, terms([NEAR_FOO]), [A, B, C], [at("a", FOO)], ["", "", UNRESOLVABLE]),
        # The first pod of a group matches only itself; a domain without the label does not count.
        (FOO, terms([NEAR_FOO]), [A, B], [], ["", ""]),
        (FOO, terms([NEAR_FOO, term("service In securityscan", "zone")]), [A, B], [], [UNRESOLVABLE, UNRESOLVABLE]),
        # Once another pod matches, being the first is irrelevant.
        (FOO, terms([NEAR_FOO]), [A, C], [at("c", FOO)], [UNRESOLVABLE, ""]),
        # Anti-affinity to a pod in one zone.
        (FOO, terms(apart=[term("foo In abc", "az")]), [A, B], [at("a", ABC_POD)], [REFUSED, ""]),
        (FOO, terms(apart=[term("foo In abc", "region")]), [A, B, C], [at("a", ABC_POD)], [REFUSED, REFUSED, ""]),
        # Both directions: the pod prefers the region, but a pod there has anti-affinity to it.
        (FOO, terms([term("foo In abc", "region")]), [A, B],
         [at("a", ABC_POD, terms(apart=[term("foo In bar", "az")]))], [REFUSED, ""]),
        # A node without the label satisfies anti-affinity and violates affinity.
        (FOO, terms(apart=[term("foo In abc", "rack")]), [A], [at("a", ABC_POD)], [""]),
        ({}, terms([term("foo In bar", "rack")]), [A], [at("a", FOO)], [UNRESOLVABLE]),
    ],
)  # fmt: skip
def test_required_terms_on_several_nodes(
    labels: dict[str, str], affinity: Json, nodes: list[Any], pods: list[Pod], expected: list[str]
) -> None:
    assert answers(PLUGIN, cycle_of(pod_object(pod("p", labels=labels, affinity=affinity)), nodes, pods)) == expected


def test_match_label_keys_limit_a_term_to_the_same_revision() -> None:
    """In a rolling update, new pods spread among each other, independent of old ones."""
    apart = terms(apart=[{**term("app Exists", "kubernetes.io/hostname"), "matchLabelKeys": ["pod-template-hash"]}])
    new = pod_object(pod("new", labels={"app": "web", "pod-template-hash": "2"}, affinity=apart))
    old = [at("a", {"app": "web", "pod-template-hash": "1"}), at("b", {"app": "web", "pod-template-hash": "2"})]
    assert answers(PLUGIN, cycle_of(new, [A, B], old)) == ["", REFUSED]


def preferred(weight: int, wanted: Json, kind: str = "podAffinity") -> Json:
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "podAffinityTerm": wanted}]}}


@pytest.mark.parametrize(
    ("labels", "affinity", "pods", "expected"),
    [
        ({}, None, [], None),
        (FOO, preferred(5, NEAR_FOO), [at("a", FOO)], [100, 100, 0]),
        (FOO, preferred(5, NEAR_FOO), [at("a", FOO), at("c", FOO), at("c", {"foo": "bar", "x": "y"})], [0, 0, 100]),
        (FOO, preferred(5, term("foo In bar", "az"), "podAntiAffinity"), [at("a", FOO)], [0, 100, 100]),
        # Preferences of other pods count as much; their required affinity counts for 1.
        (FOO, None, [at("a", ABC_POD, preferred(3, NEAR_FOO))], [100, 100, 0]),
        (FOO, None, [at("c", ABC_POD, terms([NEAR_FOO]))], [0, 0, 100]),
        (FOO, None, [at("c", ABC_POD, preferred(3, NEAR_FOO, "podAntiAffinity"))], [100, 100, 0]),
    ],
)
def test_preferences(
    labels: dict[str, str], affinity: Json | None, pods: list[Pod], expected: list[int] | None
) -> None:
    cycle = cycle_of(pod_object(pod("p", labels=labels, affinity=affinity)), [A, B, C], pods)
    assert score(cycle, list(cycle.snapshot.nodes.values())) == expected
