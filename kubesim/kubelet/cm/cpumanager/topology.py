"""CPU topology: the core, last-level (uncore) cache, socket and NUMA node of each CPU.

Mirrors: pkg/kubelet/cm/cpumanager/topology/topology.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from kubesim.kubelet.cm.machine import MachineError, MachineInfo
from kubesim.runtime.allocation.cpuset import CpuSet
from kubesim.values import value_object

Level = Literal["numa", "socket", "core", "uncore"]


@value_object
class CpuInfo:
    numa: int = 0
    socket: int = 0
    core: int = 0
    uncore: int = 0


class CpuDetails(dict[int, CpuInfo]):
    """CPU details by CPU number. `ids` returns the ids of a topology level, `cpus` the CPUs under given ids."""

    def cpus(self) -> CpuSet:
        return frozenset(self)

    def keep_only(self, cpus: CpuSet) -> CpuDetails:
        return CpuDetails({cpu: info for cpu, info in self.items() if cpu in cpus})

    def ids(self, level: Level) -> frozenset[int]:
        """The ids of all NUMA nodes, sockets, cores or uncore caches."""
        return frozenset([getattr(info, level) for info in self.values()])

    def ids_in(self, level: Level, parent: Level, ids: Iterable[int]) -> frozenset[int]:
        """The ids of one level within the given NUMA nodes, sockets ..."""
        wanted = frozenset(ids)
        return frozenset([getattr(info, level) for info in self.values() if getattr(info, parent) in wanted])

    def cpus_in(self, level: Level, ids: Iterable[int]) -> CpuSet:
        wanted = frozenset(ids)
        return frozenset([cpu for cpu, info in self.items() if getattr(info, level) in wanted])

    def cores_needed_in_uncore_cache(self, needed: int, uncore: int) -> frozenset[int]:
        """The lowest-numbered cores of the cache that provide the needed CPUs; all cores if there are too few."""
        return frozenset(sorted(self.ids_in("core", "uncore", (uncore,)))[:needed])


@value_object
class CpuTopology:
    num_cpus: int
    num_cores: int
    num_sockets: int
    num_numa_nodes: int
    num_uncore_caches: int
    details: CpuDetails

    @property
    def cpus_per_core(self) -> int:
        return self.num_cpus // self.num_cores if self.num_cores else 0

    @property
    def cpus_per_socket(self) -> int:
        return self.num_cpus // self.num_sockets if self.num_sockets else 0

    @property
    def cpus_per_uncore(self) -> int:
        return self.num_cpus // self.num_uncore_caches if self.num_uncore_caches else 0


def new_topology(
    details: Mapping[int, CpuInfo], *, cpus: int, cores: int, sockets: int, numa_nodes: int, uncore_caches: int
) -> CpuTopology:
    return CpuTopology(cpus, cores, sockets, numa_nodes, uncore_caches, CpuDetails(details))


def discover(machine: MachineInfo) -> CpuTopology:
    """Read the topology of the machine. A core's id is its first CPU, which is unique. Raises MachineError."""
    if not machine.num_cpus:
        raise MachineError("could not detect number of cpus")
    details = CpuDetails()
    cores = 0
    for node in machine.topology:
        cores += len(node.cores)
        for core in node.cores:
            if not core.threads:
                raise MachineError("no cpus provided")
            if len(set(core.threads)) != len(core.threads):
                raise MachineError("cpus provided are not unique")
            uncore = core.socket if core.uncore_cache is None else core.uncore_cache
            for cpu in core.threads:
                details[cpu] = CpuInfo(node.id, core.socket, min(core.threads), uncore)
    return CpuTopology(
        num_cpus=machine.num_cpus,
        num_cores=cores,
        num_sockets=machine.num_sockets,
        num_numa_nodes=len(details.ids("numa")),
        num_uncore_caches=len(details.ids("uncore")),
        details=details,
    )
