"""The work queue of pods: each is ready after its time.

Pod workers add a pod at the end of every sync; the sync loop's one-second tick takes ready pods out.

Mirrors: pkg/kubelet/util/queue/work_queue.go
"""

from __future__ import annotations

import heapq

from kubesim.clock import LoopClock


class WorkQueue:
    """One time per pod; a new one replaces it, whether earlier or later."""

    def __init__(self, clock: LoopClock) -> None:
        self._clock = clock
        self._due: dict[str, tuple[int, int, str]] = {}  # time, insertion number, pod
        self._heap: list[tuple[int, int, str]] = []  # may contain replaced times
        self._count = 0

    def __len__(self) -> int:
        return len(self._due)

    def enqueue(self, uid: str, delay: int) -> None:
        self.enqueue_at(uid, self._clock.now() + delay)

    def enqueue_at(self, uid: str, due: int) -> None:
        self._count += 1
        entry = self._due[uid] = (due, self._count, uid)
        heapq.heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._due) + 64:
            self._heap = list(self._due.values())
            heapq.heapify(self._heap)

    def remove(self, uid: str) -> int | None:
        """Remove a pod; returns its time."""
        entry = self._due.pop(uid, None)
        return None if entry is None else entry[0]

    def get_work(self) -> list[str]:
        """Take out the pods whose time has passed. A pod with exactly the current time is not ready yet."""
        now = self._clock.now()
        ready = []
        while (earliest := self.earliest()) is not None and earliest < now:
            ready.append(self.pop())
        return ready

    def pop(self) -> str:
        """Take out the pod that `earliest` returned."""
        uid = heapq.heappop(self._heap)[2]
        del self._due[uid]
        return uid

    def earliest(self) -> int | None:
        """The earliest time in the queue; work is due after it."""
        heap = self._heap
        while heap and self._due.get(heap[0][2]) is not heap[0]:
            heapq.heappop(heap)
        return heap[0][0] if heap else None
