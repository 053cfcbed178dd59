"""NodeResourcesBalancedAllocation: prefers the node whose cpu and memory usage the pod balances best.

Mirrors: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import MAX_NODE_SCORE, CycleState, Plugin
from kubesim.cluster.scheduling.node_info import NodeResources

NAME = "NodeResourcesBalancedAllocation"
_HALF = MAX_NODE_SCORE // 2


def score(cycle: CycleState, nodes: Sequence[NodeState]) -> Sequence[int] | None:
    """50 to 100: around 75 if the pod changes little, higher if it improves the balance. Pods without requests get no
    score.
    """
    need = cycle.info.requests
    if not need.milli_cpu and not need.memory:
        return None
    return [_score(need, state) for state in nodes]


def _score(need: NodeResources, state: NodeState) -> int:
    used, have = state.requested, state.allocatable
    with_pod = _balance(used.milli_cpu + need.milli_cpu, used.memory + need.memory, have)
    without_pod = _balance(used.milli_cpu, used.memory, have)
    return _HALF + int((_HALF + with_pod - without_pod) / 2)


def _balance(milli_cpu: int, memory: int, have: NodeResources) -> int:
    """100 if both resources are used in the same proportion."""
    fractions = [
        min(1.0, taken / capacity)
        for taken, capacity in ((milli_cpu, have.milli_cpu), (memory, have.memory))
        if capacity
    ]
    deviation = abs((fractions[0] - fractions[1]) / 2) if len(fractions) == 2 else 0.0
    return int((1 - deviation) * MAX_NODE_SCORE)


PLUGIN = Plugin(NAME, score=score)
