"""Periodic resyncs of pods.

At the end of each sync the worker requests the next one; the sync loop's tick starts due syncs. A pod is settled if its
last sync found nothing to do. Further syncs would find nothing either until something touches the pod, so its resyncs
are counted but not executed.
"""

from __future__ import annotations

from kubesim.clock import LoopClock
from kubesim.podworkers.work_queue import WorkQueue


class Resyncs:
    """The resync schedule: the next sync of pods in `queue` is executed, in `settled` it is only counted."""

    def __init__(self, clock: LoopClock) -> None:
        self.queue = WorkQueue(clock)
        self.settled = WorkQueue(clock)
        self.counted = 0  # resyncs of settled pods, not executed
        self._changed: dict[str, bool] = {}  # pods with a worker: touched since their last sync began?

    def sync_begins(self, uid: str) -> None:
        self._changed[uid] = False

    def enqueue(self, uid: str, delay: int, *, found_nothing: bool = False) -> None:
        """Request the next sync. `found_nothing`: the last sync found nothing to do."""
        if found_nothing and not self._changed[uid]:
            self.queue.remove(uid)
            self.settled.enqueue(uid, delay)
        else:
            self.queue.enqueue(uid, delay)

    def touch(self, uid: str) -> None:
        """Unsettle a pod: something that its sync reads has changed."""
        if uid in self._changed:
            self._changed[uid] = True
            due = self.settled.remove(uid)
            if due is not None:
                self.queue.enqueue_at(uid, due)

    def mark_all_changed(self) -> None:
        for uid in self._changed:
            self.touch(uid)

    def forget(self, uid: str) -> None:
        """Drop a finished worker's state; a requested sync stays in the queue."""
        self._changed.pop(uid, None)
        self.settled.remove(uid)
