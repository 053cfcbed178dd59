"""Topology manager policies: merge the hints of all providers into one affinity and decide admission.

Mirrors: pkg/kubelet/cm/topologymanager/policy.go, policy_none.go, policy_best_effort.go, policy_restricted.go,
policy_single_numa_node.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kubesim.kubelet.cm.topologymanager.hints import Hints, NumaNodes, TopologyHint, is_narrower
from kubesim.kubelet.cm.topologymanager.numa_info import NumaInfo
from kubesim.kubelet.cm.topologymanager.policy_options import PolicyOptions
from kubesim.values import value_object

PolicyName = Literal["none", "best-effort", "restricted", "single-numa-node"]
NONE: PolicyName = "none"
BEST_EFFORT: PolicyName = "best-effort"
RESTRICTED: PolicyName = "restricted"
SINGLE_NUMA_NODE: PolicyName = "single-numa-node"

ANY_NODE = TopologyHint(None, preferred=True)
NO_NODE = TopologyHint(None, preferred=False)
ResourceHints = tuple[TopologyHint, ...]


@value_object
class Policy:
    name: PolicyName
    numa: NumaInfo
    options: PolicyOptions

    def merge(self, providers_hints: Sequence[Hints]) -> tuple[TopologyHint, bool]:
        """The best hint, and whether it admits the pod."""
        if self.name == NONE:
            return NO_NODE, True
        hints = filter_providers_hints(providers_hints)
        if self.name == SINGLE_NUMA_NODE:
            hints = [filter_single_numa_hints(each) for each in hints]
        best = HintMerger(self, hints).merge()
        if self.name == SINGLE_NUMA_NODE and best.numa_nodes == self.numa.default_affinity:
            best = TopologyHint(None, best.preferred)
        return best, self.name == BEST_EFFORT or best.preferred


def filter_providers_hints(providers_hints: Sequence[Hints]) -> list[ResourceHints]:
    """The hints of each provider and resource. A provider or resource without a preference accepts any node."""
    found: list[ResourceHints] = []
    for hints in providers_hints:
        if not hints:
            found.append((ANY_NODE,))
        for of_resource in hints.values():
            found.append((ANY_NODE,) if of_resource is None else of_resource or (NO_NODE,))
    return found


def filter_single_numa_hints(hints: ResourceHints) -> ResourceHints:
    return tuple([hint for hint in hints if hint.preferred and (hint.numa_nodes is None or len(hint.numa_nodes) == 1)])


def max_of_min_affinity_counts(hints: Sequence[ResourceHints]) -> int:
    """The largest number of NUMA nodes that any provider needs."""
    narrowest = [[len(hint.numa_nodes) for hint in each if hint.numa_nodes is not None] for each in hints]
    return max((min(counts) for counts in narrowest if counts), default=0)


class HintMerger:
    """Chooses the best combination of one hint per resource."""

    def __init__(self, policy: Policy, hints: Sequence[ResourceHints]) -> None:
        self._policy = policy
        self._hints = hints
        # Among non-preferred hints, the target is the node count of the provider that needs the most nodes.
        self._best_count = max_of_min_affinity_counts(hints)

    def merge(self) -> TopologyHint:
        best: TopologyHint | None = None
        for candidate in self._merged_permutations():
            best = self.compare(best, candidate)
        return best or TopologyHint(self._policy.numa.default_affinity, preferred=False)

    def _merged_permutations(self) -> list[TopologyHint]:
        """The merged hint of every combination of one hint per resource.

        The merged nodes are the intersection of the hints. The result is preferred if all hints are preferred and have
        the same nodes. Equal intermediate results are merged early, because eight NUMA nodes and three resources give
        sixteen million combinations.
        """
        merged: dict[tuple[NumaNodes, bool, NumaNodes | None], None] = {
            (self._policy.numa.default_affinity, True, None): None
        }
        for hints in self._hints:
            further: dict[tuple[NumaNodes, bool, NumaNodes | None], None] = {}
            for nodes, preferred, first in merged:
                for hint in hints:
                    own = hint.numa_nodes
                    both = preferred and hint.preferred and (own is None or first is None or own == first)
                    common = (first if own is None else own) if both else None
                    further[nodes if own is None else nodes & own, both, common] = None
            merged = further
        return [TopologyHint(nodes, preferred) for nodes, preferred, _ in merged]

    def compare(self, current: TopologyHint | None, candidate: TopologyHint) -> TopologyHint | None:
        """The better of the two."""
        new = candidate.numa_nodes or frozenset()
        if not new:
            return current
        if current is None:
            return candidate
        if current.preferred != candidate.preferred:
            return current if current.preferred else candidate
        if current.preferred:
            return self._better_hint(current, candidate)
        # Neither is preferred: as close to the best count as possible, and rather fewer nodes than more.
        count, new_count, best = len(current.numa_nodes or ()), len(new), self._best_count
        if count > best:  # case 1
            return self._better_hint(current, candidate)
        if count == best:  # case 2
            return self._better_hint(current, candidate) if new_count == best else current
        if new_count > best:  # case 3a
            return current
        if new_count == best:  # case 3b
            return candidate
        if new_count != count:  # cases 3ca, 3cb
            return candidate if new_count > count else current
        return self._better_hint(current, candidate)  # case 3cc

    def _better_hint(self, current: TopologyHint, candidate: TopologyHint) -> TopologyHint:
        """By distance if the option is set, otherwise the narrower hint."""
        nodes, new = current.numa_nodes or frozenset(), candidate.numa_nodes or frozenset()
        if nodes == new:
            return current
        policy = self._policy
        if policy.name != SINGLE_NUMA_NODE and policy.options.prefer_closest_numa:
            return current if policy.numa.closest(nodes, new) == nodes else candidate
        return current if is_narrower(nodes, new) else candidate
