"""NodeAffinity: filters by node selector and required node affinity, scores by preferences.

If every term of a pod names nodes (as those of a DaemonSet's pod do), only these nodes are checked.

Mirrors: pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.fit import NODE_AFFINITY
from kubesim.cluster.scheduling.framework.cluster_event import Action, ClusterEvent, after
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import CycleState, Plugin, PluginState, default_normalize_score
from kubesim.cluster.scheduling.framework.status import Status
from kubesim.cluster.scheduling.node_affinity import matches_node_affinity, matches_preferred_term

NAME = "NodeAffinity"
CONFLICT = "pod affinity terms conflict"
_REFUSED = Status(NAME, (NODE_AFFINITY.description,), unresolvable=True)


class _State(PluginState):
    def __init__(self, node_names: frozenset[str] | None) -> None:
        self.node_names = node_names


def pre_filter(cycle: CycleState) -> PluginState | Status | None:
    spec = cycle.pod.spec
    required = _node_affinity(cycle.pod).get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None and not spec.node_selector:
        return None
    names = _node_names((required or {}).get("nodeSelectorTerms") or ())
    if names is not None and not names:
        return Status(NAME, (CONFLICT,), unresolvable=True)
    return _State(names)


def _node_affinity(pod: Pod) -> Mapping[str, Any]:
    return (pod.spec.affinity or {}).get("nodeAffinity") or {}


def _node_names(terms: Sequence[Mapping[str, Any]]) -> frozenset[str] | None:
    """The nodes named by the terms, or None (every node) if a term names none."""
    names: frozenset[str] = frozenset()
    for term in terms:
        named = [
            frozenset(field.get("values") or ())
            for field in term.get("matchFields") or ()
            if field.get("key") == "metadata.name" and field.get("operator") == "In"
        ]
        if not named:
            return None
        names |= frozenset.intersection(*named)
    return names if terms else None


def filter_node(cycle: CycleState, state: NodeState) -> Status | None:
    return None if _matches(cycle.pod, state.node) else _REFUSED


def _matches(pod: Pod, node: Node) -> bool:
    return matches_node_affinity(pod, node.metadata.name, node.metadata.labels)


def score(cycle: CycleState, nodes: Sequence[NodeState]) -> Sequence[int] | None:
    """The sum of the weights of matching preferences."""
    preferred = _node_affinity(cycle.pod).get("preferredDuringSchedulingIgnoredDuringExecution")
    if not preferred:
        return None
    return default_normalize_score(
        [
            sum(
                each.get("weight", 0)
                for each in preferred
                if matches_preferred_term(each.get("preference") or {}, state.name, state.labels)
            )
            for state in nodes
        ]
    )


def is_schedulable_after_node_change(pod: Pod, event: ClusterEvent) -> bool:
    old, new = event.old_node, event.new_node
    return new is not None and _matches(pod, new) and (old is None or not _matches(pod, old))


PLUGIN = Plugin(
    NAME,
    pre_filter=pre_filter,
    filter=filter_node,
    score=score,
    weight=2,
    events=(
        after("Node", Action.ADD, Action.UPDATE_NODE_LABEL, hint=is_schedulable_after_node_change),
        after("Node", Action.UPDATE_NODE_TAINT),
    ),
)
