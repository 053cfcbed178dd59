"""The NUMA nodes of the machine, and the distances between them.

Mirrors: pkg/kubelet/cm/topologymanager/numa_info.go
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.kubelet.cm.machine import MachineError, NumaNode
from kubesim.kubelet.cm.topologymanager.hints import NumaNodes, is_narrower, mask_of
from kubesim.kubelet.cm.topologymanager.policy_options import PolicyOptions
from kubesim.values import value_object


@value_object
class NumaInfo:
    nodes: tuple[int, ...]
    distances: Mapping[int, tuple[int, ...] | None]

    def narrowest(self, one: NumaNodes, other: NumaNodes) -> NumaNodes:
        return one if is_narrower(one, other) else other

    def closest(self, one: NumaNodes, other: NumaNodes) -> NumaNodes:
        """The narrowest hint; on a tie the shortest average distance, then the lower numbers."""
        if len(one) != len(other):
            return self.narrowest(one, other)
        distance, other_distance = self.average_distance(one), self.average_distance(other)
        if distance == other_distance:
            return one if mask_of(one) < mask_of(other) else other
        return one if distance < other_distance else other

    def average_distance(self, nodes: NumaNodes) -> float:
        if not nodes:
            return 0.0
        return sum((self.distances.get(a) or ())[b] for a in nodes for b in nodes) / len(nodes) ** 2

    @property
    def default_affinity(self) -> NumaNodes:
        return frozenset(self.nodes)


def new_numa_info(topology: tuple[NumaNode, ...], options: PolicyOptions) -> NumaInfo:
    """Read the NUMA nodes. Distances are read only if an option needs them."""
    distances: dict[int, tuple[int, ...] | None] = {}
    for node in topology:
        if options.prefer_closest_numa and node.distances is None:
            raise MachineError("error getting NUMA distances from cadvisor")
        distances[node.id] = node.distances if options.prefer_closest_numa else None
    return NumaInfo(tuple([node.id for node in topology]), distances)
