"""How much memory of each NUMA node is given to containers, and which containers have it.

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
    """Of one kind of memory on a NUMA node, in bytes."""

    total: int
    system_reserved: int
    allocatable: int
    reserved: int = 0
    free: int = 0


@mutable
class NumaNodeState:
    """`cells` are the nodes that give memory together with this one; only itself: it gives none, or gives it alone."""

    cells: Group
    memory: dict[str, MemoryTable] = field(default_factory=dict)  # by resource name
    assignments: int = 0  # blocks that lie here

    def clone(self) -> NumaNodeState:
        return replace(self, memory={name: replace(table) for name, table in self.memory.items()})

    def free(self, resource: str) -> int:
        table = self.memory.get(resource)
        return 0 if table is None else table.free


MachineState = dict[int, NumaNodeState]  # by NUMA node


@value_object
class Block:
    """Memory of a container."""

    nodes: Group
    type: str  # the resource name
    size: int


Blocks = tuple[Block, ...]


@mutable
class MemoryState:
    """On the kubelet's disk as `memory_manager_state`."""

    CONTENT: ClassVar[tuple[str, ...]] = ("policy", "machine", "assignments", "pods")
    policy: str = ""  # empty: nothing was stored yet
    machine: MachineState = field(default_factory=dict)
    assignments: dict[str, dict[str, Blocks]] = field(default_factory=dict)  # by pod uid and container name
    pods: dict[str, Blocks] = field(default_factory=dict)  # pod-level assignments, by pod uid
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
    """Take up what an earlier kubelet stored. Raises MachineError if that had another policy."""
    if state.policy and state.policy != policy:
        raise MachineError(
            f'could not restore state from checkpoint: [memorymanager] configured policy "{policy}" differs from state '
            f'checkpoint policy "{state.policy}", please drain this node and delete the memory manager checkpoint file '
            '"/var/lib/kubelet/memory_manager_state" before restarting Kubelet'
        )
    state.policy = policy


def assign(machine: MachineState, nodes: Iterable[int], resource: str, size: int) -> None:
    """Take so much from the nodes, one after the other; they form a group from now on."""
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
    """Give the blocks back; a node that gives nothing any more leaves its group."""
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
