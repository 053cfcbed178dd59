"""The CPUs of a machine. The table is adapted from pkg/kubelet/cm/cpumanager/topology/topology_test.go
Test_Discover.
"""

from __future__ import annotations

import pytest

from kubesim.kubelet.cm.cpumanager.topology import CpuInfo, CpuTopology, discover
from kubesim.kubelet.cm.machine import Core, MachineInfo, NumaNode
from kubesim.runtime.allocation.cpuset import format_cpus, parse_cpus
from tests.kubelet.cm.tables import Row, names, outcome, rows, topology

TABLE = rows("cpumanager/discover")


@pytest.mark.parametrize("row", TABLE, ids=names(TABLE))
def test_discover(row: Row) -> None:
    nodes = [
        NumaNode(node, tuple(Core(tuple(threads), socket, uncore) for threads, socket, uncore in cores))
        for node, cores in row["nodes"]
    ]
    found, problem = outcome(lambda: discover(MachineInfo(tuple(nodes), row["cpus"], row["sockets"])))
    assert bool(problem) == (row["expect"] is None)
    if row["expect"] is None:
        return
    assert isinstance(found, CpuTopology)
    wanted = row["expect"]
    assert found.details == {cpu: CpuInfo(*place) for cpu, *place in wanted["details"]}
    counts = (found.num_cpus, found.num_cores, found.num_sockets, found.num_numa_nodes, found.num_uncore_caches)
    assert counts == tuple(wanted[name] for name in ("cpus", "cores", "sockets", "numa", "uncore"))


def test_details_of_a_machine() -> None:
    """TestCPUDetails...: the same queries for one machine"""
    details = topology("topoDualSocketMultiNumaPerSocketHT").details
    assert details.ids("numa") == {0, 1, 2, 3}
    assert details.ids_in("numa", "socket", (1,)) == {2, 3}
    assert details.ids_in("socket", "numa", (1, 2)) == {0, 1}
    assert details.ids_in("core", "numa", (0,)) == set(range(10))
    assert format_cpus(details.cpus_in("numa", (0, 3))) == "0-9,30-49,70-79"
    assert format_cpus(details.cpus_in("core", (5,))) == "5,45"
    assert details.keep_only(parse_cpus("5,200")).cpus() == {5}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", ""),
        ("0-3,7", ""),
        ("5", ""),
        ("3-1", 'invalid range "3-1" (3 > 1)'),
        ("a", 'strconv.Atoi: parsing "a": invalid syntax'),
        ("1-", 'strconv.Atoi: parsing "": invalid syntax'),
    ],
)
def test_sets_of_cpus(text: str, problem: str) -> None:
    """k8s.io/utils/cpuset: Parse and String"""
    if problem:
        with pytest.raises(ValueError, match=r".") as caught:
            parse_cpus(text)
        assert str(caught.value) == problem
    else:
        assert format_cpus(parse_cpus(text)) == text
