"""Distributes CPUs evenly over several NUMA nodes, if one node does not have enough.

Mirrors: pkg/kubelet/cm/cpumanager/cpu_assignment.go takeByTopologyNUMADistributed
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from kubesim.kubelet.cm.admission import AllocationError
from kubesim.kubelet.cm.cpumanager.accumulator import (
    CpuAccumulator,
    SortingStrategy,
    not_enough,
    take_by_topology_numa_packed,
)
from kubesim.kubelet.cm.cpumanager.topology import CpuTopology
from kubesim.runtime.allocation.cpuset import CpuSet
from kubesim.values import mutable


class GoSlice:
    """A Go slice: `append` shares the array between slices while it has capacity.

    Upstream stores the best combination as a slice while it generates others. Combinations of four, six, seven or eight
    NUMA nodes that differ only in the last node overwrite each other, so a later combination can replace the stored
    one.
    """

    def __init__(self, array: list[int], length: int) -> None:
        self._array, self._length = array, length

    def append(self, value: int) -> GoSlice:
        array = self._array
        if self._length == len(array):
            array = [*array, *[0] * max(1, len(array))]  # the capacity doubles
        array[self._length] = value
        return GoSlice(array, self._length + 1)

    def __iter__(self) -> Iterator[int]:
        return iter(self._array[: self._length])

    def __len__(self) -> int:
        return self._length


def combinations(of: Sequence[int], size: int) -> Iterator[GoSlice]:
    """All combinations of `size` values, in order."""

    def further(start: int, left: int, chosen: GoSlice) -> Iterator[GoSlice]:
        if left == 0:
            yield chosen
            return
        for index in range(start, len(of) - left + 1):
            yield from further(index + 1, left - 1, chosen.append(of[index]))

    if size >= 1:
        yield from further(0, size, GoSlice([], 0))


@mutable
class _Best:
    """The best combination so far: its NUMA nodes, and the nodes that provide the remainder of an uneven division."""

    balance: float = math.inf  # standard deviation of the free CPUs afterwards
    combo: GoSlice | None = None
    remainder: GoSlice | None = None


def take_by_topology_numa_distributed(
    topology: CpuTopology, available: CpuSet, count: int, group_size: int, strategy: SortingStrategy = "packed"
) -> CpuSet:
    """Choose CPUs in groups of `group_size`, so that cores stay whole. Raises AllocationError."""
    if count % group_size:
        return take_by_topology_numa_packed(topology, available, count, strategy)
    acc = CpuAccumulator(topology, available, count, strategy)
    if acc.is_satisfied():
        return acc.result
    if acc.is_failed():
        raise not_enough(count, available)
    numas = acc.numa_nodes()
    fewest, most = _numa_nodes_needed(acc, group_size)
    for size in range(fewest, most + 1):
        best = _Best()
        for combo in combinations(numas, size):
            if best.balance == 0:
                break
            _weigh(acc, numas, combo, count, group_size, best)
        if best.combo is not None:
            return _take_evenly(acc, best, count, group_size, strategy)
    return take_by_topology_numa_packed(topology, available, count, strategy)


def _numa_nodes_needed(acc: CpuAccumulator, group_size: int) -> tuple[int, int]:
    """The smallest and the largest number of NUMA nodes that can provide the CPUs."""
    details = acc.topology.details
    groups = (len(details) - 1) // group_size + 1
    groups_per_node = (groups - 1) // len(details.ids("numa")) + 1
    needed = (acc.needed - 1) // group_size + 1
    return (needed - 1) // groups_per_node + 1, min(needed, len(acc.details.ids("numa")))


def _weigh(acc: CpuAccumulator, numas: list[int], combo: GoSlice, count: int, group_size: int, best: _Best) -> None:
    """Replace the best combination if this one is better."""
    free = {numa: len(acc.details.cpus_in("numa", (numa,))) for numa in numas}
    if sum(free[numa] for numa in combo) < count:
        return
    if sum(free[numa] // group_size for numa in combo) * group_size < count:
        return
    distribution = count // len(combo) // group_size * group_size
    if any(free[numa] < distribution for numa in combo):
        return
    for numa in combo:
        free[numa] -= distribution
    left_over = count - distribution * len(combo)
    local = _Best()
    if left_over == 0:
        local.balance = standard_deviation(free.values())
    else:
        _weigh_remainders(free, [numa for numa in combo if free[numa] >= group_size], left_over, group_size, local)
    if local.balance < best.balance:
        best.balance, best.combo, best.remainder = local.balance, combo, local.remainder


def _weigh_remainders(free: dict[int, int], nodes: list[int], left_over: int, group_size: int, local: _Best) -> None:
    """Choose the nodes that provide the remainder. More nodes are better than fewer."""
    for size in range(len(nodes), 0, -1):
        for subset in combinations(nodes, size):
            if sum(free[numa] for numa in subset) < left_over:
                continue
            after, remainder = dict(free), left_over
            while remainder > 0 and any(after[numa] >= group_size for numa in subset):
                for numa in subset:
                    if remainder == 0:
                        break
                    if after[numa] >= group_size:
                        after[numa] -= group_size
                        remainder -= group_size
            if remainder > 0:
                continue  # not enough whole groups; upstream would loop forever
            balance = standard_deviation(after.values())
            if balance < local.balance:
                local.balance, local.remainder = balance, subset


def _take_evenly(acc: CpuAccumulator, best: _Best, count: int, group_size: int, strategy: SortingStrategy) -> CpuSet:
    assert best.combo is not None
    distribution = count // len(best.combo) // group_size * group_size
    for numa in best.combo:
        _take_from(acc, numa, distribution, strategy)
    remainder = count - distribution * len(best.combo)
    while remainder > 0 and any(len(acc.details.cpus_in("numa", (n,))) >= group_size for n in best.remainder or ()):
        for numa in best.remainder or ():
            if remainder == 0:
                break
            if len(acc.details.cpus_in("numa", (numa,))) >= group_size:
                _take_from(acc, numa, group_size, strategy)
                remainder -= group_size
    if acc.needed > 0:
        raise AllocationError(f"accounting error, not enough CPUs allocated, remaining: {acc.needed}")
    if acc.needed < 0:
        raise AllocationError(f"accounting error, too many CPUs allocated, remaining: {acc.needed}")
    return acc.result


def _take_from(acc: CpuAccumulator, numa: int, count: int, strategy: SortingStrategy) -> None:
    try:
        cpus = take_by_topology_numa_packed(acc.topology, acc.details.cpus_in("numa", (numa,)), count, strategy)
    except AllocationError:
        return  # the count check at the end handles this
    acc.take(cpus)


def mean(values: Iterable[int]) -> float:
    numbers = list(values)
    return _rounded(sum(map(float, numbers)) / len(numbers))


def standard_deviation(values: Iterable[int]) -> float:
    """The standard deviation, rounded to three decimals."""
    numbers = list(values)
    middle = mean(numbers)
    return _rounded(math.sqrt(sum((number - middle) * (number - middle) for number in numbers) / len(numbers)))


def _rounded(value: float) -> float:
    """Rounded half up; the values are not negative."""
    whole, rest = divmod(value * 1000, 1)
    return (whole + (rest >= 0.5)) / 1000
