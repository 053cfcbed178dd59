"""A node with its bound and assumed pods.

Pods with equal labels are grouped, so that a selector is evaluated once for all pods of a ReplicaSet
(`Snapshot.label_sets`).

Mirrors: pkg/scheduler/framework/types.go NodeInfo
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from kubesim.api.node import Node
from kubesim.api.pods.resources import quantities
from kubesim.cluster.scheduling.framework.pod_info import LabelsKey, PodInfo
from kubesim.cluster.scheduling.node_info import NodeInfo, NodeResources
from kubesim.values import mutable


@mutable(eq=False)
class LabelGroup:
    """The number of pods of a namespace with exactly these labels; `live` ones are not terminating."""

    namespace: str
    labels: Mapping[str, str]
    pods: int = 0
    live: int = 0


class PodOrder:
    """The order of a node's pods in the scheduler's cache, which breaks ties in preemption.

    A changed pod is removed and appended; the last pod fills the gap.

    Mirrors: pkg/scheduler/framework/types.go NodeInfo.RemovePod; pkg/scheduler/backend/cache/cache.go updatePod
    """

    def __init__(self, uids: list[str] | None = None) -> None:
        self._uids = uids or []
        self._positions = {uid: position for position, uid in enumerate(self._uids)}

    def __iter__(self) -> Iterator[str]:
        return iter(self._uids)

    def add(self, uid: str) -> None:
        self._positions[uid] = len(self._uids)
        self._uids.append(uid)

    def remove(self, uid: str) -> None:
        position, last = self._positions.pop(uid), self._uids.pop()
        if last != uid:
            self._uids[position] = last
            self._positions[last] = position

    def move_to_end(self, uid: str) -> None:
        """Move a changed pod to the end."""
        self.remove(uid)
        self.add(uid)

    def copy(self) -> PodOrder:
        return PodOrder(list(self._uids))


class NodeState(NodeInfo):
    """A node and its pods, updated incrementally."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.name = node.metadata.name
        self.labels = node.metadata.labels
        self.pods: dict[str, PodInfo] = {}  # by uid
        self.order = PodOrder()
        self.non_zero_requested = NodeResources()
        self.groups: dict[LabelsKey, LabelGroup] = {}
        self.with_affinity: dict[str, PodInfo] = {}
        self.with_required_anti_affinity: dict[str, PodInfo] = {}
        self.images = _images(node)

    def set_node(self, node: Node) -> None:
        """Replace the node; its pods stay."""
        if node.status.allocatable != self.node.status.allocatable:
            self.allocatable = NodeResources.of(quantities(node.status.allocatable))
        if node.status.images is not self.node.status.images:
            self.images = _images(node)
        self.node, self.labels = node, node.metadata.labels

    def add_pod(self, info: PodInfo) -> None:
        self.pods[info.uid] = info
        self.order.add(info.uid)
        if info.terms.any:
            self.with_affinity[info.uid] = info
            if info.terms.required_anti_affinity:
                self.with_required_anti_affinity[info.uid] = info
        for port in info.ports:
            self.ports.add(port)
        self._count(info, 1)

    def remove_pod(self, info: PodInfo) -> None:
        del self.pods[info.uid]
        self.order.remove(info.uid)
        self.with_affinity.pop(info.uid, None)
        self.with_required_anti_affinity.pop(info.uid, None)
        for port in info.ports:
            self.ports.remove(port)
        self._count(info, -1)

    def _count(self, info: PodInfo, sign: int) -> None:
        self.pod_count += sign
        self.requested.add_all(info.requests, sign)
        self.non_zero_requested.add_all(info.non_zero, sign)
        key = info.labels_key
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = LabelGroup(key[0], info.pod.metadata.labels)
        group.pods += sign
        group.live += 0 if info.is_terminating else sign
        if not group.pods:
            del self.groups[key]

    def live_pods(self, label_sets: Set[LabelsKey]) -> int:
        """The number of pods with one of these label sets that are not terminating."""
        return sum([self.groups[key].live for key in self.groups.keys() & label_sets])

    def copy(self) -> NodeState:
        """A copy for a dry run, to and from which pods can be added and removed."""
        other = NodeState.__new__(NodeState)
        other.__dict__.update(self.__dict__)
        other.requested, other.non_zero_requested = self.requested.copy(), self.non_zero_requested.copy()
        other.ports, other.pods, other.order = self.ports.copy(), dict(self.pods), self.order.copy()
        other.with_affinity = dict(self.with_affinity)
        other.with_required_anti_affinity = dict(self.with_required_anti_affinity)
        other.groups = {
            key: LabelGroup(group.namespace, group.labels, group.pods, group.live) for key, group in self.groups.items()
        }
        return other


def _images(node: Node) -> dict[str, int]:
    """The sizes of the node's images, by every name."""
    return {name: image.get("sizeBytes", 0) for image in node.status.images for name in image.get("names") or ()}
