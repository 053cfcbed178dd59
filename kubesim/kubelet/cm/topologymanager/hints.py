"""Topology hints, and the interface of the managers that provide them.

Mirrors: pkg/kubelet/cm/topologymanager/topology_manager.go TopologyHint, HintProvider; bitmask/bitmask.go
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Protocol

from kubesim.api.pod import Container, Pod
from kubesim.values import value_object

NumaNodes = frozenset[int]


@value_object
class TopologyHint:
    """A set of NUMA nodes that can provide a resource. None: any node, without a preference."""

    numa_nodes: NumaNodes | None = None
    preferred: bool = False

    def is_less_than(self, other: TopologyHint) -> bool:
        """Whether this hint sorts first: preferred, then narrower."""
        if self.preferred != other.preferred:
            return self.preferred
        return is_narrower(self.numa_nodes or frozenset(), other.numa_nodes or frozenset())


def is_narrower(nodes: NumaNodes, other: NumaNodes) -> bool:
    """Whether the hint has fewer NUMA nodes; on a tie, lower-numbered nodes."""
    if len(nodes) != len(other):
        return len(nodes) < len(other)
    return mask_of(nodes) < mask_of(other)


def mask_of(nodes: NumaNodes) -> int:
    """The nodes as a bit mask, by which upstream orders them."""
    return sum(1 << node for node in nodes)


def node_combinations(nodes: Sequence[int]) -> Iterator[NumaNodes]:
    """All combinations, smaller ones first (bitmask.IterateBitMasks)."""
    for size in range(1, len(nodes) + 1):
        for chosen in combinations(nodes, size):
            yield frozenset(chosen)


# By resource name. An empty tuple: the resource cannot be aligned. None: any node, without a preference.
Hints = Mapping[str, tuple[TopologyHint, ...] | None]


class HintProvider(Protocol):
    """A manager that allocates a resource and provides topology hints for it.

    The topology manager collects the hints of all providers, chooses one affinity for the container (or the pod), and
    then each provider allocates. `allocate` and `allocate_pod` raise AllocationError.
    """

    def topology_hints(self, pod: Pod, container: Container) -> Hints: ...
    def pod_topology_hints(self, pod: Pod) -> Hints: ...
    def allocate(self, pod: Pod, container: Container) -> None: ...
    def allocate_pod(self, pod: Pod) -> None: ...
