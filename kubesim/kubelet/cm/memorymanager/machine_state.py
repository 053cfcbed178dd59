"""The memory manager's machine state: without containers, or computed from the assignments.

Mirrors: pkg/kubelet/cm/memorymanager/policy_static.go getDefaultMachineState, updateExpectedMachineState,
areMachineStatesEqual
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.pods.resources import HUGE_PAGES_PREFIX, MEMORY
from kubesim.api.quantity import BINARY_SI, Quantity
from kubesim.kubelet.cm.machine import MachineError, MachineInfo, NumaNode
from kubesim.kubelet.cm.memorymanager.requests import SystemReserved
from kubesim.kubelet.cm.memorymanager.state import Blocks, MachineState, MemoryTable, NumaNodeState, assign

KIB = 1024


def default_machine_state(machine: MachineInfo, reserved: SystemReserved) -> MachineState:
    """The machine state without containers. Huge pages do not count as regular memory."""
    return {node.id: _default_node_state(node, reserved.get(node.id, {})) for node in machine.topology}


def _default_node_state(node: NumaNode, reserved: Mapping[str, int]) -> NumaNodeState:
    state = NumaNodeState((node.id,))
    in_pages = 0
    for page_size, pages in sorted(node.hugepages.items()):
        size = pages * page_size * KIB
        name = huge_page_resource_name(page_size)
        state.memory[name] = _table(size, reserved.get(name, 0))
        in_pages += size
    state.memory[MEMORY] = _table(node.memory, reserved.get(MEMORY, 0), in_pages)
    return state


def _table(total: int, reserved: int, used_otherwise: int = 0) -> MemoryTable:
    allocatable = total - reserved - used_otherwise
    return MemoryTable(total, reserved, allocatable, free=allocatable)


def huge_page_resource_name(page_size_kib: int) -> str:
    """The resource name of a huge page size: `hugepages-2Mi`."""
    return HUGE_PAGES_PREFIX + str(Quantity(page_size_kib * KIB, 0, BINARY_SI))


def assigned_machine_state(
    machine: MachineInfo,
    reserved: SystemReserved,
    assignments: Mapping[str, Mapping[str, Blocks]],
    pods: Mapping[str, Blocks],
) -> MachineState:
    """The machine state with all blocks subtracted. Raises MachineError for unknown nodes or resources."""
    expected = default_machine_state(machine, reserved)
    for uid, containers in assignments.items():
        for name, blocks in {"": pods[uid]}.items() if pods.get(uid) else containers.items():
            for block in blocks:
                for node in block.nodes:
                    whose = f"[memorymanager] (pod: {uid}, container: {name}) the memory assignment uses"
                    if node not in expected:
                        raise MachineError(f"{whose} the NUMA that does not exist")
                    if block.type not in expected[node].memory:
                        raise MachineError(f"{whose} memory resource that does not exist")
                assign(expected, block.nodes, block.type, block.size)
    return expected


def are_machine_states_equal(one: MachineState, other: MachineState) -> bool:
    """Whether two states are equal. Within a group, the distribution of memory over its nodes may differ."""
    return one.keys() == other.keys() and all(_are_nodes_equal(one, other, node) for node in one)


def _are_nodes_equal(one: MachineState, other: MachineState, node: int) -> bool:
    left, right = one[node], other[node]
    if left.assignments != right.assignments or sorted(left.cells) != sorted(right.cells):
        return False
    if left.memory.keys() != right.memory.keys():
        return False
    for name, table in left.memory.items():
        fixed = right.memory[name]
        if (table.total, table.system_reserved, table.allocatable) != (
            fixed.total,
            fixed.system_reserved,
            fixed.allocatable,
        ):
            return False
        if _in_group(one, left.cells, name) != _in_group(other, left.cells, name):
            return False
    return True


def _in_group(machine: MachineState, cells: tuple[int, ...], resource: str) -> tuple[int, int]:
    """Free and reserved memory of the whole group."""
    tables = [machine[node].memory[resource] for node in cells]
    return sum(table.free for table in tables), sum(table.reserved for table in tables)
