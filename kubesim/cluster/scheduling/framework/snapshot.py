"""The scheduler's cache of nodes and their pods, updated incrementally.

A pod that was given a node is assumed: it counts there before the API server knows. The cost of a change does not
depend on the number of pods.

Mirrors: pkg/scheduler/backend/cache/cache.go AssumePod, ForgetPod, AddPod, UpdatePod, RemovePod, snapshot.go
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Set

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.pod_info import LabelsKey, PodInfo, new_pod_info, updated_pod_info
from kubesim.cluster.store.selectors import LabelSelector
from kubesim.features import DEFAULT_GATES, FeatureGates


class Snapshot:
    """Nodes by name, in the order in which they were added."""

    def __init__(self, gates: FeatureGates = DEFAULT_GATES) -> None:
        self.gates = gates
        self.nodes: dict[str, NodeState] = {}
        self._pods: defaultdict[str, dict[str, PodInfo]] = defaultdict(dict)  # by node (which may be unknown) and uid
        self._node_of: dict[str, str] = {}  # uid of a counted pod -> node
        self._assumed: set[str] = set()
        self._label_sets: Counter[LabelsKey] = Counter()  # those of all counted pods
        self._claims: Counter[tuple[str, str]] = Counter()  # claim -> number of pods on nodes that name it

    # -- nodes --------------------------------------------------------------------------------------------------

    def set_node(self, node: Node) -> None:
        name = node.metadata.name
        state = self.nodes.get(name)
        if state is not None:
            state.set_node(node)
            return
        state = self.nodes[name] = NodeState(node)
        for info in self._pods[name].values():
            state.add_pod(info)

    def remove_node(self, name: str) -> None:
        """Remove a node. Its pods may still exist: they count again when the node comes back."""
        self.nodes.pop(name, None)

    # -- pods ---------------------------------------------------------------------------------------------------

    def assume(self, info: PodInfo, node: str) -> None:
        """Count the pod on this node although it is not bound yet."""
        self._assumed.add(info.uid)
        self._add(info, node)

    def is_assumed(self, uid: str) -> bool:
        return uid in self._assumed

    def assumed_node(self, uid: str) -> str:
        """The node of an assumed pod; empty if the pod is not assumed."""
        return self._node_of[uid] if uid in self._assumed else ""

    def set_pod(self, pod: Pod) -> None:
        """Add or update a pod with a node; an assumed pod is now bound."""
        uid, node = pod.metadata.uid, pod.spec.node_name
        self._assumed.discard(uid)
        old_node = self._node_of.get(uid)
        if old_node is None:
            self._add(new_pod_info(pod, self.gates), node)
            return
        old = self._pods[old_node][uid]
        new = updated_pod_info(old, pod, self.gates)
        if old_node == node and new.requests is old.requests and new.is_terminating == old.is_terminating:
            # The counted values have not changed.
            self._replace(new, node)
        else:
            self.remove_pod(uid)
            self._add(new, node)

    def _replace(self, info: PodInfo, node: str) -> None:
        self._pods[node][info.uid] = info
        state = self.nodes.get(node)
        if state is not None:
            state.order.move_to_end(info.uid)
            for pods in (state.pods, state.with_affinity, state.with_required_anti_affinity):
                if info.uid in pods:
                    pods[info.uid] = info

    def _add(self, info: PodInfo, node: str) -> None:
        self._node_of[info.uid] = node
        self._pods[node][info.uid] = info
        self._label_sets[info.labels_key] += 1
        self._claims.update((info.pod.metadata.namespace, claim) for claim in info.claims)
        state = self.nodes.get(node)
        if state is not None:
            state.add_pod(info)

    def remove_pod(self, uid: str) -> None:
        """Remove a pod that was deleted, terminated, or could not be bound."""
        self._assumed.discard(uid)
        node = self._node_of.pop(uid, None)
        if node is None:
            return
        info = self._pods[node].pop(uid)
        self._label_sets[info.labels_key] -= 1
        if not self._label_sets[info.labels_key]:
            del self._label_sets[info.labels_key]
        self._claims.subtract((info.pod.metadata.namespace, claim) for claim in info.claims)
        state = self.nodes.get(node)
        if state is not None:
            state.remove_pod(info)

    def label_sets(self, namespace: str, selector: LabelSelector) -> Set[LabelsKey]:
        """The label sets of pods of a namespace that match; an empty selector matches none."""
        if not selector.requirements:
            return frozenset()
        return {key for key in self._label_sets if key[0] == namespace and selector.matches(dict(key[1]))}

    def is_claim_used(self, namespace: str, name: str) -> bool:
        """Whether a pod with a node uses this claim."""
        return self._claims[namespace, name] > 0

    def pods_of(self, node: str) -> Iterable[PodInfo]:
        return self._pods[node].values() if node in self._pods else ()
