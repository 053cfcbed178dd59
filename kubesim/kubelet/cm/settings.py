"""Settings of the resource managers and the topology manager, and the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kubesim.api.quantity import Quantity
from kubesim.api.timestamps import SECOND
from kubesim.kubelet.cm.machine import MachineInfo
from kubesim.runtime.allocation.cpuset import NO_CPUS, CpuSet
from kubesim.values import value_object


@value_object
class ResourceManagerSettings:
    """Defaults of v1.36: no exclusive resources, no alignment."""

    machine: MachineInfo = field(default_factory=MachineInfo)
    reservation: Mapping[str, Quantity] = field(default_factory=dict)  # the node's reservation
    cpu_policy: str = "none"
    cpu_options: Mapping[str, str] = field(default_factory=dict)
    cpu_reconcile_period: int = 10 * SECOND
    reserved_cpus: CpuSet = NO_CPUS  # reservedSystemCPUs
    memory_policy: str = "None"
    reserved_memory: tuple[tuple[int, Mapping[str, Quantity]], ...] = ()  # NUMA node and amounts by resource name
    topology_policy: str = "none"
    topology_scope: str = "container"
    topology_options: Mapping[str, str] = field(default_factory=dict)
