"""Selection of CPUs. The tables are adapted from pkg/kubelet/cm/cpumanager/cpu_assignment_test.go."""

from __future__ import annotations

import pytest

from kubesim.kubelet.cm.cpumanager.accumulator import CpuAccumulator, take_by_topology_numa_packed
from kubesim.kubelet.cm.cpumanager.distribution import (
    GoSlice,
    combinations,
    standard_deviation,
    take_by_topology_numa_distributed,
)
from kubesim.runtime.allocation.cpuset import parse_cpus
from tests.kubelet.cm.tables import Row, names, outcome, rows, topology

TABLE = rows("cpumanager/cpu_assignment")
FREE = [row for row in TABLE if row["test"].startswith("free ")]
TAKE = [row for row in TABLE if row["test"] == "take"]
PACKED = [row for row in TABLE if row["test"] == "packed"]
DISTRIBUTED = [row for row in TABLE if row["test"] == "distributed"]


@pytest.mark.parametrize("row", FREE, ids=[f"{row['test']}: {row['name']}" for row in FREE])
def test_free_cpus_and_nodes(row: Row) -> None:
    """TestCPUAccumulatorFreeSockets, FreeNUMANodes, FreeSocketsAndNUMANodes, FreeCores, FreeCPUs"""
    acc = CpuAccumulator(topology(row["topology"]), parse_cpus(row["available"]), 0, "packed")
    free = {
        "free sockets": lambda: sorted(acc.free_sockets()),
        "free NUMA nodes": lambda: sorted(acc.free_numa_nodes()),
        "free cores": acc.free_cores,
        "free CPUs": acc.cpus,
    }
    assert free[row["test"]]() == row["expect"]


@pytest.mark.parametrize("row", TAKE, ids=names(TAKE))
def test_take_cpus(row: Row) -> None:
    """TestCPUAccumulatorTake"""
    acc = CpuAccumulator(topology(row["topology"]), parse_cpus(row["available"]), row["count"], "packed")
    taken = 0
    for text in row["take"]:
        cpus = parse_cpus(text)
        acc.take(cpus)
        taken += len(cpus)
    assert (acc.is_satisfied(), acc.is_failed()) == (row["satisfied"], row["failed"])
    assert acc.needed == row["count"] - taken
    assert not any(parse_cpus(text) & acc.details.cpus() for text in row["take"])
    assert all(parse_cpus(text) <= acc.result for text in row["take"])


@pytest.mark.parametrize("row", PACKED, ids=names(PACKED))
def test_take_by_topology_numa_packed(row: Row) -> None:
    """TestTakeByTopologyNUMAPacked, TestTakeByTopologyWithSpreadPhysicalCPUsPreferredOption"""
    options = row["options"]
    taken = outcome(
        lambda: take_by_topology_numa_packed(
            topology(row["topology"]),
            parse_cpus(row["available"]),
            row["count"],
            "spread" if "distribute-cpus-across-cores" in options else "packed",
            align_by_uncore_cache="prefer-align-cpus-by-uncorecache" in options,
        )
    )
    assert taken == (None if row["error"] else parse_cpus(row["expect"]), row["error"])


@pytest.mark.parametrize("row", DISTRIBUTED, ids=names(DISTRIBUTED))
def test_take_by_topology_numa_distributed(row: Row) -> None:
    """TestTakeByTopologyNUMADistributed"""
    available, count = parse_cpus(row["available"]), row["count"]
    machine = topology(row["topology"])
    taken = outcome(lambda: take_by_topology_numa_distributed(machine, available, count, row["group"]))
    assert taken == (None if row["error"] else parse_cpus(row["expect"]), row["error"])


def test_combinations_share_arrays_as_go_slices_do() -> None:
    kept: list[GoSlice] = []
    seen = []
    for combo in combinations(range(5), 4):
        kept.append(combo)
        seen.append(list(combo))
    assert seen == [[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 3, 4], [0, 2, 3, 4], [1, 2, 3, 4]]
    # The first two share three values and the underlying array: the second one overwrites the first.
    assert [list(combo) for combo in kept] == [[0, 1, 2, 4], [0, 1, 2, 4], [0, 1, 3, 4], [0, 2, 3, 4], [1, 2, 3, 4]]
    assert [list(combo) for combo in list(combinations(range(4), 3))] == [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]


def test_standard_deviation_has_three_decimals() -> None:
    assert standard_deviation([1, 2]) == 0.5
    assert standard_deviation([1, 1, 2]) == 0.471
    assert standard_deviation([3, 3]) == 0
