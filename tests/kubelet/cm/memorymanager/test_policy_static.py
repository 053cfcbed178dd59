"""The static policy. The tables are adapted from pkg/kubelet/cm/memorymanager/policy_static_test.go."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.features import FeatureGates
from kubesim.kubelet.cm.machine import MachineError, MachineInfo, NumaNode
from kubesim.kubelet.cm.memorymanager.machine_state import are_machine_states_equal
from kubesim.kubelet.cm.memorymanager.policy_static import StaticMemoryPolicy, new_static_memory_policy
from kubesim.kubelet.cm.memorymanager.requests import pod_requested_resources, validate_pod_scope_resources
from kubesim.kubelet.cm.memorymanager.state import (
    Block,
    MachineState,
    MemoryState,
    MemoryTable,
    NumaNodeState,
    restore,
)
from kubesim.kubelet.cm.memorymanager.topology_hints import pod_topology_hints, topology_hints
from kubesim.kubelet.cm.topologymanager.hints import Hints, TopologyHint
from kubesim.kubelet.cm.topologymanager.manager import all_containers
from kubesim.runtime.allocation.cpuset import format_cpus, parse_cpus
from tests.kubelet.cm.tables import Row, gates_of, names, outcome, pod_of, rows

TABLE = rows("memorymanager/policy_static")


def of(*tests: str) -> list[Row]:
    return [row for row in TABLE if row["test"] in tests]


def machine_state(given: Row) -> MachineState:
    """By node: number of assignments, cells, and total, reserved for the system, allocatable, reserved, free."""
    return {
        int(node): NumaNodeState(
            tuple(cells), {name: MemoryTable(*amounts) for name, amounts in tables.items()}, assignments
        )
        for node, (assignments, cells, tables) in given.items()
    }


def blocks_of(given: list[Any]) -> tuple[Block, ...]:
    return tuple(Block(tuple(nodes), type, size) for nodes, type, size in given)


def policy_for(row: Row, gates: FeatureGates | None = None) -> StaticMemoryPolicy:
    nodes = [NumaNode(node, (), memory, dict(pages)) for node, memory, pages in row["machine"]]
    assignments = {
        uid: {name: blocks_of(blocks) for name, blocks in each.items()} for uid, each in row["assignments"].items()
    }
    state = MemoryState(machine=machine_state(row["state"]), assignments=assignments)
    chosen, preferred = row.get("affinity", (None, False))
    hint = TopologyHint(None if chosen is None else parse_cpus(chosen), preferred)
    reserved = {int(node): amounts for node, amounts in row["reserved"].items()}
    gates = gates_of(row) if gates is None else gates
    return new_static_memory_policy(MachineInfo(tuple(nodes)), state, reserved, lambda uid, container: hint, gates)


def check_state(row: Row, policy: StaticMemoryPolicy) -> None:
    """The order of blocks is irrelevant, and so is the NUMA node within a group."""
    found = {
        uid: {name: set(blocks) for name, blocks in each.items()} for uid, each in policy.state.assignments.items()
    }
    expected = row.get("expectAssignments") or {}
    assert found == {uid: {name: set(blocks_of(each)) for name, each in pod.items()} for uid, pod in expected.items()}
    assert are_machine_states_equal(policy.state.machine, machine_state(row["expectState"]))


@pytest.mark.parametrize("row", of("new"), ids=names(of("new")))
def test_new(row: Row) -> None:
    """TestStaticPolicyNew"""
    assert outcome(lambda: policy_for(row))[1] == row["error"]


@pytest.mark.parametrize("row", of("start"), ids=names(of("start")))
def test_start(row: Row) -> None:
    """TestStaticPolicyStart"""
    policy = policy_for(row)
    assert outcome(policy.start)[1] == row["error"]
    if not row["error"]:
        check_state(row, policy)


@pytest.mark.parametrize("row", of("allocate"), ids=names(of("allocate")))
def test_allocate(row: Row) -> None:
    """TestStaticPolicyAllocate"""
    gates = FeatureGates({"PodLevelResources": row["gates"].get("PodLevelResources", False)})
    policy, pod = policy_for(row, gates), pod_of(row["pod"])
    assert outcome(lambda: policy.allocate(pod, pod.spec.containers[0]))[1] == row["error"]
    if not row["error"]:
        check_state(row, policy)


@pytest.mark.parametrize("row", of("all"), ids=names(of("all")))
def test_allocate_all_containers(row: Row) -> None:
    """TestStaticPolicyAllocateWithInitContainers, TestStaticPolicyAllocateWithRestartableInitContainers; a row's
    reusable memory before the first container is none"""
    policy, pod = policy_for(row), pod_of(row["pod"])
    for container in all_containers(pod):
        assert outcome(lambda: policy.allocate(pod, container))[1] == row["error"]  # noqa: B023 (called immediately)
        if row["error"]:
            return
    check_state(row, policy)


@pytest.mark.parametrize("row", of("remove"), ids=names(of("remove")))
def test_remove_container(row: Row) -> None:
    """TestStaticPolicyRemoveContainer"""
    policy = policy_for(row)
    policy.remove_container("pod1", "container1")
    check_state(row, policy)


def shown(hints: Hints) -> dict[str, list[list[object]]] | None:
    return {
        name: [[format_cpus(hint.numa_nodes or ()), hint.preferred] for hint in each or ()]
        for name, each in hints.items()
    }


@pytest.mark.parametrize("row", of("hints"), ids=names(of("hints")))
def test_topology_hints(row: Row) -> None:
    """TestStaticPolicyGetTopologyHints; missing hints are nil there, and empty here"""
    policy, pod = policy_for(row), pod_of(row["pod"])
    assert shown(topology_hints(policy, pod, pod.spec.containers[0])) == (row["hints"] or {})


@pytest.mark.parametrize("row", of("pod hints"), ids=names(of("pod hints")))
def test_pod_topology_hints(row: Row) -> None:
    """TestStaticPolicyGetPodTopologyHints"""
    assert shown(pod_topology_hints(policy_for(row), pod_of(row["pod"]))) == (row["hints"] or {})


@pytest.mark.parametrize("row", of("pod"), ids=names(of("pod")))
def test_allocate_pod(row: Row) -> None:
    """TestStaticPolicyAllocatePod"""
    policy, pod = policy_for(row), pod_of(row["pod"])
    assert outcome(lambda: policy.allocate_pod(pod))[1] == row["error"]
    if row["error"]:
        return
    check_state(row, policy)
    for container in all_containers(pod):
        policy.remove_container(pod.metadata.uid, container.name)
    assert are_machine_states_equal(policy.state.machine, machine_state(row["state"]))


@pytest.mark.parametrize("row", of("requested"), ids=names(of("requested")))
def test_pod_requested_resources(row: Row) -> None:
    """Test_getPodRequestedResources"""
    assert pod_requested_resources(pod_of(row["pod"]), gates_of(row)) == row["expect"]


@pytest.mark.parametrize("row", of("violating"), ids=names(of("violating")))
def test_nodes_stay_in_their_groups(row: Row) -> None:
    """Test_isAffinityViolatingNUMAAllocations, checked by the message for a pod that is to get these nodes"""
    base = next(each for each in of("allocate") if each["error"] == "")
    state = {node: [count, cells, {"memory": [9, 0, 9, 0, 9]}] for node, (count, cells, _) in row["state"].items()}
    given = {**base, "assignments": {}, "state": state, "affinity": [row["affinity"], True]}
    policy = policy_for(given)
    amounts = {"cpu": "1", "memory": "12"}
    container = {"name": "main", "resources": {"requests": amounts, "limits": amounts}}
    pod = pod_of({"uid": "pod", "containers": [container]})
    problem = outcome(lambda: policy.allocate(pod, pod.spec.containers[0]))[1]
    violated = "[memorymanager] preferred hint violates NUMA node allocation"
    assert problem == (violated if row["expect"] else "")


@pytest.mark.parametrize("row", of("pod scope"), ids=names(of("pod scope")))
def test_validate_pod_scope_resources(row: Row) -> None:
    """TestValidatePodScopeResources"""
    assert outcome(lambda: validate_pod_scope_resources(pod_of(row["pod"]), gates_of(row)))[1] == row["error"]


def test_a_state_of_another_policy_is_rejected() -> None:
    """state_checkpoint_test.go: should fail with invalid policy name"""
    with pytest.raises(MachineError, match='configured policy "Static" differs from state checkpoint policy "None"'):
        restore(MemoryState(policy="None"), "Static")
