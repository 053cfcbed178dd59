"""When each pod is synced again although nothing happened to it.

The worker requests the next sync at the end of each one, and the sync loop's tick takes up what is due. A pod whose
last sync found nothing to do is settled: until something touches it, a further sync would find nothing either, so its
resyncs are counted and not executed.
"""

from __future__ import annotations

from kubesim.clock import LoopClock
from kubesim.podworkers.work_queue import WorkQueue


class Resyncs:
    """`queue` holds the pods whose next sync will run, `settled` those whose next one is only counted."""

    def __init__(self, clock: LoopClock) -> None:
        self.queue = WorkQueue(clock)
        self.settled = WorkQueue(clock)
        self.counted = 0  # resyncs of settled pods, which nothing executed
        self._touched: dict[str, bool] = {}  # pods with a worker: was it touched since its last sync began?

    def sync_begins(self, uid: str) -> None:
        self._touched[uid] = False

    def enqueue(self, uid: str, delay: int, *, found_nothing: bool = False) -> None:
        """Request the next sync; `found_nothing` says how the last one ended."""
        if found_nothing and not self._touched[uid]:
            self.queue.remove(uid)
            self.settled.enqueue(uid, delay)
        else:
            self.queue.enqueue(uid, delay)

    def touch(self, uid: str) -> None:
        """Something that a sync of this pod reads has changed: its next one has to be executed."""
        if uid in self._touched:
            self._touched[uid] = True
            due = self.settled.remove(uid)
            if due is not None:
                self.queue.enqueue_at(uid, due)

    def touch_all(self) -> None:
        for uid in self._touched:
            self.touch(uid)

    def forget(self, uid: str) -> None:
        """The pod's worker has ended; what was requested stays in the queue."""
        self._touched.pop(uid, None)
        self.settled.remove(uid)
