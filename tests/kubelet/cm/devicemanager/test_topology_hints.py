"""NUMA nodes from which devices can be allocated."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.kubelet.cm.devicemanager.plugin import PluginDevice
from kubesim.kubelet.cm.devicemanager.topology_hints import device_numa_nodes, device_topology_hints
from kubesim.kubelet.cm.topologymanager.hints import TopologyHint
from kubesim.kubelet.cm.topologymanager.numa_info import NumaInfo
from kubesim.kubelet.cm.topologymanager.policy import BEST_EFFORT, RESTRICTED, Policy
from kubesim.kubelet.cm.topologymanager.policy_options import PolicyOptions
from tests.support.devices import Kubelet, hold, on_node, pod_with, register

TEST, ONE, TWO = "example.com/test", "example.com/test1", "example.com/test2"
ODD_EVEN = [*on_node(0, "Dev1", "Dev3"), *on_node(1, "Dev2", "Dev4")]
FRONT_BACK = [*on_node(0, "Dev1", "Dev2"), *on_node(1, "Dev3", "Dev4")]


def hints(*masks: tuple[int, ...]) -> set[TopologyHint]:
    """The smallest are preferred."""
    smallest = min(map(len, masks), default=0)
    return {TopologyHint(frozenset(mask), len(mask) == smallest) for mask in masks}


NODE_0, NODE_1, BOTH = (0,), (1,), (0, 1)
FORCED = {TopologyHint(frozenset(BOTH), False)}

# description, limits, devices, held by container and resource, expected hints
COMMON: list[tuple[str, Any, Any, Any, Any]] = [
    (
        "Single Request, no alignment",
        {TEST: 1},
        {
            TEST: [
                PluginDevice("Dev1"),
                PluginDevice("Dev2"),
                PluginDevice("Dev3", numa_nodes=()),
                PluginDevice("Dev4", numa_nodes=()),
            ]
        },
        {},
        {TEST: None},
    ),
    (
        "Single Request, only one with alignment",
        {TEST: 1},
        {TEST: [PluginDevice("Dev1"), *on_node(1, "Dev2")]},
        {},
        {TEST: hints(NODE_1)},
    ),
    (
        "Single Request, one device per socket",
        {TEST: 1},
        {TEST: [*on_node(0, "Dev1"), *on_node(1, "Dev2")]},
        {},
        {TEST: hints(NODE_0, NODE_1, BOTH)},
    ),
    (
        "Request for 2, one device per socket",
        {TEST: 2},
        {TEST: [*on_node(0, "Dev1"), *on_node(1, "Dev2")]},
        {},
        {TEST: hints(BOTH)},
    ),
    ("Request for 2, 2 devices per socket", {TEST: 2}, {TEST: ODD_EVEN}, {}, {TEST: hints(NODE_0, NODE_1, BOTH)}),
    (
        "Request for 2, optimal on 1 NUMA node, forced cross-NUMA",
        {TEST: 2},
        {TEST: ODD_EVEN},
        {("pod", "other", TEST): ("Dev1", "Dev2")},
        {TEST: FORCED},
    ),
    (
        "2 device types, mixed configuration",
        {ONE: 2, TWO: 1},
        {ONE: ODD_EVEN, TWO: on_node(0, "Dev1")},
        {},
        {ONE: hints(NODE_0, NODE_1, BOTH), TWO: hints(NODE_0)},
    ),
    ("Single device type, more requested than available", {TEST: 6}, {TEST: FRONT_BACK}, {}, {TEST: set()}),
    (
        "Single device type, all already allocated to container",
        {TEST: 2},
        {TEST: on_node(0, "Dev1", "Dev2")},
        {("pod", "c0", TEST): ("Dev1", "Dev2")},
        {TEST: hints(NODE_0)},
    ),
    (
        "Single device type, less already allocated to container than requested",
        {TEST: 4},
        {TEST: FRONT_BACK},
        {("pod", "c0", TEST): ("Dev1", "Dev2")},
        {TEST: set()},
    ),
    (
        "Single device type, more already allocated to container than requested",
        {TEST: 2},
        {TEST: FRONT_BACK},
        {("pod", "c0", TEST): ("Dev1", "Dev2", "Dev3", "Dev4")},
        {TEST: set()},
    ),
]


def asked(found: Any) -> dict[str, set[TopologyHint] | None]:
    return {resource: None if each is None else set(each) for resource, each in found.items()}


def manager_with(devices: Any, held: Any, *pods: Any) -> Any:
    manager = Kubelet(pods=list(pods)).manager(numa_nodes=(0, 1))
    for resource, listed in devices.items():
        register(manager, resource, listed)
    for (uid, container, resource), ids in held.items():
        hold(manager, uid, container, resource, *ids)
    return manager


@pytest.mark.parametrize(
    ("limits", "devices", "held", "expected"), [pytest.param(*row[1:], id=row[0]) for row in COMMON]
)
def test_get_topology_hints(limits: Any, devices: Any, held: Any, expected: Any) -> None:
    """topology_hints_test.go TestGetTopologyHints."""
    pod = pod_with(limits)
    manager = manager_with(devices, held, pod)
    assert asked(manager.topology_hints(pod, pod.spec.containers[0])) == expected


@pytest.mark.parametrize(
    ("limits", "devices", "held", "expected"), [pytest.param(*row[1:], id=row[0]) for row in COMMON]
)
def test_get_pod_topology_hints_of_one_container(limits: Any, devices: Any, held: Any, expected: Any) -> None:
    """topology_hints_test.go TestGetPodTopologyHints, common cases."""
    pod = pod_with(limits)
    assert asked(manager_with(devices, held, pod).pod_topology_hints(pod)) == expected


ALL = hints(NODE_0, NODE_1, BOTH)
PAIR = {ONE: FRONT_BACK, TWO: FRONT_BACK}
OTHER = "example.com/notregistered"


@pytest.mark.parametrize(
    ("limits", "init", "held", "expected"),
    [
        pytest.param(
            [{ONE: 2}, {TWO: 2}, {OTHER: 2}], [], {}, {ONE: ALL, TWO: ALL}, id="2 device types, user container only"
        ),
        pytest.param(
            [{ONE: 1, TWO: 1}, {ONE: 1, TWO: 1}, {OTHER: 1}],
            [{ONE: 1, TWO: 1}, {ONE: 1, TWO: 2}],
            {},
            {ONE: ALL, TWO: ALL},
            id="2 device types, request resources for init containers and user container",
        ),
        pytest.param(
            [{ONE: 1, TWO: 1}, {ONE: 1, TWO: 1}, {OTHER: 1}],
            [],
            {("other", "c", ONE): ("Dev1", "Dev3"), ("other", "c", TWO): ("Dev1", "Dev3")},
            {ONE: FORCED, TWO: FORCED},
            id="2 device types, user container only, optimal on 1 NUMA node, forced cross-NUMA",
        ),
    ],
)
def test_get_pod_topology_hints(limits: Any, init: Any, held: Any, expected: Any) -> None:
    """topology_hints_test.go TestGetPodTopologyHints, cases of pod scope."""
    pod = pod_with(*limits, init=init)
    manager = manager_with(PAIR, held, pod, pod_with(uid="other"))
    assert asked(manager.pod_topology_hints(pod)) == expected


CPUS = {"cpu": "2", "memory": "1G"}
GPU, NIC = "example.com/gpu", "example.com/nic"


@pytest.mark.parametrize(
    ("limits", "init", "expected"),
    [
        pytest.param([], [], {}, id="empty pod"),
        pytest.param([], [{**CPUS, GPU: 2}], {GPU: 2}, id="Init container requests device plugin resource"),
        pytest.param(
            [], [{**CPUS, GPU: 2}, {**CPUS, GPU: 4}], {GPU: 4}, id="Init containers request device plugin resource"
        ),
        pytest.param([{**CPUS, GPU: 2}], [], {GPU: 2}, id="User container requests device plugin resource"),
        pytest.param(
            [{**CPUS, GPU: 1, NIC: 1}] * 2,
            [{**CPUS, GPU: 2, NIC: 2}] * 2,
            {GPU: 2, NIC: 2},
            id="Init containers and user containers request the same amount of device plugin resources",
        ),
        pytest.param(
            [{**CPUS, GPU: 1, NIC: 1}, {**CPUS, GPU: 1}],
            [{**CPUS, GPU: 2, NIC: 1}, {**CPUS, GPU: 3, NIC: 2}],
            {GPU: 3, NIC: 2},
            id="Init containers request more device plugin resources than user containers",
        ),
        pytest.param(
            [{**CPUS, GPU: 3, NIC: 2}] * 2,
            [{**CPUS, GPU: 2, NIC: 1}] * 2,
            {GPU: 6, NIC: 4},
            id="User containers request more device plugin resources than init containers",
        ),
    ],
)
def test_get_pod_device_request(limits: Any, init: Any, expected: dict[str, int]) -> None:
    """topology_hints_test.go TestGetPodDeviceRequest: as many devices as requested get a hint, one less gets none."""
    pod = pod_with(*limits, init=init)
    for missing in (0, 1):
        devices = {name: on_node(0, *map(str, range(count - missing))) for name, count in expected.items()}
        devices = {name: listed or on_node(0, "unhealthy") for name, listed in devices.items()}
        found = asked(manager_with(devices, {}, pod).pod_topology_hints(pod))
        assert found == {name: set() if missing else hints(NODE_0) for name in expected}


def placed(**nodes: int | None) -> dict[str, PluginDevice]:
    return {name: PluginDevice(name, numa_nodes=None if node is None else (node,)) for name, node in nodes.items()}


@pytest.mark.parametrize(
    ("machine", "devices", "expected"),
    [
        pytest.param((0, 3, 5, 7), placed(a=3, b=5), [3, 5], id="collects NUMA nodes from all devices"),
        pytest.param((0, 4), placed(a=4, b=None), [4], id="device without topology is ignored"),
        pytest.param((), placed(a=None, b=None), [], id="returns empty when no device has topology"),
        pytest.param((0, 1), placed(a=0, b=99), [0], id="unknown NUMA IDs from device plugin are dropped"),
    ],
)
def test_device_numa_nodes(machine: tuple[int, ...], devices: Any, expected: list[int]) -> None:
    """topology_hints_test.go TestDeviceNUMANodes."""
    assert device_numa_nodes(devices, machine) == expected


@pytest.mark.parametrize(
    ("machine", "devices", "available", "reusable", "request_for", "expected"),
    [
        pytest.param((0, 1), placed(a=0), {"a"}, (), 1, hints(NODE_0), id="two node machine, device on one node"),
        pytest.param(
            range(34),
            placed(gpu0=0, gpu1=1),
            {"gpu0", "gpu1"},
            (),
            1,
            ALL,
            id="large NUMA machine with devices on small subset",
        ),
        pytest.param((0, 1), placed(a=0, b=1), {"a", "b"}, (), 1, ALL, id="devices span all NUMA nodes"),
        pytest.param(range(4), placed(a=0), (), {"a"}, 1, hints(NODE_0), id="reusable device on filtered node"),
        pytest.param(
            range(4), placed(a=0, b=1), {"b"}, {"a"}, 2, hints(BOTH), id="reusable and available on different nodes"
        ),
        pytest.param((0, 1), placed(a=None, b=1), {"b"}, {"a"}, 1, hints(NODE_1), id="reusable without topology"),
    ],
)
def test_generate_device_topology_hints(
    machine: Any, devices: Any, available: Any, reusable: Any, request_for: int, expected: set[TopologyHint]
) -> None:
    """topology_hints_test.go TestGenerateDeviceTopologyHintsFiltersNUMANodes; the last row is our own."""
    found = device_topology_hints(devices, machine, available, reusable, request_for)
    assert len(found) == len(expected)
    assert {*found} == expected


@pytest.mark.parametrize("policy", [BEST_EFFORT, RESTRICTED])
@pytest.mark.parametrize(
    ("machine", "node"),
    [
        pytest.param((0, 1), 0, id="device on node 0"),
        pytest.param((0, 1), 1, id="device on non-zero node only"),
        pytest.param((3, 7), 7, id="high NUMA node IDs without node 0"),
    ],
)
def test_filtered_device_hints_merge_with_other_providers(machine: tuple[int, ...], node: int, policy: Any) -> None:
    """topology_hints_test.go TestFilteredDeviceHintsMergeWithOtherProviders."""
    own = device_topology_hints(placed(gpu0=node), machine, {"gpu0"}, (), 1)
    others = tuple(hints((node,), machine))
    best, admit = Policy(policy, NumaInfo(machine, {}), PolicyOptions()).merge(
        [{"gpu": own}, {"cpu": others}, {"memory": others}]
    )
    assert (best, admit) == (TopologyHint(frozenset({node}), True), True)
