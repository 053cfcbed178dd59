"""The slices of a Service: upstream's reconciler_test.go and utils_test.go, without hints and metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from kubesim.api.meta import ObjectMeta
from kubesim.api.node import Node
from kubesim.api.pod import Container, ContainerPort, Pod, PodCondition, PodIP, PodSpec, PodStatus
from kubesim.api.workloads.services import EndpointConditions, EndpointSlice, Service, ServicePort, ServiceSpec
from kubesim.cluster.controllers.endpointslice.endpoints import endpoint_ports, find_port, pod_to_endpoint
from kubesim.cluster.controllers.endpointslice.reconciler import (
    SliceChanges,
    address_types,
    new_endpoint_slice,
    reconcile,
    slice_labels,
    slice_to_fill,
)

SERVICE_NAME, MANAGED_BY = "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"
HEADLESS = "service.kubernetes.io/headless"
OWN = {SERVICE_NAME: "s", MANAGED_BY: "endpointslice-controller.k8s.io"}
HTTP = ServicePort(name="http", protocol="TCP", port=80, target_port=8080)
ZONE = {"topology.kubernetes.io/zone": "us-central1-a"}


def service(labels: dict[str, str] | None = None, **spec: Any) -> Service:
    fields = {"ports": (HTTP,), "selector": {"a": "b"}, "cluster_ip": "10.96.1.1", "ip_families": ("IPv4",), **spec}
    metadata = ObjectMeta(name="s", namespace="d", uid="uid-s", labels=labels or {})
    return Service(kind="Service", metadata=metadata, spec=ServiceSpec(**fields))


def pod(n: int = 1, *, ready: bool = True, ends: bool = False, phase: str = "Running", **spec: Any) -> Pod:
    metadata = ObjectMeta(name=f"p{n}", namespace="d", uid=f"uid-p{n}", labels={"a": "b"})
    address = f"10.1.{n // 250}.{n % 250}"
    fields = {"node_name": "n", "containers": (Container(name="c"),), **spec}
    return Pod(
        kind="Pod",
        metadata=metadata.changed(deletion_timestamp="2000-01-01T00:00:00Z") if ends else metadata,
        spec=PodSpec(**fields),
        status=PodStatus(
            phase=phase,
            pod_ip=address,
            pod_ips=(PodIP(ip=address),),
            conditions=(PodCondition(type="Ready", status=str(ready)),),
        ),
    )


def find_node(name: str) -> Node | None:
    return Node(kind="Node", metadata=ObjectMeta(name=name, labels=ZONE)) if name == "n" else None


def changes(
    pods: Iterable[Pod], existing: Iterable[EndpointSlice] = (), of: Service | None = None, limit: int = 100
) -> SliceChanges:
    return reconcile(of or service(), pods, existing, find_node, limit)


def stored(slices: Iterable[EndpointSlice], start: int = 0) -> list[EndpointSlice]:
    """Objects as stored by an API server."""
    return [
        item.changed(metadata=item.metadata.changed(name=item.metadata.name or f"s-{n}"))
        for n, item in enumerate(slices, start)
    ]


def filled(name: str, pods: Iterable[Pod], of: Service | None = None) -> EndpointSlice:
    parent = of or service()
    endpoints = tuple(pod_to_endpoint(item, find_node("n"), parent, "IPv4") for item in pods)
    empty = new_endpoint_slice(parent, endpoint_ports(parent, pod()), "IPv4")
    return empty.changed(metadata=empty.metadata.changed(name=name), endpoints=endpoints)


def lengths(slices: Iterable[EndpointSlice]) -> list[int]:
    return sorted((len(item.endpoints) for item in slices), reverse=True)


# -- one endpoint ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "publishes", "ready", "serving", "terminating"),
    [
        (pod(), False, True, True, False),
        (pod(), True, True, True, False),
        (pod(ready=False), False, False, False, False),
        (pod(ready=False), True, True, False, False),
        (pod(ends=True), False, False, True, True),
        (pod(ends=True, ready=False), False, False, False, True),
        (pod(ends=True), True, True, True, True),
    ],
)
def test_conditions(item: Pod, publishes: bool, ready: bool, serving: bool, terminating: bool) -> None:
    endpoint = pod_to_endpoint(item, find_node("n"), service(publish_not_ready_addresses=publishes), "IPv4")
    assert endpoint.conditions == EndpointConditions(ready=ready, serving=serving, terminating=terminating)
    assert endpoint.addresses == ("10.1.0.1",)
    assert endpoint.node_name == "n"
    assert endpoint.zone == "us-central1-a"
    assert endpoint.hostname is None
    target = endpoint.target_ref
    assert target is not None
    assert (target.kind, target.namespace, target.name, target.uid) == ("Pod", "d", "p1", "uid-p1")


def test_addresses_match_the_ip_family() -> None:
    item = pod()
    both = item.changed(status=item.status.changed(pod_ips=(PodIP(ip="10.1.0.1"), PodIP(ip="1234::5678:0000:9abc"))))
    assert pod_to_endpoint(both, None, service(), "IPv4").addresses == ("10.1.0.1",)
    assert pod_to_endpoint(both, None, service(), "IPv6").addresses == ("1234::5678:0:9abc",)


@pytest.mark.parametrize(
    ("hostname", "subdomain", "expected"), [("h", "s", "h"), ("", "s", None), ("h", "other", None), ("h", "", None)]
)
def test_the_hostname_belongs_to_the_service_of_the_subdomain(hostname: str, subdomain: str, expected: Any) -> None:
    item = pod(hostname=hostname, subdomain=subdomain)
    assert pod_to_endpoint(item, None, service(), "IPv4").hostname == expected


@pytest.mark.parametrize(
    ("item", "included"),
    [
        (pod(), True),
        (pod(ready=False), True),
        (pod(ends=True), True),
        (pod(phase="Pending"), True),
        (pod(phase="Succeeded"), False),
        (pod(phase="Failed"), False),
        (pod(phase="Failed", ends=True), False),
        (pod().changed(status=PodStatus(phase="Running")), False),
    ],
)
def test_a_pod_is_an_endpoint_from_its_first_address_until_it_terminates(item: Pod, included: bool) -> None:
    assert lengths(changes([item]).created) == [int(included)]


def container(*ports: tuple[str, int, str], restart_policy: str | None = None) -> Container:
    declared = tuple(ContainerPort(name=name, container_port=port, protocol=kind) for name, port, kind in ports)
    return Container(name="c", ports=declared, restart_policy=restart_policy)


@pytest.mark.parametrize(
    ("containers", "init_containers", "target", "expected"),
    [
        ((), (), 93, 93),
        ((container(("", 11, "TCP"), ("p", 22, "TCP")),), (), 93, 93),
        ((), (), "p", None),
        ((container(("", 11, "UDP"), ("p", 22, "TCP"), ("q", 33, "TCP")),), (), "q", 33),
        ((container(("", 11, "UDP"), ("p", 22, "TCP")), container(("q", 33, "TCP"))), (), "q", 33),
        ((container(("q", 22, "TCP")), container(("q", 33, "TCP"))), (), "q", 22),
        ((container(("a", 93, "SNMP")),), (), "a", None),
        ((), (container(("p", 22, "TCP"), restart_policy="Always"),), "p", 22),
        ((), (container(("p", 22, "TCP")),), "p", None),
        ((container(("p", 11, "TCP")),), (container(("p", 22, "TCP"), restart_policy="Always"),), "p", 11),
    ],
)
def test_a_port_is_found_by_its_name(containers: Any, init_containers: Any, target: int | str, expected: Any) -> None:
    item = pod(containers=containers, init_containers=init_containers)
    assert find_port(item, HTTP.changed(target_port=target)) == expected


def test_a_port_keeps_its_application_protocol() -> None:
    parent = service(ports=(HTTP.changed(app_protocol="example.com/p"), HTTP.changed(name="n", target_port="absent")))
    (port,) = endpoint_ports(parent, pod())
    assert (port.name, port.protocol, port.port, port.app_protocol) == ("http", "TCP", 8080, "example.com/p")


# -- one slice ------------------------------------------------------------------------------------------------------


def test_a_service_without_pods_has_an_empty_slice() -> None:
    (placeholder,) = changes([]).created
    assert placeholder.to_json() == {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": "s-",
            "namespace": "d",
            "labels": OWN,
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Service",
                    "name": "s",
                    "uid": "uid-s",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "addressType": "IPv4",
    }
    assert changes([], stored([placeholder])) == SliceChanges()


def test_an_empty_slice_is_reused_in_both_directions() -> None:
    (placeholder,) = stored(changes([]).created)
    first = changes([pod()], [placeholder])
    assert (first.created, first.deleted) == ((), ())
    (used,) = first.updated
    assert used.metadata.name == placeholder.metadata.name
    assert lengths([used]) == [1]
    assert changes([pod()], [used]) == SliceChanges()
    last = changes([], [used])
    assert [(item.metadata.name, item.endpoints, item.ports) for item in last.updated] == [("s-0", (), ())]


@pytest.mark.parametrize(
    ("labels", "spec", "expected"),
    [
        ({}, {}, OWN),
        ({"foo": "bar"}, {}, {"foo": "bar", **OWN}),
        ({"foo": "bar", "foo2": "bar2"}, {}, {"foo": "bar", "foo2": "bar2", **OWN}),
        ({"foo": "bar"}, {"cluster_ip": "None"}, {"foo": "bar", HEADLESS: "", **OWN}),
        ({}, {"cluster_ip": "None"}, {HEADLESS: "", **OWN}),
        ({HEADLESS: ""}, {}, OWN),
        ({SERVICE_NAME: "evil", MANAGED_BY: "evil"}, {}, OWN),
    ],
)
def test_labels(labels: dict[str, str], spec: dict[str, Any], expected: dict[str, str]) -> None:
    assert slice_labels(service(labels, **spec)) == expected


@pytest.mark.parametrize(
    ("cluster_ip", "families", "expected"),
    [
        ("10.0.0.10", (), ("IPv4",)),
        ("2000::1", (), ("IPv6",)),
        ("10.0.0.10", ("IPv4",), ("IPv4",)),
        ("2000::1", ("IPv6",), ("IPv6",)),
        ("10.0.0.10", ("IPv4", "IPv6"), ("IPv4", "IPv6")),
        ("2000::1", ("IPv6", "IPv4"), ("IPv6", "IPv4")),
        ("None", (), ("IPv4", "IPv6")),
        ("None", ("IPv4", "IPv6"), ("IPv4", "IPv6")),
        ("None", ("IPv4",), ("IPv4",)),
    ],
)
def test_address_types(cluster_ip: str, families: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert address_types(service(cluster_ip=cluster_ip, ip_families=families)) == expected


def test_a_headless_service_needs_no_ports() -> None:
    (item,) = changes([pod()], of=service(cluster_ip="None", ports=())).created
    assert lengths([item]) == [1]
    assert item.ports == ()


def test_a_slice_with_a_former_address_type_is_deleted() -> None:
    (old,) = stored([new_endpoint_slice(service(), (), "IPv6")])
    assert changes([pod()], [old]).deleted == (old,)


def test_new_endpoints_are_appended() -> None:
    (item,) = stored(changes([pod(2), pod(3)]).created)
    (item,) = changes([pod(1), pod(2, ends=True), pod(3)], [item]).updated
    assert [endpoint.target_ref.name for endpoint in item.endpoints if endpoint.target_ref] == ["p2", "p3", "p1"]
    (item,) = changes([pod(1), pod(3)], [item]).updated
    assert [endpoint.target_ref.name for endpoint in item.endpoints if endpoint.target_ref] == ["p3", "p1"]


# -- many slices ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(50, [50] * 5), (80, [80, 80, 80, 10]), (100, [100, 100, 50]), (150, [150, 100]), (250, [250]), (500, [250])],
)
def test_the_number_of_endpoints_per_slice_is_limited(limit: int, expected: list[int]) -> None:
    pods = [pod(n, ready=n % 3 != 0) for n in range(250)]
    made = changes(pods, limit=limit)
    assert lengths(made.created) == expected
    assert changes(pods, stored(made.created), limit=limit) == SliceChanges()


def test_the_rest_goes_into_the_fullest_slice_with_room() -> None:
    pods = [pod(n) for n in range(250)]
    existing = [filled("a", pods[1:246:4]), filled("b", pods[3:246:4])]
    found = changes(pods, existing)
    assert (lengths(found.created), lengths(found.updated), found.deleted) == ([100], [89], ())


def test_the_rest_creates_a_slice_if_none_has_room() -> None:
    pods = [pod(n) for n in range(300)]
    existing = [filled("a", pods[1:296:4]), filled("b", pods[3:296:4])]
    found = changes(pods, existing)
    assert (lengths(found.created), found.updated, found.deleted) == ([100, 52], (), ())


def test_slices_that_are_written_anyway_are_filled_first() -> None:
    first, second = [pod(n) for n in range(80)], [pod(n) for n in range(100, 120)]
    existing = [filled("a", first), filled("b", second)]
    changed = [pod(n, ready=n % 10 != 0) for n in (*range(80), *range(100, 120))]
    found = changes([*changed, *(pod(n) for n in range(200, 215))], existing)
    assert (found.created, lengths(found.updated), found.deleted) == ((), [95, 20], ())


def test_slices_are_reused_when_all_ports_change() -> None:
    pods = [pod(n) for n in range(300)]
    existing = [filled(f"s-{n}", pods[n * 30 : n * 30 + 30]) for n in range(10)]
    assert changes(pods, existing) == SliceChanges()
    found = changes(pods, existing, service(ports=(HTTP.changed(target_port=81),)))
    assert (found.created, lengths(found.updated), len(found.deleted)) == ((), [100, 100, 100], 7)


def test_service_labels_are_copied_to_all_slices() -> None:
    pods = [pod(n) for n in range(250)]
    existing = stored(changes(pods).created)
    found = changes(pods, existing, service({"foo": "bar"}))
    assert [item.metadata.labels["foo"] for item in found.updated] == ["bar"] * 3
    assert changes(pods, existing, service({SERVICE_NAME: "evil"})) == SliceChanges()


def test_pods_with_different_numbers_for_a_named_port_have_separate_slices() -> None:
    def numbered(n: int) -> Pod:
        return pod(n, containers=(container(("http", 8080 + n % 5, "TCP")),))

    found = changes([numbered(n) for n in range(300)], of=service(ports=(HTTP.changed(target_port="http"),)))
    assert lengths(found.created) == [60] * 5
    assert sorted(item.ports[0].port or 0 for item in found.created) == [8080, 8081, 8082, 8083, 8084]


def test_a_slice_of_another_service_of_this_name_is_replaced() -> None:
    old = filled("old", [pod()])
    owners = tuple(o.changed(uid="other") for o in old.metadata.owner_references)
    foreign = old.changed(metadata=old.metadata.changed(owner_references=owners))
    found = changes([pod()], [foreign])
    assert (lengths(found.created), found.updated, found.deleted) == ([1], (), (foreign,))
    assert changes([pod()], [old]) == SliceChanges()


@pytest.mark.parametrize(
    ("publishes", "on", "expected", "lost"),
    [(False, ("n", "ghost"), 1, 1), (True, ("n", "ghost"), 2, 0), (True, ("ghost", "ghost"), 2, 0),
     (False, ("ghost", "ghost"), 0, 2)],
)  # fmt: skip
def test_pods_whose_node_does_not_exist(publishes: bool, on: tuple[str, ...], expected: int, lost: int) -> None:
    pods = [pod(n, node_name=name) for n, name in enumerate(on)]
    found = changes(pods, of=service(publish_not_ready_addresses=publishes))
    assert lengths(found.created) == [expected]
    assert len(found.lost) == lost


@pytest.mark.parametrize(
    ("sizes", "count", "expected"),
    [([50, 34, 75, 5], 2, 2), ([50, 34, 75, 5], 26, 0), ([99, 99], 2, None), ([], 1, None)],
)
def test_the_slice_to_fill_is_the_one_closest_to_full(sizes: list[int], count: int, expected: int | None) -> None:
    pods = [pod(n) for n in range(100)]
    slices = [filled(f"s-{n}", pods[:size]) for n, size in enumerate(sizes)]
    assert slice_to_fill(slices, count, 100) == (None if expected is None else slices[expected])
