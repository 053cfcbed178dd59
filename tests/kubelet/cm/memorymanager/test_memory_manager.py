"""The memory manager. The tables are adapted from TestValidateReservedMemory, TestConvertPreReserved,
TestGetSystemReservedMemory, TestNewManager, TestRemoveStaleState and TestAllocateAndAddPodWithInitContainers in
pkg/kubelet/cm/memorymanager/memory_manager_test.go."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kubesim.api.pod import Pod
from kubesim.api.quantity import quantity
from kubesim.features import DEFAULT_GATES
from kubesim.kubelet.cm.active_pods import ActivePods
from kubesim.kubelet.cm.machine import MachineInfo, NumaNode
from kubesim.kubelet.cm.memorymanager.manager import MemoryManager, new_policy
from kubesim.kubelet.cm.memorymanager.requests import MemoryReservation, system_reserved_memory
from kubesim.kubelet.cm.memorymanager.state import Block, MemoryState
from kubesim.kubelet.cm.settings import ResourceManagerSettings
from kubesim.kubelet.cm.topologymanager.hints import TopologyHint
from kubesim.kubelet.cm.topologymanager.manager import all_containers
from tests.kubelet.cm.tables import outcome, pod_of

GB = 1 << 30
TWO_NODES = MachineInfo((NumaNode(0), NumaNode(1)))
NOT_EQUAL = 'the total amount "{}" of type "{}" is not equal to the value "{}" determined by Node Allocatable feature'
Amounts = Mapping[str, int | str]


def reservations(given: Mapping[int, Amounts]) -> list[MemoryReservation]:
    return [
        MemoryReservation(node, {name: quantity(amount) for name, amount in limits.items()})
        for node, limits in given.items()
    ]


@pytest.mark.parametrize(
    ("kept_back", "reserved", "expected"),
    [
        pytest.param({}, {}, {0: {}, 1: {}}, id="Node Allocatable not set, reserved not set"),
        pytest.param({"memory": 0}, {0: {"memory": 0}}, {0: {"memory": 0}, 1: {}}, id="both set to zero"),
        pytest.param({}, {0: {"memory": 12}}, NOT_EQUAL.format(12, "memory", 0), id="Node Allocatable not set"),
        pytest.param({"hugepages-2Mi": 5}, {}, NOT_EQUAL.format(0, "hugepages-2Mi", 5), id="reserved not set"),
        pytest.param({"memory": 5}, {0: {"memory": 12}}, NOT_EQUAL.format(12, "memory", 5), id="not equal"),
        pytest.param(
            {"memory": 17},
            {0: {"memory": 12}, 2: {"memory": 5}},
            "the reserved memory configuration references a NUMA node 2 that does not exist on this machine",
            id="NUMA node that does not exist",
        ),
        pytest.param(
            {"memory": 17, "hugepages-2Mi": 77, "hugepages-1Gi": 13},
            {0: {"memory": 12, "hugepages-2Mi": 70, "hugepages-1Gi": 13}, 1: {"memory": 5, "hugepages-2Mi": 7}},
            {0: {"memory": 12, "hugepages-2Mi": 70, "hugepages-1Gi": 13}, 1: {"memory": 5, "hugepages-2Mi": 7}},
            id="total equal to Node Allocatable",
        ),
        pytest.param(
            {"memory": 17, "hugepages-2Mi": 14, "hugepages-1Gi": 13},
            {0: {"memory": 12, "hugepages-2Mi": 70, "hugepages-1Gi": 13}, 1: {"memory": 5, "hugepages-2Mi": 7}},
            NOT_EQUAL.format(77, "hugepages-2Mi", 14),
            id="hugepages-2Mi not equal",
        ),
        pytest.param({}, {0: {"memory": "1Gi"}}, NOT_EQUAL.format("1Gi", "memory", 0), id="1Gi is not reserved"),
        pytest.param(
            {"memory": "2Gi"},
            {0: {"memory": "1Gi"}, 1: {"memory": "2Gi"}},
            NOT_EQUAL.format("3Gi", "memory", "2Gi"),
            id="3Gi are not 2Gi",
        ),
        pytest.param(
            {"memory": "2Gi"},
            {0: {"memory": "1Gi"}, 1: {"memory": "1Gi"}},
            {0: {"memory": GB}, 1: {"memory": GB}},
            id="Reserved should be equal to systemReservedMemory",
        ),
        pytest.param(
            {"memory": "1500m"},
            {0: {"memory": "1500m"}},
            "could not covert a variable of type Quantity to int64",
            id="a fraction of a byte",
        ),
    ],
)
def test_system_reserved_memory(
    kept_back: Amounts, reserved: Mapping[int, Amounts], expected: Mapping[int, Mapping[str, int]] | str
) -> None:
    given = {name: quantity(amount) for name, amount in kept_back.items()}
    made, problem = outcome(lambda: system_reserved_memory(TWO_NODES, given, reservations(reserved)))
    assert (problem or made) == expected


def container(name: str, memory: str, pages: str) -> dict[str, object]:
    amounts = {"cpu": "1", "memory": memory, "hugepages-1Gi": pages}
    return {"name": name, "resources": {"requests": amounts, "limits": amounts}}


def manager_with(active: list[Pod]) -> MemoryManager:
    nodes = (NumaNode(0, (), 15 * GB, {1 << 20: 5}), NumaNode(1, (), 15 * GB, {1 << 20: 5}))
    amount = {"memory": quantity("512Mi")}
    settings = ResourceManagerSettings(
        machine=MachineInfo(nodes), reservation={"memory": quantity("1Gi")}, reserved_memory=((0, amount), (1, amount))
    )
    policy = new_policy(settings, MemoryState(), lambda uid, name: TopologyHint(), DEFAULT_GATES)
    manager = MemoryManager(policy, ActivePods(lambda: active, lambda: True), lambda pod, container, text: None)
    manager.start()
    return manager


def test_init_containers_release_their_memory_when_the_next_container_starts() -> None:
    pod = pod_of(
        {
            "uid": "pod1",
            "initContainers": [container("init", "7Gi", "5Gi")],
            "containers": [container("main", "4Gi", "4Gi")],
        }
    )
    manager = manager_with([pod])
    for each in all_containers(pod):
        manager.allocate(pod, each)
    assert manager.numa_nodes("pod1", "init") == manager.numa_nodes("pod1", "main") == [0]
    for each in all_containers(pod):
        manager.add_container(pod, each)
    state = manager.policy.state
    assert state.assignments == {
        "pod1": {"main": (Block((0,), "hugepages-1Gi", 4 * GB), Block((0,), "memory", 4 * GB))}
    }
    node = state.machine[0]
    assert (node.assignments, node.cells) == (2, (0,))
    assert (node.memory["memory"].reserved, node.memory["hugepages-1Gi"].free) == (4 * GB, GB)


def test_stale_state_is_removed() -> None:
    pod = pod_of({"uid": "pod1", "containers": [container("main", "4Gi", "4Gi")]})
    active = [pod]
    manager = manager_with(active)
    manager.allocate(pod, pod.spec.containers[0])
    active.clear()
    manager.topology_hints(pod, pod.spec.containers[0])
    assert manager.policy.state.assignments == {}
    assert manager.policy.state.machine[0].memory["memory"].reserved == 0


def test_no_memory_reserved() -> None:
    """TestNewManager: Should return an error when memory reserved for system is empty (systemReservedMemory)"""
    settings = ResourceManagerSettings(machine=TWO_NODES)
    made = outcome(lambda: new_policy(settings, MemoryState(), lambda uid, name: TopologyHint(), DEFAULT_GATES))
    assert made == (None, "[memorymanager] you should specify the system reserved memory")


def test_too_little_memory_is_an_unexpected_error() -> None:
    """Missing hints count as no preference, so that the allocation fails instead."""
    pod = pod_of({"uid": "pod1", "containers": [container("main", "40Gi", "1Gi")]})
    manager = manager_with([pod])
    assert manager.topology_hints(pod, pod.spec.containers[0]) == {}
    problem = "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
    assert outcome(lambda: manager.allocate(pod, pod.spec.containers[0]))[1] == f"[memorymanager] {problem}"
