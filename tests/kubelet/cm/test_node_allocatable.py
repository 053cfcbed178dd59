"""Allocatable resources of a node: upstream's tables, and the kubelet configuration.

Adapted from pkg/kubelet/cm/node_container_manager_linux_test.go TestNodeAllocatableReservationForScheduling (11 rows),
TestNodeAllocatableForEnforcement (7), TestNodeAllocatableInputValidation (10), and of pkg/kubelet/nodestatus
setters_test.go TestMachineInfo the rows about allocatable (5 of 15; the others are about cAdvisor and device plugins).
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.quantity import Quantity, quantity
from kubesim.kubelet.cm.node_allocatable import (
    NodeAllocatableConfig,
    invalid_node_allocatable,
    node_allocatable,
    node_allocatable_absolute,
    node_allocatable_reservation,
)
from kubesim.kubelet.eviction.thresholds import parse_threshold_config

Amounts = dict[str, Any]


def cpu_and_memory(cpu: str, memory: str) -> Amounts:
    return {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount}


def storage(amount: str) -> Amounts:
    return {"ephemeral-storage": amount} if amount else {}


def config(*reserved: Amounts, hard: str = "", signal: str = "memory.available") -> NodeAllocatableConfig:
    total: dict[str, Quantity] = {}
    for amounts in reserved:
        for name, amount in amounts.items():
            total[name] = total.get(name, Quantity(0, 0)) + quantity(amount)
    return NodeAllocatableConfig(total, parse_threshold_config({signal: hard} if hard else {}))


def milli_values(amounts: Any) -> dict[str, int]:
    return {
        name: (amount if isinstance(amount, Quantity) else quantity(amount)).milli_value()
        for name, amount in amounts.items()
    }


@pytest.mark.parametrize(
    ("kube", "system", "capacity", "hard", "expected"),
    [
        pytest.param(("100m", "100Mi"), ("50m", "50Mi"), ("10", "10Gi"), "", ("150m", "150Mi"), id="1"),
        pytest.param(("100m", "100Mi"), ("50m", "50Mi"), ("10", "10Gi"), "100Mi", ("150m", "250Mi"), id="2"),
        pytest.param(("100m", "100Mi"), ("50m", "50Mi"), ("10", "10Gi"), "5%", ("150m", "694157320"), id="3"),
        pytest.param(("", ""), ("", ""), ("10", "10Gi"), "", ("", ""), id="4"),
        pytest.param(("", "100Mi"), ("50m", "50Mi"), ("10", "10Gi"), "", ("50m", "150Mi"), id="5"),
        pytest.param(("50m", "100Mi"), ("", "50Mi"), ("10", "10Gi"), "", ("50m", "150Mi"), id="6"),
        pytest.param(("", "100Mi"), ("", "50Mi"), ("10", ""), "", ("", ""), id="7"),
    ],
)
def test_reservation_of_cpu_and_memory(
    kube: tuple[str, str], system: tuple[str, str], capacity: tuple[str, str], hard: str, expected: tuple[str, str]
) -> None:
    reserved = config(cpu_and_memory(*kube), cpu_and_memory(*system), hard=hard)
    found = node_allocatable_reservation(cpu_and_memory(*capacity), reserved)
    assert milli_values(found) == milli_values(cpu_and_memory(*expected))


@pytest.mark.parametrize(
    ("kube", "hard", "expected"),
    [
        pytest.param("100Mi", "", "100Mi", id="1"),
        pytest.param("100Mi", "100Mi", "200Mi", id="2"),
        pytest.param("150Mi", "5%", "694157320", id="3"),
        pytest.param("", "", "", id="4"),
    ],
)
def test_reservation_of_ephemeral_storage(kube: str, hard: str, expected: str) -> None:
    reserved = config(storage(kube), hard=hard, signal="nodefs.available")
    found = node_allocatable_reservation(storage("10Gi"), reserved)
    assert milli_values(found) == milli_values(storage(expected))


@pytest.mark.parametrize(
    ("kube", "system", "capacity", "hard", "expected"),
    [
        pytest.param(("100m", "100Mi"), ("50m", "50Mi"), ("10", "10Gi"), "", ("9850m", "10090Mi"), id="1"),
        pytest.param(("100m", "100Mi"), ("50m", "50Mi"), ("10", "10Gi"), "100Mi", ("9850m", "10090Mi"), id="2"),
        pytest.param(("100m", "100Mi"), ("50m", "50Mi"), ("10", "10Gi"), "5%", ("9850m", "10090Mi"), id="3"),
        pytest.param(("", ""), ("", ""), ("10", "10Gi"), "", ("10", "10Gi"), id="4"),
        pytest.param(("", "100Mi"), ("50m", "50Mi"), ("10", "10Gi"), "", ("9950m", "10090Mi"), id="5"),
        pytest.param(("50m", "100Mi"), ("", "50Mi"), ("10", "10Gi"), "", ("9950m", "10090Mi"), id="6"),
        pytest.param(("", "100Mi"), ("", "50Mi"), ("10", ""), "", ("10", ""), id="7"),
    ],
)
def test_the_cgroup_of_all_pods_is_not_limited_by_thresholds(
    kube: tuple[str, str], system: tuple[str, str], capacity: tuple[str, str], hard: str, expected: tuple[str, str]
) -> None:
    reserved = config(cpu_and_memory(*kube), cpu_and_memory(*system), hard=hard).reserved
    found = node_allocatable_absolute(cpu_and_memory(*capacity), reserved)
    assert milli_values(found) == milli_values(cpu_and_memory(*expected))


@pytest.mark.parametrize(
    ("kube", "system", "capacity", "hard"),
    [
        pytest.param(("100m", "100Mi"), ("50m", "50Mi"), ("10", "10Gi"), "", id="1"),
        pytest.param(("100m", "100Mi"), ("50m", "50Mi"), ("10", "10Gi"), "100Mi", id="2"),
        pytest.param(("100m", "100Mi"), ("50m", "50Mi"), ("10", "10Gi"), "5%", id="3"),
        pytest.param(("", ""), ("", ""), ("10", "10Gi"), "", id="4"),
        pytest.param(("", "100Mi"), ("50m", "50Mi"), ("10", "10Gi"), "", id="5"),
        pytest.param(("50m", "100Mi"), ("", "50Mi"), ("10", "10Gi"), "", id="6"),
        pytest.param(("", "100Mi"), ("", "50Mi"), ("10", ""), "", id="7"),
    ],
)
def test_a_kubelet_starts_if_it_leaves_some_capacity(
    kube: tuple[str, str], system: tuple[str, str], capacity: tuple[str, str], hard: str
) -> None:
    reserved = config(cpu_and_memory(*kube), cpu_and_memory(*system), hard=hard)
    assert invalid_node_allocatable(cpu_and_memory(*capacity), reserved) == ""
    assert invalid_node_allocatable(storage("500Mi"), config(storage("100Mi"))) == ""


def test_a_kubelet_does_not_start_if_it_reserves_more_than_the_capacity() -> None:
    reserved = config(cpu_and_memory("5", "10Gi"), cpu_and_memory("5", "10Gi"), hard="2Gi")
    assert invalid_node_allocatable(cpu_and_memory("10", "11Gi"), reserved) == (
        'invalid Node Allocatable configuration. Resource "memory" has a reservation of 22Gi but capacity of 11Gi. '
        "Expected capacity >= reservation."
    )
    reserved = config(storage("20Gi"), hard="100Mi", signal="nodefs.available")
    assert "20580Mi but capacity of 20Gi" in invalid_node_allocatable(storage("20Gi"), reserved)


@pytest.mark.parametrize(
    ("more", "reservation", "expected"),
    [
        pytest.param({}, {}, {}, id="machine identifiers, basic capacity and allocatable"),
        pytest.param(
            {},
            {"cpu": "1m", "memory": "1", "pods": "1", "ephemeral-storage": "1"},
            {"cpu": "1999m", "memory": "1023", "pods": "109"},
            id="allocatable should equal capacity minus reservations",
        ),
        pytest.param(
            {"hugepages-test": "1"},
            {},
            {"memory": "1023"},
            id="allocatable memory does not double-count hugepages reservations",
        ),
        pytest.param(
            {"negative-resource": "-1"},
            {},
            {"negative-resource": "0"},
            id="negative capacity resources should be set to 0 in allocatable",
        ),
        pytest.param(
            {"hugepages-test": "1025"},
            {},
            {"memory": "0"},
            id="hugepages reservation greater than node memory capacity should result in memory capacity set to 0",
        ),
    ],
)
def test_allocatable_in_the_node_status(more: Amounts, reservation: Amounts, expected: Amounts) -> None:
    capacity = {"cpu": "2", "memory": "1024", "pods": "110", **more}
    found = node_allocatable(capacity, {name: quantity(amount) for name, amount in reservation.items()})
    assert milli_values(found) == milli_values({**capacity, **expected})


def test_thresholds_for_other_disks_and_inodes_reserve_nothing() -> None:
    hard = {"imagefs.available": "15%", "nodefs.inodesFree": "5%", "pid.available": "10%"}
    reserved = NodeAllocatableConfig({}, parse_threshold_config(hard))
    assert node_allocatable_reservation({"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}, reserved) == {}


def test_extended_resources_and_pods_cannot_be_reserved() -> None:
    reserved = NodeAllocatableConfig({"example.com/gpu": quantity("1"), "pods": quantity("1")})
    assert node_allocatable_reservation({"example.com/gpu": "2", "pods": "110"}, reserved) == {}
