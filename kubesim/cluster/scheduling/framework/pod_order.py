"""The order in which the scheduler's cache holds the pods of a node; preemption spares equal pods in this order.

A pod that changes is taken out and put at the end, and the last pod takes the place that it leaves.

Mirrors: pkg/scheduler/framework/types.go NodeInfo.RemovePod; pkg/scheduler/backend/cache/cache.go updatePod
"""

from __future__ import annotations

from collections.abc import Iterator


class PodOrder:
    """Uids; every change takes the same time, however many there are."""

    def __init__(self, uids: list[str] | None = None) -> None:
        self._uids = uids or []
        self._places = {uid: place for place, uid in enumerate(self._uids)}

    def __iter__(self) -> Iterator[str]:
        return iter(self._uids)

    def add(self, uid: str) -> None:
        self._places[uid] = len(self._uids)
        self._uids.append(uid)

    def remove(self, uid: str) -> None:
        place, last = self._places.pop(uid), self._uids.pop()
        if last != uid:
            self._uids[place] = last
            self._places[last] = place

    def move_to_end(self, uid: str) -> None:
        """The pod has changed."""
        self.remove(uid)
        self.add(uid)

    def copy(self) -> PodOrder:
        return PodOrder(list(self._uids))
