"""Memory of each NUMA node that is assigned to containers.

Mirrors: pkg/kubelet/cm/memorymanager/state/state.go, state_mem.go, state_checkpoint.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import ClassVar

from kubesim.kubelet.cm.machine import MachineError
from kubesim.runtime.allocation.state_file import nothing_watches
from kubesim.values import mutable, replace, value_object

Group = tuple[int, ...]  # NUMA nodes, in order


@mutable
class MemoryTable:
    """One kind of memory on a NUMA node, in bytes."""

    total: int
    system_reserved: int
    allocatable: int
    reserved: int = 0
    free: int = 0


@mutable
class NumaNodeState:
    """Memory of a NUMA node. `cells` is its group; a node alone in `cells` has no allocations or single-node ones."""

    cells: Group
    memory: dict[str, MemoryTable] = field(default_factory=dict)  # by resource name
    assignments: int = 0  # number of blocks on this node

    def clone(self) -> NumaNodeState:
        return replace(self, memory={name: replace(table) for name, table in self.memory.items()})

    def free(self, resource: str) -> int:
        table = self.memory.get(resource)
        return 0 if table is None else table.free


MachineState = dict[int, NumaNodeState]  # by NUMA node


@value_object
class Block:
    """Memory assigned to a container."""

    nodes: Group
    type: str  # the resource name
    size: int


Blocks = tuple[Block, ...]


@mutable
class MemoryState:
    """The contents of `memory_manager_state` on the kubelet's disk."""

    CONTENT: ClassVar[tuple[str, ...]] = ("policy", "machine", "assignments", "pods")
    policy: str = ""  # empty: no state is stored
    machine: MachineState = field(default_factory=dict)
    assignments: dict[str, dict[str, Blocks]] = field(default_factory=dict)  # by pod UID and container name
    pods: dict[str, Blocks] = field(default_factory=dict)  # pod-level assignments, by pod UID
    on_write: Callable[[], object] = nothing_watches

    def get(self, uid: str, container: str) -> Blocks | None:
        return self.assignments.get(uid, {}).get(container)

    def set(self, uid: str, container: str, blocks: Blocks) -> None:
        self.assignments.setdefault(uid, {})[container] = blocks
        self.on_write()

    def delete(self, uid: str, container: str) -> None:
        of_pod = self.assignments.get(uid, {})
        of_pod.pop(container, None)
        if not of_pod:
            self.assignments.pop(uid, None)
        self.on_write()


def restore(state: MemoryState, policy: str) -> None:
    """Restore the stored state. Raises MachineError if its policy differs."""
    if state.policy and state.policy != policy:
        raise MachineError(
            f'could not restore state from checkpoint: [memorymanager] configured policy "{policy}" differs from state '
            f'checkpoint policy "{state.policy}", please drain this node and delete the memory manager checkpoint file '
            '"/var/lib/kubelet/memory_manager_state" before restarting Kubelet'
        )
    state.policy = policy


def assign(machine: MachineState, nodes: Iterable[int], resource: str, size: int) -> None:
    """Take the size from the nodes, one after the other; the nodes then form a group."""
    group = tuple(nodes)
    for node in group:
        machine[node].assignments += 1
        machine[node].cells = group
        table = machine[node].memory.get(resource)
        if size and table is not None and table.free > 0:
            taken = min(table.free, size)
            table.reserved += taken
            table.free -= taken
            size -= taken


def release(machine: MachineState, blocks: Iterable[Block]) -> None:
    """Release the blocks. A node without assignments leaves its group."""
    for block in blocks:
        size = block.size
        for node in block.nodes:
            machine[node].assignments -= 1
            if machine[node].assignments == 0:
                machine[node].cells = (node,)
            table = machine[node].memory.get(block.type)
            if size and table is not None and table.reserved:
                given = min(table.reserved, size)
                table.free += given
                table.reserved -= given
                size -= given
