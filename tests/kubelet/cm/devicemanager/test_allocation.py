"""The devices that a container gets, and the reasons why it gets none."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.kubelet.cm.admission import AllocationError
from kubesim.kubelet.cm.devicemanager.allocation import (
    DeviceRequest,
    ResourceState,
    check_held_devices,
    devices_to_allocate,
    filter_by_affinity,
)
from kubesim.kubelet.cm.devicemanager.plugin import PluginDevice
from tests.support.devices import on_node


def no_preference(available: set[str], must_include: set[str], size: int) -> None:
    return None


def by_id(*devices: PluginDevice) -> dict[str, PluginDevice]:
    return {device.id: device for device in devices}


def numbered(begin: int, end: int, numa_node: int) -> list[PluginDevice]:
    return on_node(numa_node, *(f"Dev{number}" for number in range(begin, end)))


@pytest.mark.parametrize(
    ("available", "aligned", "unaligned"),
    [({"dev1", "dev2"}, {"dev2"}, {"dev1"}), ({"dev1", "dev2", "dev3", "dev4"}, {"dev2", "dev3", "dev4"}, {"dev1"})],
)
def test_filter_by_affinity(available: set[str], aligned: set[str], unaligned: set[str]) -> None:
    """manager_test.go TestFilterByAffinity."""
    both = PluginDevice("dev2", numa_nodes=(1, 2))
    devices = by_id(*on_node(1, "dev1"), both, *on_node(2, "dev3", "dev4"), PluginDevice("dev5"))
    assert filter_by_affinity(available, devices, frozenset({2})) == (aligned, unaligned, set())


def test_without_topology_or_affinity_nothing_is_aligned() -> None:
    plain, placed = by_id(PluginDevice("a")), by_id(*on_node(0, "a"))
    assert filter_by_affinity({"a"}, plain, frozenset({0})) == (set(), set(), {"a"})
    assert filter_by_affinity({"a"}, placed, None) == (set(), set(), {"a"})
    mixed = by_id(*on_node(0, "a"), PluginDevice("b"), PluginDevice("c", numa_nodes=()))
    assert filter_by_affinity({"a", "b", "c"}, mixed, frozenset({1})) == (set(), {"a"}, {"b", "c"})


SIX = (*on_node(0, "Dev1", "Dev3", "Dev5"), *on_node(1, "Dev2", "Dev4", "Dev6"))
TWO_HUNDRED = (*numbered(0, 100, 0), *numbered(100, 200, 1))
MOSTLY_ON_1 = (*numbered(0, 3, 0), *numbered(3, 100, 1))
EIGHT = tuple(device for node in range(4) for device in on_node(node, f"Dev{node + 1}", f"Dev{node + 5}"))


@pytest.mark.parametrize(
    ("request_for", "devices", "affinity", "preferred", "expected", "alignment"),
    [
        pytest.param(
            1, (PluginDevice("Dev1"), PluginDevice("Dev2")), {0, 1}, None, (), {}, id="Single Request, no alignment"
        ),
        pytest.param(
            1, (PluginDevice("Dev1"), *on_node(1, "Dev2")), {1}, None, (), {1: 1}, id="Request for 1, partial alignment"
        ),
        pytest.param(
            1, (*on_node(0, "Dev1"), *on_node(1, "Dev2")), {0}, None, (), {0: 1}, id="Single Request, socket 0"
        ),
        pytest.param(
            1, (*on_node(0, "Dev1"), *on_node(1, "Dev2")), {1}, None, (), {1: 1}, id="Single Request, socket 1"
        ),
        pytest.param(2, SIX[:2] + SIX[3:5], {0}, None, (), {0: 2}, id="Request for 2, socket 0"),
        pytest.param(2, SIX[:2] + SIX[3:5], {1}, None, (), {1: 2}, id="Request for 2, socket 1"),
        pytest.param(4, SIX, {0}, None, (), {0: 3, 1: 1}, id="Request for 4, unsatisfiable, prefer socket 0"),
        pytest.param(4, SIX, {1}, None, (), {0: 1, 1: 3}, id="Request for 4, unsatisfiable, prefer socket 1"),
        pytest.param(4, EIGHT, {1, 3}, None, (), {1: 2, 3: 2}, id="Request for 4, multisocket"),
        pytest.param(
            5,
            TWO_HUNDRED,
            {0},
            (0, 19, 83, 42, 77),
            (0, 19, 83, 42, 77),
            {0: 5},
            id="Request for 5, socket 0, preferred aligned accepted",
        ),
        pytest.param(
            5,
            TWO_HUNDRED,
            {0},
            (0, 19, 83, 150, 186),
            (0, 19, 83),
            {0: 5},
            id="Request for 5, socket 0, preferred aligned accepted, unaligned ignored",
        ),
        pytest.param(
            5,
            numbered(0, 100, 1),
            {1},
            (0, 19, 83, 900, 901),
            (0, 19, 83),
            {1: 5},
            id="Request for 5, socket 1, preferred aligned accepted, bogus ignored",
        ),
        pytest.param(
            5,
            MOSTLY_ON_1,
            {0},
            (0, 1, 2, 42, 83),
            (0, 1, 2, 42, 83),
            {0: 3, 1: 2},
            id="Request for 5, multisocket, preferred accepted",
        ),
        pytest.param(
            5,
            MOSTLY_ON_1,
            {0},
            (0, 1, 2, 42, 900),
            (0, 1, 2, 42),
            {0: 3, 1: 2},
            id="Request for 5, multisocket, preferred unaligned accepted, bogus ignored",
        ),
    ],
)
def test_topology_aligned_allocation(
    request_for: int,
    devices: tuple[PluginDevice, ...],
    affinity: set[int],
    preferred: Any,
    expected: Any,
    alignment: Any,
) -> None:
    """topology_hints_test.go TestTopologyAlignedAllocation."""
    listed = by_id(*devices)

    def prefer(available: set[str], must_include: set[str], size: int) -> set[str] | None:
        return None if preferred is None else {f"Dev{number}" for number in preferred}

    state = ResourceState(listed, {*listed}, {}, None)
    wanted = DeviceRequest("uid", "c", "resource", request_for)
    chosen = devices_to_allocate(wanted, state, (), frozenset(affinity), prefer)
    assert len(chosen) == request_for
    assert chosen >= {f"Dev{number}" for number in expected}
    nodes = [listed[device].numa_nodes for device in chosen]
    assert {node[0]: nodes.count(node) for node in nodes if node} == alignment
    assert state.allocated == {"resource": chosen}


ZERO_TO_SEVEN = numbered(0, 8, 0)
FOUR_EACH = (*numbered(0, 4, 0), *numbered(4, 8, 1))


@pytest.mark.parametrize(
    ("request_for", "devices", "in_use", "reusable", "available", "must_include"),
    [
        pytest.param(
            1, ZERO_TO_SEVEN[:4], (), (), "0123", "", id="Request for 1, socket 0, 0 already allocated, 0 reusable"
        ),
        pytest.param(
            4,
            ZERO_TO_SEVEN,
            "05",
            "05",
            "01234567",
            "05",
            id="Request for 4, socket 0, 2 already allocated, 2 reusable",
        ),
        pytest.param(
            4,
            ZERO_TO_SEVEN,
            "0541",
            "05",
            "023567",
            "05",
            id="Request for 4, socket 0, 4 already allocated, 2 reusable",
        ),
        pytest.param(
            6,
            FOUR_EACH,
            "16",
            "16",
            "01234567",
            "01236",
            id="Request for 6, multisocket, 2 already allocated, 2 reusable",
        ),
        pytest.param(
            6,
            FOUR_EACH,
            "0167",
            "16",
            "123456",
            "1236",
            id="Request for 6, multisocket, 4 already allocated, 2 reusable",
        ),
    ],
)
def test_get_preferred_allocation_parameters(
    request_for: int, devices: Any, in_use: str, reusable: str, available: str, must_include: str
) -> None:
    """topology_hints_test.go TestGetPreferredAllocationParameters (upstream compares mustInclude with nothing)."""
    asked: list[tuple[set[str], set[str], int]] = []

    def prefer(available: set[str], must_include: set[str], size: int) -> None:
        asked.append((available, must_include, size))

    def named(numbers: str) -> set[str]:
        return {f"Dev{number}" for number in numbers}

    listed = by_id(*devices)
    state = ResourceState(listed, {*listed}, {"r": named(in_use)}, None)
    devices_to_allocate(DeviceRequest("u", "c", "r", request_for), state, named(reusable), frozenset({0}), prefer)
    assert asked == [(named(available), named(must_include), request_for)]


@pytest.mark.parametrize(
    ("healthy", "held", "problem"),
    [
        pytest.param(
            set(),
            {"dev1", "dev2"},
            "no healthy devices present; cannot allocate unhealthy devices r",
            id="Admission error in case no healthy devices to allocate present",
        ),
        pytest.param(
            None,
            {"dev5"},
            "cannot allocate unregistered device r",
            id="Admission error in case resource is not registered",
        ),
        pytest.param(
            {"dev7", "dev8"},
            {"dev5"},
            "previously allocated devices are no longer healthy; cannot allocate unhealthy devices r",
            id="Admission error in case resource not devices previously allocated no longer healthy",
        ),
        pytest.param(
            {"dev7"}, None, "requested number of devices unavailable for r. Requested: 2, Available: 1", id="not enough"
        ),
    ],
)
def test_why_a_container_gets_no_devices(healthy: set[str] | None, held: set[str] | None, problem: str) -> None:
    """manager_test.go TestPodContainerDeviceToAllocate; the last row is our own."""
    state = ResourceState({}, healthy, {}, held)
    with pytest.raises(AllocationError) as error:
        devices_to_allocate(DeviceRequest("u", "c", "r", 2), state, (), None, no_preference)
    assert str(error.value) == problem


def test_a_container_keeps_its_devices() -> None:
    held = {"a", "b"}
    check_held_devices(DeviceRequest("u", "c", "r", 2), held)
    state = ResourceState({}, {"a", "b", "x"}, {"r": {"a", "b"}}, held)
    assert not devices_to_allocate(DeviceRequest("u", "c", "r", 2), state, (), None, no_preference)
    with pytest.raises(AllocationError) as error:
        check_held_devices(DeviceRequest("u", "c", "r", 3), held)
    assert str(error.value) == 'pod "u" container "c" changed request for resource "r" from 2 to 3'


def test_a_request_for_zero_devices_is_satisfied_unless_none_is_healthy() -> None:
    none = DeviceRequest("u", "c", "r", 0)
    assert not devices_to_allocate(none, ResourceState({}, {"a"}, {}, None), (), None, no_preference)
    with pytest.raises(AllocationError, match="no healthy devices"):
        devices_to_allocate(none, ResourceState({}, set(), {}, None), (), None, no_preference)


def test_devices_are_in_the_order_of_the_plugin() -> None:
    listed = by_id(*(PluginDevice(each) for each in ("gpu10", "gpu9", "gpu2")))
    state = ResourceState(listed, {*listed}, {"r": {"gpu10"}}, None)
    assert devices_to_allocate(DeviceRequest("u", "c", "r", 1), state, (), None, no_preference) == {"gpu9"}
