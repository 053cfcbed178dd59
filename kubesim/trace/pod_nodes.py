"""The node of each record. Records of workers name only their pod, and a pod is on one node at a time."""

from __future__ import annotations

from kubesim.trace.records import Record


class PodNodes:
    """Learns the node of each pod from records that name both. The node is empty for a pod without such a record."""

    def __init__(self) -> None:
        self._nodes: dict[str, str] = {}

    def node_of(self, record: Record) -> str:
        if not record.node:
            return self._nodes.get(record.pod, "")
        if record.pod:
            self._nodes[record.pod] = record.node
        return record.node
