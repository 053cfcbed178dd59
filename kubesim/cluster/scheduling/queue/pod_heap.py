"""A heap of queued pods from which any pod can be removed."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from kubesim.cluster.scheduling.queue.queued_pod import QueuedPod

Order = tuple[int, ...]


class PodHeap:
    """A min-heap. The entry of a removed pod stays and is skipped later."""

    def __init__(self, order: Callable[[QueuedPod], Order]) -> None:
        self._order = order
        self._entries: list[tuple[Order, int, str]] = []
        self._pods: dict[str, tuple[int, QueuedPod]] = {}  # uid -> number of the valid entry
        self._count = count()

    def __len__(self) -> int:
        return len(self._pods)

    def push(self, pod: QueuedPod) -> None:
        number = next(self._count)
        self._pods[pod.uid] = number, pod
        heapq.heappush(self._entries, (self._order(pod), number, pod.uid))

    def peek(self) -> QueuedPod | None:
        while self._entries:
            _, number, uid = self._entries[0]
            current = self._pods.get(uid)
            if current is not None and current[0] == number:
                return current[1]
            heapq.heappop(self._entries)
        return None

    def pop(self) -> QueuedPod | None:
        pod = self.peek()
        if pod is not None:
            heapq.heappop(self._entries)
            del self._pods[pod.uid]
        return pod

    def find(self, uid: str) -> QueuedPod | None:
        found = self._pods.get(uid)
        return None if found is None else found[1]

    def remove(self, uid: str) -> None:
        self._pods.pop(uid, None)
