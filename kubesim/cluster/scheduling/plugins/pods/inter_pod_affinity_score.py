"""InterPodAffinity scores, for preferences of the pod and of existing pods, and its queueing hints.

Mirrors: pkg/scheduler/framework/plugins/interpodaffinity scoring.go, plugin.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.affinity_terms import AffinityTerm, affinity_terms
from kubesim.cluster.scheduling.framework.cluster_event import Action, ClusterEvent, after
from kubesim.cluster.scheduling.framework.listers import NO_LABELS
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import MAX_NODE_SCORE, CycleState, Plugin
from kubesim.cluster.scheduling.plugins.pods.inter_pod_affinity import (
    NAME,
    TopologyCounts,
    filter_node,
    matches_all,
    pre_filter,
    with_namespaces,
)

HARD_POD_AFFINITY_WEIGHT = 1


def score(cycle: CycleState, nodes: Sequence[NodeState]) -> Sequence[int] | None:
    found = _topology_scores(cycle)
    if not found:
        return None
    scores = [sum(found.get(pair, 0) for pair in state.labels.items()) for state in nodes]
    lowest, highest = min(scores), max(scores)
    if lowest == highest:
        return [0] * len(scores)
    return [int(MAX_NODE_SCORE * ((each - lowest) / (highest - lowest))) for each in scores]


def _topology_scores(cycle: CycleState) -> TopologyCounts:
    """The sum of preference weights per topology domain."""
    terms, metadata = cycle.info.terms, cycle.pod.metadata
    namespace_labels = cycle.listers.namespace_labels(metadata.namespace)
    own = [
        (sign, term)
        for sign, preferred in ((1, terms.preferred_affinity), (-1, terms.preferred_anti_affinity))
        for term in with_namespaces(preferred, cycle.listers)
    ]
    found: TopologyCounts = Counter()
    for state in cycle.snapshot.nodes.values():
        labels = state.labels
        for sign, term in own:
            if term.topology_key in labels:
                matching = sum(
                    group.pods
                    for group in state.groups.values()
                    if term.matches(group.namespace, group.labels, NO_LABELS)
                )
                if matching:
                    found[term.topology_key, labels[term.topology_key]] += sign * term.weight * matching
        for other in state.with_affinity.values():
            for weight, term in _preferences(other.terms.required_affinity, 1, HARD_POD_AFFINITY_WEIGHT):
                _add(found, term, weight, labels, cycle.pod, namespace_labels)
            for weight, term in _preferences(other.terms.preferred_affinity, 1):
                _add(found, term, weight, labels, cycle.pod, namespace_labels)
            for weight, term in _preferences(other.terms.preferred_anti_affinity, -1):
                _add(found, term, weight, labels, cycle.pod, namespace_labels)
    return found


def _preferences(terms: Iterable[AffinityTerm], sign: int, weight: int = 0) -> Iterable[tuple[int, AffinityTerm]]:
    return ((sign * (weight or term.weight), term) for term in terms)


def _add(
    found: TopologyCounts,
    term: AffinityTerm,
    weight: int,
    labels: Mapping[str, str],
    pod: Pod,
    namespace_labels: Mapping[str, str],
) -> None:
    if term.topology_key in labels and term.matches_pod(pod, namespace_labels):
        found[term.topology_key, labels[term.topology_key]] += weight


# -- when to try again ------------------------------------------------------------------------------------------------


def is_schedulable_after_pod_change(pod: Pod, event: ClusterEvent) -> bool:
    old, new = event.old_pod, event.new_pod
    if old is not None and new is not None and new.metadata.uid == pod.metadata.uid:
        return True  # its labels changed
    if any(each is not None and not each.spec.node_name and not each.status.nominated_node_name for each in (old, new)):
        return False
    terms = affinity_terms(pod)
    near, apart = terms.required_affinity, terms.required_anti_affinity
    if old is not None and new is not None:
        return (not _all_match(near, old) and _all_match(near, new)) or (
            _all_match(apart, old) and not _all_match(apart, new)
        )
    if new is not None:
        return _all_match(near, new)
    if old is None:
        return False
    return _all_match(apart, old) or _all_match(affinity_terms(old).required_anti_affinity, pod)


def _all_match(terms: Iterable[AffinityTerm], pod: Pod) -> bool:
    return matches_all(terms, pod.metadata.namespace, pod.metadata.labels)


def is_schedulable_after_node_change(pod: Pod, event: ClusterEvent) -> bool:
    """Whether a node joined a required domain, or left a forbidden one."""
    old, new = event.old_node, event.new_node
    if new is None:
        return False
    terms = affinity_terms(pod)
    if old is None:
        return bool(terms.required_anti_affinity) or any(
            term.topology_key in new.metadata.labels for term in terms.required_affinity
        )
    before, now = old.metadata.labels, new.metadata.labels
    return any(
        term.topology_key in now and before.get(term.topology_key) != now[term.topology_key]
        for term in terms.required_affinity
    ) or any(
        term.topology_key in before and before[term.topology_key] != now.get(term.topology_key)
        for term in terms.required_anti_affinity
    )


PLUGIN = Plugin(
    NAME,
    pre_filter=pre_filter,
    filter=filter_node,
    score=score,
    weight=2,
    events=(
        after("Pod", Action.ADD, Action.UPDATE_POD_LABEL, Action.DELETE, hint=is_schedulable_after_pod_change),
        after("Node", Action.ADD, Action.UPDATE_NODE_LABEL, hint=is_schedulable_after_node_change),
        after("Node", Action.UPDATE_NODE_TAINT),
    ),
)
