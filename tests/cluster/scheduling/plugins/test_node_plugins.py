"""Plugins that match a pod against a node: taints, node affinity, host ports, images.

Adapted from: plugins/tainttoleration, nodeaffinity, nodeports, nodeunschedulable, nodename, imagelocality `_test.go`.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster.scheduling.fit import NODE_AFFINITY
from kubesim.cluster.scheduling.framework.cycle import schedule_pod
from kubesim.cluster.scheduling.framework.diagnosis import Diagnosis
from kubesim.cluster.scheduling.plugins.nodes import (
    image_locality,
    node_affinity,
    node_name,
    node_ports,
    node_unschedulable,
    taint_toleration,
)
from tests.support.cluster.scheduled import REFUSED, UNRESOLVABLE, answers, cycle_of, node, pod, pod_object

Json = dict[str, Any]


def tolerations(*texts: str) -> list[Json]:
    """Tolerations from `key operator value effect`, where `-` means empty."""
    found = []
    for text in texts:
        words = ["" if word == "-" else word for word in text.split()]
        found.append(dict(zip(("key", "operator", "value", "effect"), words, strict=True)))
    return found


@pytest.mark.parametrize(
    ("tolerated", "taints", "fits"),
    [
        ((), ("dedicated=user1:NoSchedule",), False),
        (("dedicated - user1 NoSchedule",), ("dedicated=user1:NoSchedule",), True),
        (("dedicated Equal user2 NoSchedule",), ("dedicated=user1:NoSchedule",), False),
        (("foo Exists - NoSchedule",), ("foo=bar:NoSchedule",), True),
        (
            ("dedicated Equal user2 NoSchedule", "foo Exists - NoSchedule"),
            ("dedicated=user2:NoSchedule", "foo=bar:NoSchedule"),
            True,
        ),
        (("foo Equal bar PreferNoSchedule",), ("foo=bar:NoSchedule",), False),
        (("foo Equal bar -",), ("foo=bar:NoSchedule",), True),
        (("dedicated Equal user2 NoSchedule",), ("dedicated=user1:PreferNoSchedule",), True),
        ((), ("dedicated=user1:PreferNoSchedule",), True),
        (("sla Gt 750 NoSchedule",), ("sla=950:NoSchedule",), False),  # the comparison operators are off by default
    ],
)
def test_taint_toleration_filter(tolerated: tuple[str, ...], taints: tuple[str, ...], fits: bool) -> None:
    incoming = pod_object(pod("p", tolerations=tolerations(*tolerated)))
    cycle = cycle_of(incoming, [node("n", taints=taints)])
    assert answers(taint_toleration.PLUGIN, cycle) == ["" if fits else UNRESOLVABLE]


@pytest.mark.parametrize(
    ("tolerated", "nodes", "scores"),
    [
        (
            ("foo Equal bar PreferNoSchedule",),
            [("foo=bar:PreferNoSchedule",), ("foo=blah:PreferNoSchedule",)],
            [100, 0],
        ),
        (
            ("cpu Equal arm PreferNoSchedule", "disk Equal ssd PreferNoSchedule"),
            [(), ("cpu=arm:PreferNoSchedule",), ("cpu=arm:PreferNoSchedule", "disk=ssd:PreferNoSchedule")],
            [100, 100, 100],
        ),
        (
            ("foo Equal bar PreferNoSchedule",),
            [(), ("cpu=arm:PreferNoSchedule",), ("cpu=arm:PreferNoSchedule", "disk=ssd:PreferNoSchedule")],
            [100, 50, 0],
        ),
        (
            ("cpu Equal arm NoSchedule", "disk Equal ssd NoSchedule"),
            [(), ("cpu=arm:NoSchedule",), ("cpu=arm:PreferNoSchedule", "disk=ssd:PreferNoSchedule")],
            [100, 100, 0],
        ),
        ((), [(), ("cpu=arm:PreferNoSchedule",)], [100, 0]),
    ],
)
def test_taint_toleration_score(tolerated: tuple[str, ...], nodes: list[tuple[str, ...]], scores: list[int]) -> None:
    incoming = pod_object(pod("p", tolerations=tolerations(*tolerated)))
    cycle = cycle_of(incoming, [node(f"n{number}", taints=taints) for number, taints in enumerate(nodes)])
    assert taint_toleration.score(cycle, list(cycle.snapshot.nodes.values())) == scores


@pytest.mark.parametrize(
    ("wanted", "taken", "fits"),
    [
        ((), (), True),
        (("UDP/127.0.0.1/8080",), ("UDP/127.0.0.1/9090",), True),
        (("UDP/127.0.0.1/8080",), ("UDP/127.0.0.1/8080",), False),
        (("TCP/127.0.0.1/8080",), ("TCP/127.0.0.1/8080",), False),
        (("TCP/127.0.0.1/8080",), ("TCP/127.0.0.2/8080",), True),
        (("UDP/127.0.0.1/8080",), ("TCP/127.0.0.1/8080",), True),
        (("UDP/127.0.0.1/8000", "UDP/127.0.0.1/8080"), ("UDP/127.0.0.1/8080",), False),
        (("TCP/127.0.0.1/8001", "UDP/127.0.0.1/8080"), ("TCP/127.0.0.1/8001", "UDP/127.0.0.1/8081"), False),
        (("TCP/0.0.0.0/8001",), ("TCP/127.0.0.1/8001",), False),
        (("TCP/10.0.10.10/8001", "TCP/0.0.0.0/8001"), ("TCP/127.0.0.1/8001",), False),
        (("TCP/127.0.0.1/8001",), ("TCP/0.0.0.0/8001",), False),
        (("UDP/127.0.0.1/8001",), ("TCP/0.0.0.0/8001",), True),
    ],
)
def test_node_ports(wanted: tuple[str, ...], taken: tuple[str, ...], fits: bool) -> None:
    def with_ports(name: str, ports: tuple[str, ...]) -> Json:
        manifest = pod(name)
        parts = [text.split("/") for text in ports]
        manifest["spec"]["containers"][0]["ports"] = [
            {"protocol": protocol, "hostIP": address, "hostPort": int(port)} for protocol, address, port in parts
        ]
        return manifest

    cycle = cycle_of(pod_object(with_ports("p", wanted)), [node("n")], [pod_object(with_ports("other", taken), "n")])
    assert answers(node_ports.PLUGIN, cycle) == ["" if fits else REFUSED]


def affinity(*terms: Json) -> Json:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def expression(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, "values": list(values)}


def term(*expressions: Json) -> Json:
    return {"matchExpressions": list(expressions)}


def fields(*expressions: Json) -> Json:
    return {"matchFields": list(expressions)}


NAME_1, NAME_2 = expression("metadata.name", "In", "node1"), expression("metadata.name", "In", "node2")


@pytest.mark.parametrize(
    ("spec", "labels", "fits"),
    [
        ({}, {}, True),
        ({"nodeSelector": {"foo": "bar"}}, {}, False),
        ({"nodeSelector": {"foo": "bar"}}, {"foo": "bar"}, True),
        ({"nodeSelector": {"foo": "bar"}}, {"foo": "bar", "baz": "blah"}, True),
        ({"nodeSelector": {"foo": "bar", "baz": "blah"}}, {"foo": "bar"}, False),
        ({"affinity": affinity(term(expression("foo", "In", "bar", "value2")))}, {"foo": "bar"}, True),
        ({"affinity": affinity(term(expression("kernel-version", "Gt", "0204")))}, {"kernel-version": "0206"}, True),
        ({"affinity": affinity(term(expression("mem-type", "NotIn", "DDR", "DDR2")))}, {"mem-type": "DDR3"}, True),
        ({"affinity": affinity(term(expression("GPU", "Exists")))}, {"GPU": "NVIDIA-GRID-K1"}, True),
        ({"affinity": affinity(term(expression("foo", "In", "value1", "value2")))}, {"foo": "bar"}, False),
        ({"affinity": affinity()}, {"foo": "bar"}, False),
        ({"affinity": affinity({"matchExpressions": []})}, {"foo": "bar"}, False),
        ({"affinity": {}}, {"foo": "bar"}, True),
        ({"affinity": affinity(term(expression("GPU", "Exists"), expression("GPU", "NotIn", "AMD")))},
         {"GPU": "NVIDIA"}, True),
        ({"affinity": affinity(term(expression("GPU", "Exists"), expression("GPU", "In", "AMD")))},
         {"GPU": "NVIDIA"}, False),
        ({"affinity": affinity(term(expression("foo", "In", "bar")), term(expression("diff", "In", "wrong")))},
         {"foo": "bar"}, True),
        ({"nodeSelector": {"foo": "bar"}, "affinity": affinity(term(expression("foo", "Exists")))},
         {"foo": "bar"}, True),
        ({"nodeSelector": {"foo": "bar"}, "affinity": affinity(term(expression("foo", "Exists")))},
         {"foo": "barrrrrr"}, False),
        ({"affinity": affinity(term(expression("foo", "NotIn", "invalid value: ___@#$%^")))}, {"foo": "bar"}, False),
    ],
)  # fmt: skip
def test_node_affinity_filter(spec: Json, labels: dict[str, str], fits: bool) -> None:
    cycle = cycle_of(pod_object(pod("p", **spec)), [node("node1", labels=labels)])
    assert answers(node_affinity.PLUGIN, cycle) == ["" if fits else UNRESOLVABLE]


@pytest.mark.parametrize(
    ("spec", "refusals"),
    [
        ([fields(NAME_1)], {"node2": "node(s) didn't satisfy plugin(s) [NodeAffinity]"}),
        ([fields(NAME_1), fields(NAME_2)], {}),
        ([fields(NAME_1), term(expression("foo", "In", "bar"))], {"node2": NODE_AFFINITY.description}),
        ([fields(NAME_1, NAME_2)], {"all": node_affinity.CONFLICT}),
    ],
)
def test_a_pod_that_names_nodes_is_checked_on_those_only(spec: list[Json], refusals: dict[str, str]) -> None:
    """As pods of a DaemonSet do."""
    # The pod fits nowhere, so that every node has a reason.
    manifest = pod("p", cpu="100", affinity=affinity(*spec))
    nodes = [node("node1"), node("node2")]
    result = schedule_pod(cycle_of(pod_object(manifest), nodes), lambda _: (), lambda names: names[0])
    assert isinstance(result, Diagnosis)
    if "all" in refusals:
        assert result.fit_error() == "0/2 nodes are available: pod affinity terms conflict."
        return
    assert result.plugins >= {"NodeResourcesFit"}
    for reason in refusals.values():
        assert f"1 {reason}" in result.fit_error()
    assert f"{2 - len(refusals)} Insufficient cpu" in result.fit_error()


def preferred(*weighted: tuple[int, Json]) -> Json:
    terms = [{"weight": weight, "preference": preference} for weight, preference in weighted]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}


LABELS = [
    {"foo": "bar"},
    {"key": "value"},
    {"az": "az1"},
    {"abc": "az11", "def": "az22"},
    {"foo": "bar", "key": "value", "az": "az1"},
]
FOO, KEY, AZ = (
    term(expression("foo", "In", "bar")),
    term(expression("key", "In", "value")),
    term(expression("az", "In", "az1")),
)


@pytest.mark.parametrize(
    ("spec", "nodes", "scores"),
    [
        (None, [0, 1, 2], None),
        (preferred((2, FOO)), [3, 1, 2], [0, 0, 0]),
        (preferred((2, FOO)), [0, 1, 2], [100, 0, 0]),
        (preferred((2, FOO), (4, KEY), (5, term(*FOO["matchExpressions"], *KEY["matchExpressions"],
                                                *AZ["matchExpressions"]))), [0, 4, 1], [18, 100, 36]),
    ],
)  # fmt: skip
def test_node_affinity_score(spec: Json | None, nodes: list[int], scores: list[int] | None) -> None:
    cycle = cycle_of(
        pod_object(pod("p", affinity=spec)), [node(f"n{number}", labels=LABELS[number]) for number in nodes]
    )
    assert node_affinity.score(cycle, list(cycle.snapshot.nodes.values())) == scores


def test_a_cordoned_node_accepts_pods_with_the_toleration() -> None:
    nodes = [node("open"), node("cordoned", unschedulable=True)]
    assert answers(node_unschedulable.PLUGIN, cycle_of(pod_object(pod("p")), nodes)) == ["", UNRESOLVABLE]
    tolerant = pod("p", tolerations=tolerations("node.kubernetes.io/unschedulable Exists - NoSchedule"))
    assert answers(node_unschedulable.PLUGIN, cycle_of(pod_object(tolerant), nodes)) == ["", ""]


def test_a_pod_with_a_node_name_fits_there_only() -> None:
    named = pod_object(pod("p"), "n1")
    assert answers(node_name.PLUGIN, cycle_of(named, [node("n1"), node("n2")])) == ["", UNRESOLVABLE]


def test_nodes_with_large_common_images_score_higher() -> None:
    def with_image(name: str, *images: tuple[str, int]) -> Any:
        found = node(name)
        listed = tuple({"names": [image], "sizeBytes": size * 1024 * 1024} for image, size in images)
        return found.changed(status=found.status.changed(images=listed))

    manifest = pod("p")
    manifest["spec"]["containers"] = [
        {"name": str(n), "image": image} for n, image in enumerate(("gcr.io/40", "gcr.io/250:1"))
    ]
    nodes = [with_image("n1", ("gcr.io/40:latest", 40), ("gcr.io/300", 300)), with_image("n2", ("gcr.io/250:1", 250))]
    cycle = cycle_of(pod_object(manifest), nodes)
    # 40 MB / 2 nodes is below the lower threshold; 250 MB / 2 nodes: 100 * (125 - 23) / (2 * 1000 - 23) = 5.
    assert image_locality.score(cycle, list(cycle.snapshot.nodes.values())) == [0, 5]
