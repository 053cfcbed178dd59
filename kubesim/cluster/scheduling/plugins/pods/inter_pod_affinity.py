"""InterPodAffinity: required affinity and anti-affinity between pods, in both directions.

Matching pods are counted per topology domain (a label and its value) before nodes are filtered.

Mirrors: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.affinity_terms import AffinityTerm
from kubesim.cluster.scheduling.framework.listers import NO_LABELS, Listers
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import CycleState, PluginState
from kubesim.cluster.scheduling.framework.pod_info import PodInfo
from kubesim.cluster.scheduling.framework.status import Status
from kubesim.values import replace

NAME = "InterPodAffinity"
AFFINITY_RULES = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_RULES = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY_RULES = "node(s) didn't satisfy existing pods anti-affinity rules"

_NOT_NEAR = Status(NAME, (AFFINITY_RULES,), unresolvable=True)
_NOT_APART = Status(NAME, (ANTI_AFFINITY_RULES,))
_DISTURBS_OTHERS = Status(NAME, (EXISTING_ANTI_AFFINITY_RULES,))

TopologyCounts = Counter[tuple[str, str]]  # label and value -> matching pods


class AffinityState(PluginState):
    """The number of matching pods per topology domain."""

    def __init__(
        self,
        pod: Pod,
        affinity: tuple[AffinityTerm, ...],
        anti_affinity: tuple[AffinityTerm, ...],
        namespace_labels: Mapping[str, str],
    ) -> None:
        self.pod = pod
        self.affinity = affinity
        self.anti_affinity = anti_affinity
        self.namespace_labels = namespace_labels
        self.near: TopologyCounts = Counter()  # pods that match all affinity terms
        self.apart: TopologyCounts = Counter()  # pods that match an anti-affinity term
        self.existing: TopologyCounts = Counter()  # anti-affinity terms of other pods that match the pod

    def copy(self) -> AffinityState:
        other = AffinityState(self.pod, self.affinity, self.anti_affinity, self.namespace_labels)
        other.near, other.apart, other.existing = Counter(self.near), Counter(self.apart), Counter(self.existing)
        return other

    def update(self, pod: PodInfo, node: Node, delta: int) -> None:
        metadata = pod.pod.metadata
        self.count_existing(pod, node, delta)
        self.count(metadata.namespace, metadata.labels, node, delta)

    def count_existing(self, pod: PodInfo, node: Node, delta: int) -> None:
        for term in pod.terms.required_anti_affinity:
            if term.matches_pod(self.pod, self.namespace_labels):
                _add(self.existing, node, term.topology_key, delta)

    def count(self, namespace: str, labels: Mapping[str, str], node: Node, delta: int) -> None:
        """Count pods with these labels. (The terms contain all their namespaces.)"""
        if matches_all(self.affinity, namespace, labels):
            for term in self.affinity:
                _add(self.near, node, term.topology_key, delta)
        for term in self.anti_affinity:
            if term.matches(namespace, labels, NO_LABELS):
                _add(self.apart, node, term.topology_key, delta)


def _add(counts: TopologyCounts, node: Node, key: str, delta: int) -> None:
    value = node.metadata.labels.get(key)
    if value is not None:
        counts[key, value] += delta
        if not counts[key, value]:
            del counts[key, value]


def matches_all(terms: Iterable[AffinityTerm], namespace: str, labels: Mapping[str, str]) -> bool:
    """Whether a pod matches every term; without terms none does."""
    found = False
    for term in terms:
        if not term.matches(namespace, labels, NO_LABELS):
            return False
        found = True
    return found


def with_namespaces(terms: tuple[AffinityTerm, ...], listers: Listers) -> tuple[AffinityTerm, ...]:
    """The terms with the namespaces that their selectors match now. An empty selector stays: it matches all."""
    return tuple(
        term
        if term.namespace_selector is None or not term.namespace_selector.requirements
        else replace(
            term,
            namespaces=term.namespaces | frozenset(listers.namespaces(term.namespace_selector)),
            namespace_selector=None,
        )
        for term in terms
    )


def pre_filter(cycle: CycleState) -> PluginState | None:
    terms, listers = cycle.info.terms, cycle.listers
    state = AffinityState(
        cycle.pod,
        with_namespaces(terms.required_affinity, listers),
        with_namespaces(terms.required_anti_affinity, listers),
        listers.namespace_labels(cycle.pod.metadata.namespace),
    )
    has_terms = bool(state.affinity or state.anti_affinity)
    for node in cycle.snapshot.nodes.values():
        for pod in node.with_required_anti_affinity.values():
            state.count_existing(pod, node.node, 1)
        if has_terms:
            for group in node.groups.values():
                state.count(group.namespace, group.labels, node.node, group.pods)
    return state if has_terms or state.existing else None


def filter_node(cycle: CycleState, node: NodeState) -> Status | None:
    state = cycle.states[NAME]
    assert isinstance(state, AffinityState)
    if not _satisfies_affinity(state, node.labels):
        return _NOT_NEAR
    if any(
        state.apart[term.topology_key, node.labels[term.topology_key]] > 0
        for term in state.anti_affinity
        if term.topology_key in node.labels
    ):
        return _NOT_APART
    if state.existing and any(state.existing[pair] > 0 for pair in node.labels.items()):
        return _DISTURBS_OTHERS
    return None


def _satisfies_affinity(state: AffinityState, labels: Mapping[str, str]) -> bool:
    if any(term.topology_key not in labels for term in state.affinity):
        return False
    if all(state.near[term.topology_key, labels[term.topology_key]] > 0 for term in state.affinity):
        return True
    # The first pod of a group with affinity to itself: no other pod matches yet.
    metadata = state.pod.metadata
    return not state.near and matches_all(state.affinity, metadata.namespace, metadata.labels)
