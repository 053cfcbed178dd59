"""The hardware of a node: topology and capacity, and configurations with which a kubelet would not start."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from kubesim.kubelet.cm.machine import Core
from kubesim.scenario.hardware.node_machine import machine_info
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.nodes.machine_items import TopologyItem


def scenario(node: dict[str, Any] | None = None, **configuration: Any) -> Scenario:
    spec = {"nodes": [{"name": "node-1", **(node or {})}], "kubeletConfiguration": configuration}
    return Scenario.model_validate({"metadata": {"name": "x"}, "spec": spec})


def topology(**given: Any) -> TopologyItem:
    return TopologyItem.model_validate(given)


def test_a_node_has_one_numa_node_by_default() -> None:
    machine = machine_info({"cpu": "4", "memory": "1Gi"})
    (node,) = machine.topology
    assert (machine.num_cpus, machine.num_sockets, node.memory, node.distances) == (4, 1, 1 << 30, (10,))
    assert node.cores == tuple(Core((cpu,)) for cpu in range(4))


def test_threads_are_numbered_after_cores() -> None:
    machine = machine_info({"cpu": 8, "memory": "4Gi"}, topology(sockets=2, threadsPerCore=2, uncoreCaches=4))
    cores = [core for node in machine.topology for core in node.cores]
    assert [core.threads for core in cores] == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert [core.socket for core in cores] == [0, 0, 1, 1]
    assert [core.uncore_cache for core in cores] == [0, 1, 2, 3]
    assert [len(node.cores) for node in machine.topology] == [2, 2]
    assert [node.distances for node in machine.topology] == [(10, 20), (20, 10)]


def test_memory_and_huge_pages_of_each_numa_node() -> None:
    capacity: dict[str, str | int | float] = {
        "cpu": 4,
        "memory": "5Gi",
        "hugepages-1Gi": "2Gi",
        "hugepages-2Mi": "64Mi",
    }
    given = topology(numaNodes=2, memory=["2Gi", "3Gi"], hugepages={"1Gi": ["2Gi", 0]}, distances=[[10, 11], [11, 10]])
    first, second = machine_info(capacity, given).topology
    assert (first.memory, second.memory) == (2 << 30, 3 << 30)
    assert (first.hugepages, second.hugepages) == ({1 << 20: 2, 2048: 16}, {1 << 20: 0, 2048: 16})
    assert second.distances == (11, 10)


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        ({"topology": {"threadsPerCore": 3}}, "threadsPerCore: 8 CPUs cannot be divided into cores of 3"),
        ({"topology": {"sockets": 3}}, "sockets: 8 cores cannot be divided into 3"),
        ({"topology": {"numaNodes": 5}}, "numaNodes: 8 cores cannot be divided into 5"),
        (
            {"capacity": {"cpu": 6}, "topology": {"sockets": 2, "numaNodes": 3}},
            "3 NUMA nodes cannot be divided into 2",
        ),
        ({"topology": {"uncoreCaches": 3}}, "uncoreCaches: 8 cores cannot be divided into 3"),
        ({"topology": {"memory": ["8Gi", "8Gi"]}}, "memory: there are 1 NUMA nodes"),
        ({"topology": {"memory": ["8Gi"]}}, "memory: must add up to the capacity of 16Gi"),
        ({"topology": {"hugepages": {"2Mi": ["2Mi"]}}}, "hugepages.2Mi: must add up to the capacity of 0"),
        ({"topology": {"numaNodes": 2}, "capacity": {"hugepages-1Gi": "1Gi"}}, "whole pages on each NUMA node"),
        ({"topology": {"numaNodes": 2, "distances": [[10]]}}, "distances: there must be one from each of 2 NUMA nodes"),
    ],
)
def test_a_topology_that_contradicts_the_capacity(node: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=r"nodes\[0\]\.topology\.") as caught:
        scenario(node)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("configuration", "problem"),
    [
        (
            {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "0"}},
            "unable to determine reserved CPU resources for static policy",
        ),
        (
            {"cpuManagerPolicy": "static", "reservedSystemCPUs": "8"},
            "unable to build the reserved physical CPUs from the reserved set: unknown CPU ID: 8",
        ),
        (
            {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "1"}, "cpuManagerPolicyOptions": {"x": "true"}},
            'new static policy error: unknown CPU Manager Policy option: "x"',
        ),
        (
            {"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}},
            "None policy: received unsupported options=map[full-pcpus-only:true]",
        ),
        ({"memoryManagerPolicy": "Static"}, 'the total amount "0" of type "memory" is not equal to the value "100Mi"'),
        (
            {"topologyManagerPolicy": "restricted", "topologyManagerPolicyOptions": {"x": "1"}},
            'unknown Topology Manager Policy option: "x"',
        ),
    ],
)
def test_configurations_with_which_a_kubelet_does_not_start(configuration: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError) as caught:
        scenario(**configuration)
    assert problem in str(caught.value)
