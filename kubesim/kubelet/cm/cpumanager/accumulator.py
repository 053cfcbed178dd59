"""Chooses a number of free CPUs: whole sockets and NUMA nodes first, then caches, cores, single CPUs.

Mirrors: pkg/kubelet/cm/cpumanager/cpu_assignment.go cpuAccumulator, takeByTopologyNUMAPacked
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from kubesim.kubelet.cm.admission import AllocationError
from kubesim.kubelet.cm.cpumanager.topology import CpuTopology, Level
from kubesim.runtime.allocation.cpuset import NO_CPUS, CpuSet

# Order of the free CPUs: core by core (packed), or by number within a socket (spread over cores).
SortingStrategy = Literal["packed", "spread"]


class CpuAccumulator:
    """State of one selection: `details` are the free CPUs, `result` the taken CPUs, `needed` the number still missing.

    The larger of socket and NUMA node is the first level. Within a level, the one with the fewest free CPUs comes
    first.
    """

    def __init__(self, topology: CpuTopology, available: CpuSet, count: int, strategy: SortingStrategy) -> None:
        self.topology = topology
        self.details = topology.details.keep_only(available)
        self.needed = count
        self.result: CpuSet = NO_CPUS
        self._strategy = strategy
        self.numa_first = topology.num_sockets >= topology.num_numa_nodes

    def is_satisfied(self) -> bool:
        return self.needed < 1

    def is_failed(self) -> bool:
        return self.needed > len(self.details)

    def take(self, cpus: CpuSet) -> None:
        self.result |= cpus
        self.details = self.details.keep_only(self.details.cpus() - self.result)
        self.needed -= len(cpus)

    # -- order of free CPUs ---------------------------------------------------------------------------------------

    def _sorted(self, level: Level, ids: Iterable[int]) -> list[int]:
        return sorted(ids, key=lambda one: (len(self.details.cpus_in(level, (one,))), one))

    def _sorted_in(self, level: Level, parent: Level, parents: Iterable[int]) -> list[int]:
        found: list[int] = []
        for one in parents:
            found += self._sorted(level, self.details.ids_in(level, parent, (one,)))
        return found

    def numa_nodes(self) -> list[int]:
        if self.numa_first:
            return self._sorted("numa", self.details.ids("numa"))
        return self._sorted_in("numa", "socket", self.sockets())

    def sockets(self) -> list[int]:
        if self.numa_first:
            return self._sorted_in("socket", "numa", self.numa_nodes())
        return self._sorted("socket", self.details.ids("socket"))

    def uncore_caches(self) -> list[int]:
        return self._sorted_in("uncore", "numa", self.numa_nodes())

    def cores(self) -> list[int]:
        if self.numa_first:
            return self._sorted_in("core", "socket", self.sockets())
        return self._sorted_in("core", "numa", self.numa_nodes())

    def cpus(self) -> list[int]:
        level: Level = "core" if self._strategy == "packed" else "socket"
        ids = self.cores() if self._strategy == "packed" else self.sockets()
        return [cpu for one in ids for cpu in sorted(self.details.cpus_in(level, (one,)))]

    # -- taking -------------------------------------------------------------------------------------------------

    def free_numa_nodes(self) -> list[int]:
        return [one for one in self.numa_nodes() if self._is_free("numa", one)]

    def free_sockets(self) -> list[int]:
        size = self.topology.cpus_per_socket
        return [one for one in self.sockets() if len(self.details.cpus_in("socket", (one,))) == size]

    def free_uncore_caches(self) -> list[int]:
        return [one for one in self.uncore_caches() if self._is_free("uncore", one)]

    def free_cores(self) -> list[int]:
        size = self.topology.cpus_per_core
        return [one for one in self.cores() if len(self.details.cpus_in("core", (one,))) == size]

    def _is_free(self, level: Level, one: int) -> bool:
        return len(self.details.cpus_in(level, (one,))) == len(self.topology.details.cpus_in(level, (one,)))

    def _take_full(self, level: Level, free: list[int]) -> None:
        """Take each whole group that is not larger than the CPUs still needed."""
        for one in free:
            cpus = self.topology.details.cpus_in(level, (one,))
            if self.needed >= len(cpus):
                self.take(cpus)

    def take_full_numa_nodes(self) -> None:
        self._take_full("numa", self.free_numa_nodes())

    def take_full_sockets(self) -> None:
        self._take_full("socket", self.free_sockets())

    def take_full_cores(self) -> None:
        self._take_full("core", self.free_cores())

    def take_uncore_cache(self) -> None:
        """Take whole caches while at least that many CPUs are needed, then part of one cache that has all the rest."""
        for uncore in self.uncore_caches():
            if self.needed >= self.topology.cpus_per_uncore:
                self._take_full("uncore", self.free_uncore_caches())
            if self.is_satisfied():
                return
            self._take_partial_uncore(uncore)
            if self.is_satisfied():
                return

    def _take_partial_uncore(self, uncore: int) -> None:
        per_core = self.topology.cpus_per_core
        needed = (self.needed + per_core - 1) // per_core
        cores = self.details.cores_needed_in_uncore_cache(needed, uncore)
        cpus = self.details.cpus_in("core", cores)
        if self.needed % 2 and per_core > 1 and len(cpus) > self.needed:
            cpus = frozenset(sorted(cpus)[:-1])  # the last core contributes one thread only
        if self.needed == len(cpus):
            self.take(cpus)

    def take_remaining_cpus(self) -> None:
        for cpu in self.cpus():
            self.take(frozenset((cpu,)))
            if self.is_satisfied():
                return


def take_by_topology_numa_packed(
    topology: CpuTopology,
    available: CpuSet,
    count: int,
    strategy: SortingStrategy = "packed",
    *,
    align_by_uncore_cache: bool = False,
) -> CpuSet:
    """Choose CPUs by best fit. Raises AllocationError."""
    acc = CpuAccumulator(topology, available, count, strategy)
    if acc.is_satisfied():
        return acc.result
    if acc.is_failed():
        raise not_enough(count, available)
    # 1. Whole NUMA nodes and sockets, the larger of them first.
    steps = [acc.take_full_numa_nodes, acc.take_full_sockets]
    if not acc.numa_first:
        steps.reverse()
    # 2. Whole uncore caches, or parts of as few caches as possible.
    if align_by_uncore_cache:
        steps.append(acc.take_uncore_cache)
    # 3. Whole cores, unless an option spreads CPUs over cores.
    if strategy != "spread":
        steps.append(acc.take_full_cores)
    # 4. Single CPUs, preferably of cores that are already in use.
    steps.append(acc.take_remaining_cpus)
    for step in steps:
        step()
        if acc.is_satisfied():
            return acc.result
    raise AllocationError("failed to allocate cpus")


def not_enough(count: int, available: CpuSet) -> AllocationError:
    return AllocationError(
        f"not enough cpus available to satisfy request: requested={count}, available={len(available)}"
    )
