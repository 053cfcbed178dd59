"""Nominated pods: each waits for victims to leave a node.

Mirrors: pkg/scheduler/backend/queue/nominator.go
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesim.cluster.scheduling.framework.pod_info import PodInfo


class Nominator:
    """Nominated pods by node; each pod has one node."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, PodInfo]] = {}
        self._nodes: dict[str, str] = {}

    def set(self, info: PodInfo, node: str | None) -> None:
        """Nominate the pod to this node, or to none (""). None: to the node in its status."""
        self.delete(info.uid)
        name = info.pod.status.nominated_node_name if node is None else node
        if name:
            self._nodes[info.uid] = name
            self._pods.setdefault(name, {})[info.uid] = info

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """Update a pod. If its status has no node yet, the nomination stays."""
        kept = None
        if not old.pod.status.nominated_node_name and not new.pod.status.nominated_node_name:
            kept = self._nodes.get(old.uid)
        self.set(new, kept)

    def delete(self, uid: str) -> None:
        node = self._nodes.pop(uid, None)
        if node is not None:
            pods = self._pods[node]
            del pods[uid]
            if not pods:
                del self._pods[node]

    def pods_for(self, node: str) -> Iterable[PodInfo]:
        return self._pods[node].values() if node in self._pods else ()
