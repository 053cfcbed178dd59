"""The static CPU policy: assigns exclusive CPUs to containers.

All CPUs start in the shared pool (the default set). Exclusive CPUs leave the pool; reserved CPUs never do. All other
containers run on the pool. Init containers finish before the others start, so their CPUs are reused.

Mirrors: pkg/kubelet/cm/cpumanager/policy_static.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from kubesim.api.pod import Container, Pod
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.golang.text import quoted
from kubesim.kubelet.cm.admission import AllocationError
from kubesim.kubelet.cm.cpumanager.accumulator import SortingStrategy, take_by_topology_numa_packed
from kubesim.kubelet.cm.cpumanager.distribution import take_by_topology_numa_distributed
from kubesim.kubelet.cm.cpumanager.policy_options import (
    StaticPolicyOptions,
    new_static_policy_options,
    validate_static_policy_options,
)
from kubesim.kubelet.cm.cpumanager.requests import (
    guaranteed_cpus,
    pod_guaranteed_cpus,
    skips_pod_level,
    validate_pod_scope_resources,
)
from kubesim.kubelet.cm.cpumanager.state import CpuState
from kubesim.kubelet.cm.cpumanager.topology import CpuTopology
from kubesim.kubelet.cm.machine import MachineError
from kubesim.kubelet.cm.topologymanager.hints import NumaNodes, TopologyHint
from kubesim.kubelet.cm.topologymanager.manager import all_containers
from kubesim.runtime.allocation.cpuset import NO_CPUS, CpuSet, format_cpus
from kubesim.values import part

SMT_ALIGNMENT = "SMTAlignmentError"
POD_LEVEL = "PodLevelResourceManagers"

Affinity = Callable[[str, str], TopologyHint]  # affinity chosen by the topology manager, by pod UID and container name


@part
class StaticPolicy:
    topology: CpuTopology
    state: CpuState
    affinity: Affinity
    options: StaticPolicyOptions
    reserved: CpuSet = NO_CPUS
    reserved_physical: CpuSet = NO_CPUS  # the reserved CPUs and their sibling threads
    gates: FeatureGates = DEFAULT_GATES
    reusable: dict[str, CpuSet] = field(default_factory=dict)  # CPUs of the last allocated pod, by its UID

    # -- restored state -----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Check the restored state. Raises MachineError if it does not match the machine and the configuration."""
        state = self.state
        default, all_cpus = state.default_cpus, self.topology.details.cpus()
        if self.options.strict_cpu_reservation:
            all_cpus -= self.reserved
        if not default:
            if state.assignments:
                raise MachineError("default cpuset cannot be empty")
            state.set_default(all_cpus)
            return
        self._check_reserved(default)
        for uid, containers in state.assignments.items():
            for name, cpus in containers.items():
                if default & cpus:
                    raise MachineError(
                        f"pod: {uid}, container: {name} cpuset: {_q(cpus)} overlaps with default cpuset {_q(default)}"
                    )
        known = default.union(*[cpus for containers in state.assignments.values() for cpus in containers.values()])
        if self.gates.enabled(POD_LEVEL):
            known = known.union(*state.pods.values())
        if known != all_cpus:
            raise MachineError(
                f"current set of available CPUs {_q(all_cpus)} doesn't match with CPUs in state {_q(known)}"
            )

    def _check_reserved(self, default: CpuSet) -> None:
        both = self.reserved & default
        if self.options.strict_cpu_reservation:
            if both:
                raise MachineError(
                    f"some of strictly reserved cpus: {_q(both)} are present in defaultCpuSet: {_q(default)}"
                )
        elif both != self.reserved:
            raise MachineError(
                f"not all reserved cpus: {_q(self.reserved)} are present in defaultCpuSet: {_q(default)}"
            )

    # -- a container --------------------------------------------------------------------------------------------

    @property
    def available(self) -> CpuSet:
        """The CPUs that can still be assigned."""
        return self.state.default_cpus - self.reserved

    def allocate(self, pod: Pod, container: Container) -> None:
        """Assign exclusive CPUs to a container. Raises AllocationError."""
        count = guaranteed_cpus(pod, container, self.gates)
        if count == 0 or skips_pod_level(pod, self.gates):
            return
        self._enforce_smt_alignment(count)
        uid = pod.metadata.uid
        cpus = self.state.get(uid, container.name)
        if cpus is None:
            nodes = self.affinity(uid, container.name).numa_nodes
            cpus = self._allocate_cpus(count, nodes, self.reusable.get(uid, NO_CPUS))
            self.state.set(uid, container.name, cpus)
        self._update_reusable(pod, container, cpus)

    def _enforce_smt_alignment(self, count: int) -> None:
        if not self.options.full_pcpus_only:
            return
        per_core = self.topology.cpus_per_core
        if count % per_core:
            raise AllocationError(
                f"SMT Alignment Error: requested {count} cpus not multiple cpus per core = {per_core}", SMT_ALIGNMENT
            )
        physical = len(self.state.default_cpus - self.reserved_physical)
        if count > physical:
            raise AllocationError(
                f"SMT Alignment Error: not enough free physical CPUs: available physical CPUs = {physical}, "
                f"requested CPUs = {count}, CPUs per core = {per_core}",
                SMT_ALIGNMENT,
            )

    def _update_reusable(self, pod: Pod, container: Container, cpus: CpuSet) -> None:
        """Update the reusable CPUs: later containers reuse CPUs of init containers, except those of sidecars."""
        uid = pod.metadata.uid
        for other in [key for key in self.reusable if key != uid]:
            del self.reusable[other]
        before = self.reusable.get(uid, NO_CPUS)
        ends = any(
            init.name == container.name and not is_restartable_init_container(init) for init in pod.spec.init_containers
        )
        self.reusable[uid] = before | cpus if ends else before - cpus

    def _allocate_cpus(self, count: int, nodes: NumaNodes | None, reusable: CpuSet) -> CpuSet:
        """Take CPUs of the NUMA nodes that the topology manager chose first, then any others."""
        allocatable = self.available | reusable
        cpus = NO_CPUS
        if nodes is not None:
            aligned = self._aligned_cpus(nodes, allocatable)
            cpus = self.take_by_topology(aligned, min(len(aligned), count))
        cpus |= self.take_by_topology(allocatable - cpus, count - len(cpus))
        self.state.set_default(self.state.default_cpus - cpus)
        return cpus

    def _aligned_cpus(self, nodes: NumaNodes, allocatable: CpuSet) -> CpuSet:
        details = self.topology.details
        if self.options.align_by_socket:
            return allocatable & details.cpus_in("socket", details.ids_in("socket", "numa", nodes))
        return allocatable & details.cpus_in("numa", nodes)

    def take_by_topology(self, available: CpuSet, count: int) -> CpuSet:
        options = self.options
        strategy: SortingStrategy = "spread" if options.distribute_across_cores else "packed"
        if options.distribute_across_numa:
            group = self.topology.cpus_per_core if options.full_pcpus_only else 1
            return take_by_topology_numa_distributed(self.topology, available, count, group, strategy)
        return take_by_topology_numa_packed(
            self.topology, available, count, strategy, align_by_uncore_cache=options.align_by_uncore_cache
        )

    def remove_container(self, uid: str, container: str) -> None:
        """Release the container's CPUs, except CPUs it shares with other containers of the pod."""
        state = self.state
        cpus = state.get(uid, container)
        if cpus is None:
            return
        state.delete(uid, container)
        if self.gates.enabled(POD_LEVEL) and uid in state.pods:
            if uid not in state.assignments:
                state.set_default(state.default_cpus | state.pods.pop(uid))
            return
        given_back = cpus - NO_CPUS.union(*state.assignments.get(uid, {}).values())
        state.set_default(state.default_cpus | given_back)

    # -- a pod with pod-level resources -------------------------------------------------------------------------

    def allocate_pod(self, pod: Pod) -> None:
        """Assign CPUs to the pod and divide them among its containers. Raises AllocationError."""
        total = pod_guaranteed_cpus(pod, self.gates)
        if total == 0:
            return
        validate_pod_scope_resources(pod, self.gates)
        self._enforce_smt_alignment(total)
        uid, containers = pod.metadata.uid, all_containers(pod)
        nodes = self.affinity(uid, containers[0].name).numa_nodes
        of_pod = self._allocate_cpus(total, nodes, NO_CPUS)
        self.state.set_pod(uid, of_pod)
        own: dict[str, CpuSet] = {}
        of_sidecars = NO_CPUS
        for container in pod.spec.init_containers:
            count, left = guaranteed_cpus(pod, container, self.gates), of_pod - of_sidecars
            if count:
                own[container.name] = self.take_by_topology(left, count)
                if is_restartable_init_container(container):
                    of_sidecars |= own[container.name]
            elif not is_restartable_init_container(container):
                own[container.name] = left  # it runs alone except for earlier sidecars
        shared = of_pod - of_sidecars
        for container in pod.spec.containers:
            count = guaranteed_cpus(pod, container, self.gates)
            if count:
                own[container.name] = self.take_by_topology(shared, count)
                shared -= own[container.name]
        for container in containers:
            self.state.set(uid, container.name, own.get(container.name, shared))


def new_static_policy(
    topology: CpuTopology,
    state: CpuState,
    num_reserved: int,
    reserved: CpuSet,
    affinity: Affinity,
    *,
    topology_policy: str = "none",
    options: Mapping[str, str] | None = None,
    gates: FeatureGates = DEFAULT_GATES,
) -> StaticPolicy:
    """`reserved` are the reservedSystemCPUs; empty: reserve the CPUs that the policy would assign first."""
    parsed = new_static_policy_options(options or {}, gates)
    validate_static_policy_options(parsed, topology, topology_policy)
    policy = StaticPolicy(topology, state, affinity, parsed, gates=gates)
    if not reserved:
        try:
            reserved = policy.take_by_topology(topology.details.cpus(), num_reserved)
        except AllocationError:
            reserved = NO_CPUS
    if len(reserved) != num_reserved:
        raise MachineError(
            "[cpumanager] unable to reserve the required amount of CPUs "
            f"(size of {format_cpus(reserved)} did not equal {num_reserved})"
        )
    for cpu in sorted(reserved):
        if cpu not in topology.details:
            raise MachineError(
                f"[cpumanager] unable to build the reserved physical CPUs from the reserved set: unknown CPU ID: {cpu}"
            )
    details = topology.details
    policy.reserved = reserved
    policy.reserved_physical = details.cpus_in("core", [details[cpu].core for cpu in reserved])
    return policy


def _q(cpus: CpuSet) -> str:
    return quoted(format_cpus(cpus))
