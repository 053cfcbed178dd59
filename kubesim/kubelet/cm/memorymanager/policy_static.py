"""The static policy: memory of Guaranteed pods comes from as few NUMA nodes as possible.

A NUMA node serves either single-node allocations or allocations of one fixed group of nodes. Init containers finish
before the others start, so their memory is reused.

Mirrors: pkg/kubelet/cm/memorymanager/policy_static.go
"""

from __future__ import annotations

from dataclasses import field

from kubesim.api.pod import Container, Pod
from kubesim.api.pods.resources import GUARANTEED, MEMORY, pod_qos_class
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.cm.admission import AllocationError
from kubesim.kubelet.cm.cpumanager.policy_static import POD_LEVEL, Affinity
from kubesim.kubelet.cm.cpumanager.requests import skips_pod_level
from kubesim.kubelet.cm.machine import MachineError, MachineInfo
from kubesim.kubelet.cm.memorymanager.machine_state import (
    are_machine_states_equal,
    assigned_machine_state,
    default_machine_state,
)
from kubesim.kubelet.cm.memorymanager.requests import (
    Sizes,
    SystemReserved,
    container_requested_resources,
    pod_requested_resources,
    validate_pod_scope_resources,
)
from kubesim.kubelet.cm.memorymanager.state import Block, Blocks, Group, MemoryState, assign, release
from kubesim.kubelet.cm.topologymanager.hints import NumaNodes, TopologyHint, node_combinations
from kubesim.kubelet.cm.topologymanager.manager import all_containers
from kubesim.values import part

Reusable = dict[NumaNodes, Sizes]


@part
class StaticMemoryPolicy:
    machine: MachineInfo
    state: MemoryState
    reserved: SystemReserved
    affinity: Affinity
    gates: FeatureGates = DEFAULT_GATES
    _reusable: dict[str, Reusable] = field(default_factory=dict)  # memory of the last allocated pod, by its UID

    def start(self) -> None:
        """Check the restored state. Raises MachineError if it does not match the machine and the configuration."""
        state = self.state
        if not state.machine:
            if state.assignments:
                raise MachineError("[memorymanager] machine state can not be empty when it has memory assignments")
            state.machine = default_machine_state(self.machine, self.reserved)
            state.on_write()
            return
        pods = state.pods if self.gates.enabled(POD_LEVEL) else {}
        expected = assigned_machine_state(self.machine, self.reserved, state.assignments, pods)
        if not are_machine_states_equal(state.machine, expected):
            raise MachineError("[memorymanager] the expected machine state is different from the real one")

    # -- a container --------------------------------------------------------------------------------------------

    def is_for(self, pod: Pod) -> bool:
        """Whether the pod gets pinned memory."""
        return pod_qos_class(pod, self.gates) == GUARANTEED and not skips_pod_level(pod, self.gates)

    def allocate(self, pod: Pod, container: Container) -> None:
        """Allocate memory to a container. Raises AllocationError."""
        if not self.is_for(pod):
            return
        uid = pod.metadata.uid
        known = self.state.get(uid, container.name)
        if known is not None:
            self._update_reusable(pod, container, known)
            return
        requested = container_requested_resources(pod, container, self.gates)
        nodes = self._choose_nodes(pod, self.affinity(uid, container.name), requested)
        group = tuple(sorted(nodes))
        for name, size in requested.items():
            assign(self.state.machine, group, name, max(0, size - self.reusable(pod, nodes, name)))
        blocks = tuple([Block(group, name, size) for name, size in requested.items()])
        self._update_reusable(pod, container, blocks)
        self.state.set(uid, container.name, blocks)
        self._shrink_init_containers(pod, container, blocks)

    def _choose_nodes(self, pod: Pod, hint: TopologyHint, requested: Sizes) -> NumaNodes:
        """The topology manager's choice, extended if it is too small; otherwise the policy's own best hint."""
        best = hint
        if best.numa_nodes is None:
            best = self._default_hint(pod, requested)
            if hint.preferred and not best.preferred:
                raise AllocationError("[memorymanager] failed to find the default preferred hint")
        if not self._has_enough(best.numa_nodes or frozenset(), requested):
            extended = self._extended_hint(pod, requested, best.numa_nodes or frozenset())
            if best.preferred and not extended.preferred:
                raise AllocationError("[memorymanager] failed to find the extended preferred hint")
            best = extended
        nodes = best.numa_nodes or frozenset()
        if self._violates_groups(nodes):
            raise AllocationError("[memorymanager] preferred hint violates NUMA node allocation")
        return nodes

    def _has_enough(self, nodes: NumaNodes, requested: Sizes) -> bool:
        machine = self.state.machine
        return all(sum(machine[node].free(name) for node in nodes) >= size for name, size in requested.items())

    def _default_hint(self, pod: Pod, requested: Sizes) -> TopologyHint:
        hints = self.calculate_hints(pod, requested)
        if not hints:
            raise AllocationError(
                "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
            )
        return find_best_hint(hints.get(MEMORY, []))

    def _extended_hint(self, pod: Pod, requested: Sizes, nodes: NumaNodes) -> TopologyHint:
        """Extend the hint: the topology manager may have chosen only some of the requested nodes."""
        hints = self.calculate_hints(pod, requested).get(MEMORY, [])
        wider = [hint for hint in hints if nodes <= (hint.numa_nodes or frozenset())]
        if not wider:
            raise AllocationError("[memorymanager] failed to find NUMA nodes to extend the current topology hint")
        return find_best_hint(wider)

    def calculate_hints(self, pod: Pod, requested: Sizes) -> dict[str, list[TopologyHint]]:
        """All combinations of NUMA nodes with enough memory of each kind. Without data: an empty mapping."""
        machine = self.state.machine
        fewest, found = len(machine), []
        for nodes in node_combinations(sorted(machine)):
            if any(self._allocatable(nodes, name) < size for name, size in requested.items()):
                continue
            fewest = min(fewest, len(nodes))
            if self._is_usable(nodes) and all(
                sum(machine[node].free(name) for node in nodes) + self.reusable(pod, nodes, name) >= size
                for name, size in requested.items()
            ):
                found.append(nodes)
        if not found:
            return {}
        hints = [TopologyHint(nodes, len(nodes) == fewest) for nodes in found]
        return {name: list(hints) for name in requested}

    def _allocatable(self, nodes: NumaNodes, resource: str) -> int:
        tables = [self.state.machine[node].memory.get(resource) for node in nodes]
        return sum(table.allocatable for table in tables if table is not None)

    def _is_usable(self, nodes: NumaNodes) -> bool:
        """A single node must not be in a group. Several nodes must be unused or form exactly this group."""
        if len(nodes) == 1:
            return all(len(self.state.machine[node].cells) <= 1 for node in nodes)
        return not self._violates_groups(nodes)

    def _violates_groups(self, nodes: NumaNodes) -> bool:
        """Whether the nodes conflict with a group: single-node allocations exclude it, and it never changes."""
        if len(nodes) == 1:
            return False
        states = [self.state.machine[node] for node in nodes]
        return any(
            state.assignments > 0 and (len(state.cells) == 1 or frozenset(state.cells) != nodes) for state in states
        )

    def remove_container(self, uid: str, container: str) -> None:
        state = self.state
        if self.gates.enabled(POD_LEVEL) and uid in state.pods:
            state.delete(uid, container)
            if uid not in state.assignments:
                release(state.machine, state.pods.pop(uid))
                state.on_write()
            return
        blocks = state.get(uid, container)
        if blocks is not None:
            state.delete(uid, container)
            release(state.machine, blocks)
            state.on_write()

    # -- memory of init containers ------------------------------------------------------------------------------

    def reusable(self, pod: Pod, nodes: NumaNodes, resource: str) -> int:
        return self._reusable.get(pod.metadata.uid, {}).get(nodes, {}).get(resource, 0)

    def _update_reusable(self, pod: Pod, container: Container, blocks: Blocks) -> None:
        uid = pod.metadata.uid
        for other in [key for key in self._reusable if key != uid]:
            del self._reusable[other]
        if _is_regular_init_container(pod, container):
            for block in blocks:
                sizes = self._reusable.setdefault(uid, {}).setdefault(frozenset(block.nodes), {})
                sizes[block.type] = max(sizes.get(block.type, 0), block.size)
            return
        for block in blocks:
            left = self.reusable(pod, frozenset(block.nodes), block.type)
            if left:
                self._reusable[uid][frozenset(block.nodes)][block.type] = max(0, left - block.size)

    def _shrink_init_containers(self, pod: Pod, container: Container, blocks: Blocks) -> None:
        """Subtract reused memory from the init container, so that it is counted once."""
        uid = pod.metadata.uid
        for block in blocks:
            left = block.size
            for init in pod.spec.init_containers:
                if init.name == container.name or left == 0:
                    break
                known = () if is_restartable_init_container(init) else self.state.get(uid, init.name) or ()
                if not known:
                    continue
                shrunk = []
                for each in known:
                    same = each.type == block.type and frozenset(each.nodes) == frozenset(block.nodes)
                    used = min(each.size, left) if same else 0
                    left -= used
                    shrunk.append(Block(each.nodes, each.type, each.size - used))
                self.state.set(uid, init.name, tuple(shrunk))

    # -- a pod with pod-level resources -------------------------------------------------------------------------

    def allocate_pod(self, pod: Pod) -> None:
        """Allocate memory to the pod and divide it among its containers. Raises AllocationError."""
        if pod_qos_class(pod, self.gates) != GUARANTEED:
            return
        try:
            total = pod_requested_resources(pod, self.gates)
        except AllocationError:
            return
        validate_pod_scope_resources(pod, self.gates)
        uid, containers = pod.metadata.uid, all_containers(pod)
        group = tuple(sorted(self._choose_nodes(pod, self.affinity(uid, containers[0].name), total)))
        own, shared = self._divide(pod, group, total)
        self.state.pods[uid] = tuple([Block(group, name, size) for name, size in total.items()])
        for name, size in total.items():
            assign(self.state.machine, group, name, size)
        for container in containers:
            self.state.set(uid, container.name, own.get(container.name, shared))

    def _divide(self, pod: Pod, group: Group, total: Sizes) -> tuple[dict[str, Blocks], Blocks]:
        """The blocks of each container, and the blocks that all other containers share."""
        own: dict[str, Blocks] = {}
        left = dict(total)
        for container in pod.spec.init_containers:
            sizes = container_requested_resources(pod, container, self.gates)
            if is_restartable_init_container(container):
                left = {name: size - sizes.get(name, 0) for name, size in left.items()}
                if not sizes:
                    continue
            own[container.name] = _blocks(group, sizes or left)
        for container in pod.spec.containers:
            sizes = container_requested_resources(pod, container, self.gates)
            if sizes:
                own[container.name] = _blocks(group, sizes)
                left = {name: size - sizes.get(name, 0) for name, size in left.items()}
        return own, _blocks(group, left)


def new_static_memory_policy(
    machine: MachineInfo,
    state: MemoryState,
    reserved: SystemReserved,
    affinity: Affinity,
    gates: FeatureGates = DEFAULT_GATES,
) -> StaticMemoryPolicy:
    """Create the policy. Raises MachineError if no memory is reserved for the system."""
    if sum(of_node.get(MEMORY, 0) for of_node in reserved.values()) <= 0:
        raise MachineError("[memorymanager] you should specify the system reserved memory")
    return StaticMemoryPolicy(machine, state, reserved, affinity, gates)


def find_best_hint(hints: list[TopologyHint]) -> TopologyHint:
    """The best hint: preferred first, then the fewest nodes."""
    best = TopologyHint()
    for hint in hints:
        if best.numa_nodes is None or hint.is_less_than(best):
            best = hint
    return best


def _blocks(group: Group, sizes: Sizes) -> Blocks:
    return tuple([Block(group, name, size) for name, size in sizes.items() if size > 0])


def _is_regular_init_container(pod: Pod, container: Container) -> bool:
    return any(
        init.name == container.name and not is_restartable_init_container(init) for init in pod.spec.init_containers
    )
