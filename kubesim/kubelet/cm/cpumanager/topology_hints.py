"""Topology hints of the static CPU policy for a container or a pod.

Mirrors: pkg/kubelet/cm/cpumanager/policy_static.go GetTopologyHints, GetPodTopologyHints, generateCPUTopologyHints
"""

from __future__ import annotations

from kubesim.api.pod import Container, Pod
from kubesim.api.pods.resources import CPU
from kubesim.kubelet.cm.admission import AllocationError
from kubesim.kubelet.cm.cpumanager.policy_static import StaticPolicy
from kubesim.kubelet.cm.cpumanager.requests import (
    guaranteed_cpus,
    manages_pod_level,
    pod_guaranteed_cpus,
    skips_pod_level,
    validate_pod_scope_resources,
)
from kubesim.kubelet.cm.topologymanager.hints import Hints, NumaNodes, TopologyHint, node_combinations
from kubesim.kubelet.cm.topologymanager.manager import all_containers
from kubesim.runtime.allocation.cpuset import NO_CPUS, CpuSet

NO_PREFERENCE: Hints = {}
IMPOSSIBLE: Hints = {CPU: ()}


def topology_hints(policy: StaticPolicy, pod: Pod, container: Container) -> Hints:
    requested = guaranteed_cpus(pod, container, policy.gates)
    if requested == 0 or skips_pod_level(pod, policy.gates):
        return NO_PREFERENCE
    uid = pod.metadata.uid
    allocated = policy.state.get(uid, container.name)
    if allocated is not None:  # allocated by an earlier kubelet process, for example
        if len(allocated) != requested:
            return IMPOSSIBLE
        return {CPU: generate_hints(policy, allocated, NO_CPUS, requested)}
    return {CPU: generate_hints(policy, policy.available, policy.reusable.get(uid, NO_CPUS), requested)}


def pod_topology_hints(policy: StaticPolicy, pod: Pod) -> Hints:
    gates = policy.gates
    requested = pod_guaranteed_cpus(pod, gates)
    if requested == 0 or skips_pod_level(pod, gates):
        return NO_PREFERENCE
    if manages_pod_level(pod, gates):
        try:
            validate_pod_scope_resources(pod, gates)
        except AllocationError:
            return IMPOSSIBLE
    uid, assigned = pod.metadata.uid, NO_CPUS
    for container in all_containers(pod):
        allocated = policy.state.get(uid, container.name)
        if allocated is not None:
            if len(allocated) != guaranteed_cpus(pod, container, gates):
                return IMPOSSIBLE
            assigned |= allocated
    if len(assigned) == requested:
        return {CPU: generate_hints(policy, assigned, NO_CPUS, requested)}
    reusable = policy.reusable.get(uid, NO_CPUS) | assigned
    return {CPU: generate_hints(policy, policy.available, reusable, requested)}


def generate_hints(
    policy: StaticPolicy, available: CpuSet, reusable: CpuSet, requested: int
) -> tuple[TopologyHint, ...]:
    """All combinations of NUMA nodes with enough CPUs. Preferred: those with as few nodes as the machine allows."""
    details = policy.topology.details
    nodes = sorted(details.ids("numa"))
    on_node = {node: details.cpus_in("numa", (node,)) for node in nodes}
    fewest, found = len(nodes), []
    for mask in node_combinations(nodes):
        cpus = NO_CPUS.union(*[on_node[node] for node in mask])
        if len(cpus) >= requested and len(mask) < fewest:
            fewest = len(mask)
        if reusable <= cpus and len(reusable) + len(available & cpus) >= requested:
            found.append(mask)
    return tuple([TopologyHint(mask, _is_preferred(policy, mask, fewest)) for mask in found])


def _is_preferred(policy: StaticPolicy, mask: NumaNodes, fewest: int) -> bool:
    return len(mask) == fewest or (policy.options.align_by_socket and _is_socket_aligned(policy, mask, fewest))


def _is_socket_aligned(policy: StaticPolicy, mask: NumaNodes, fewest: int) -> bool:
    """Whether the nodes are on as few sockets as possible."""
    topology = policy.topology
    per_socket = topology.num_numa_nodes // topology.num_sockets
    if per_socket == 0:
        return False
    return len(topology.details.ids_in("socket", "numa", mask)) == (fewest + per_socket - 1) // per_socket
