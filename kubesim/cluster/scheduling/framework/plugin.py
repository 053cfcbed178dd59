"""`Plugin`, the interface of scheduling plugins, and the state of one scheduling cycle.

Plugins are pure: they read the cycle and a node, and return a rejection, a state or scores.

Mirrors: kube-scheduler/framework/interface.go PreFilterPlugin, FilterPlugin, ScorePlugin, EnqueueExtensions, CycleState
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.cluster_event import Registration
from kubesim.cluster.scheduling.framework.listers import Listers
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.pod_info import PodInfo
from kubesim.cluster.scheduling.framework.snapshot import Snapshot
from kubesim.cluster.scheduling.framework.status import Status
from kubesim.values import mutable, value_object

MAX_NODE_SCORE = 100


class PluginState:
    """The result of a pre-filter. `node_names`: the only possible nodes."""

    node_names: frozenset[str] | None = None

    def copy(self) -> PluginState:
        """A copy for a dry run; a state that no pod affects is shared."""
        return self

    def update(self, pod: PodInfo, node: Node, delta: int) -> None:
        """In a dry run, a pod is added to a node (1) or removed from it (-1)."""


@mutable(eq=False)
class CycleState:
    """One attempt for one pod. A plugin without a state is skipped for this pod."""

    info: PodInfo
    snapshot: Snapshot
    listers: Listers
    states: dict[str, PluginState] = field(default_factory=dict)

    @property
    def pod(self) -> Pod:
        return self.info.pod

    def copy(self) -> CycleState:
        copied = {name: state.copy() for name, state in self.states.items()}
        return CycleState(self.info, self.snapshot, self.listers, copied)

    def update(self, pod: PodInfo, node: Node, delta: int) -> None:
        for state in self.states.values():
            state.update(pod, node, delta)


PreFilter = Callable[[CycleState], PluginState | Status | None]  # None: skip this plugin for the pod
Filter = Callable[[CycleState, NodeState], Status | None]  # None: the pod fits
Score = Callable[[CycleState, Sequence[NodeState]], Sequence[int] | None]  # 0 to 100 each; None: no preference


@value_object
class Plugin:
    """A plugin of the profile. With a `pre_filter`, the `filter` is called only if that returned a state."""

    name: str
    pre_filter: PreFilter | None = None
    filter: Filter | None = None
    score: Score | None = None
    weight: int = 1
    events: tuple[Registration, ...] = ()


def default_normalize_score(scores: Sequence[int], *, reverse: bool = False) -> list[int]:
    """Scale scores to 0..100 by the highest one; `reverse` gives the lowest 100.

    Mirrors: plugins/helper/normalize_score.go DefaultNormalizeScore
    """
    highest = max(scores, default=0)
    if highest == 0:
        return [MAX_NODE_SCORE if reverse else 0] * len(scores)
    scaled = [MAX_NODE_SCORE * score // highest for score in scores]
    return [MAX_NODE_SCORE - score for score in scaled] if reverse else scaled
