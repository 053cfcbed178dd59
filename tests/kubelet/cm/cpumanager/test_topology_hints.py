"""Hints of the CPU manager. The tables are adapted from pkg/kubelet/cm/cpumanager/topology_hints_test.go."""

from __future__ import annotations

import pytest

from kubesim.features import FeatureGates
from kubesim.kubelet.cm.cpumanager.policy_options import StaticPolicyOptions, new_static_policy_options
from kubesim.kubelet.cm.cpumanager.policy_static import StaticPolicy
from kubesim.kubelet.cm.cpumanager.requests import pod_guaranteed_cpus
from kubesim.kubelet.cm.cpumanager.topology import CpuTopology, discover
from kubesim.kubelet.cm.cpumanager.topology_hints import pod_topology_hints, topology_hints
from kubesim.kubelet.cm.machine import Core, MachineInfo, NumaNode
from kubesim.kubelet.cm.topologymanager.hints import Hints, TopologyHint
from kubesim.runtime.allocation.cpuset import format_cpus
from tests.kubelet.cm.tables import Row, cpu_state, gates_of, names, pod_of, rows, topology

TABLE = rows("cpumanager/topology_hints")
MACHINE = MachineInfo(
    (
        NumaNode(0, tuple(Core((cpu, cpu + 6), 0, 1) for cpu in range(3))),
        NumaNode(1, tuple(Core((cpu, cpu + 6), 1, 1) for cpu in range(3, 6))),
    ),
    num_cpus=12,
    num_sockets=0,
)


def of(test: str) -> list[Row]:
    return [row for row in TABLE if row["test"] == test]


def policy_for(row: Row, machine: CpuTopology, gates: FeatureGates) -> StaticPolicy:
    options = new_static_policy_options(row["options"], gates) if "options" in row else StaticPolicyOptions()
    return StaticPolicy(machine, cpu_state(row), lambda uid, container: TopologyHint(), options, gates=gates)


def shown(hints: Hints) -> list[list[object]]:
    found = sorted(hints.get("cpu") or (), key=lambda hint: (not hint.preferred, len(hint.numa_nodes or ())))
    return [[format_cpus(hint.numa_nodes or ()), hint.preferred] for hint in found]


def expected(hints: list[list[object]] | None) -> list[list[object]]:
    return sorted(hints or [], key=lambda hint: (not hint[1], len(str(hint[0]))))


@pytest.mark.parametrize("row", of("pod guaranteed CPUs"), ids=names(of("pod guaranteed CPUs")))
def test_pod_guaranteed_cpus(row: Row) -> None:
    """TestPodGuaranteedCPUs"""
    assert pod_guaranteed_cpus(pod_of(row["pod"]), gates_of(row)) == row["expect"]


@pytest.mark.parametrize("row", of("hints"), ids=names(of("hints")))
def test_hints_for_a_container_and_for_a_pod(row: Row) -> None:
    """TestGetTopologyHints, TestGetPodTopologyHints: the same rows for both"""
    pod, gates = pod_of(row["pod"]), gates_of(row)
    policy = policy_for(row, discover(MACHINE), gates)
    container = pod.spec.find_container(row["container"])
    assert container is not None
    assert shown(topology_hints(policy, pod, container)) == expected(row["hints"])
    assert shown(pod_topology_hints(policy, pod)) == expected(row["hints"])


@pytest.mark.parametrize("row", of("options"), ids=names(of("options")))
def test_hints_aligned_by_socket(row: Row) -> None:
    """TestGetPodTopologyHintsWithPolicyOptions"""
    policy = policy_for(row, topology(row["topology"]), gates_of(row))
    found, wanted = shown(pod_topology_hints(policy, pod_of(row["pod"]))), row["hints"]
    assert sorted(map(str, found)) == sorted(map(str, wanted))


@pytest.mark.parametrize("row", of("pod level"), ids=names(of("pod level")))
def test_hints_of_pods_with_pod_level_resources(row: Row) -> None:
    """TestTopologyHintsPodLevelResources"""
    pod = pod_of(row["pod"])
    gates = FeatureGates({"PodLevelResourceManagers": True})
    policy = policy_for(row, discover(MACHINE), gates)
    container = pod.spec.find_container(row["container"])
    assert container is not None
    assert shown(pod_topology_hints(policy, pod)) == expected(row["podHints"])
    assert shown(topology_hints(policy, pod, container)) == expected(row["hints"])
