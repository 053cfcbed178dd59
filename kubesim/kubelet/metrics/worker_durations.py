"""Durations of pod workers, from the records of their updates and syncs.

A duration starts at the update that caused the sync. Updates for a busy worker are merged and keep the oldest start. A
kill has no start, and neither has the update that it replaces.

Mirrors: pkg/kubelet/pod_workers.go UpdatePod (StartTime), podWorkerLoop; kubelet.go SyncPod (the first measurements)
"""

from __future__ import annotations

from kubesim.kubelet.metrics.definitions import POD_START, WORKER, WORKER_START, Measurements
from kubesim.trace import records as r

_RUNS = ("Pending", "Running")


class WorkerDurations:
    """Worker durations of one kubelet. Times are those of records."""

    def __init__(self, measured: Measurements) -> None:
        self._measured = measured
        self._seen: dict[str, int] = {}  # pod -> time when its source first sent it
        self._updates: dict[str, list[r.WorkerUpdate]] = {}  # UID -> pending updates
        self._syncs: dict[str, tuple[r.SyncBegin, int | None]] = {}  # UID -> sync in progress and its start
        self._phases: dict[str, str] = {}
        self._finished: set[str] = set()  # UIDs of finished workers

    def first_seen(self, record: r.ConfigUpdate) -> None:
        if record.op == "ADD":
            self._seen.update(dict.fromkeys(record.pods, record.t))

    def updated(self, record: r.WorkerUpdate) -> None:
        """Handle an update. For a finished worker it is ignored, unless it has no start: that restarts the worker."""
        if record.uid not in self._finished:
            self._updates.setdefault(record.uid, []).append(record)

    def begun(self, record: r.SyncBegin) -> None:
        """Handle the start of a sync. Updates later than the one that caused it count for the next sync."""
        self._finished.discard(record.uid)
        waiting = self._updates.get(record.uid, [])
        taken = [update for update in waiting if update.seq <= (record.cause or 0)]
        self._updates[record.uid] = waiting[len(taken) :]
        self._syncs[record.uid] = (record, _start_time(taken))
        seen = self._seen.get(record.pod)
        if record.sync == "SyncPod" and record.update == "create" and seen is not None:
            self._measured.observe(WORKER_START, record.t - seen)

    def status_set(self, record: r.StatusSet) -> None:
        """SyncPod measures when a pod runs for the first time, and when it has no status yet."""
        phases = (self._phases.get(record.uid), record.phase)
        self._phases[record.uid] = record.phase
        sync, _ = self._syncs.get(record.uid, (None, None))
        seen = self._seen.get(record.pod)
        if sync is None or sync.sync != "SyncPod" or seen is None or record.phase not in _RUNS:
            return
        if record.version == 1 or phases == _RUNS:
            self._measured.observe(POD_START, record.t - seen)

    def ended(self, record: r.SyncEnd) -> None:
        sync, start = self._syncs.pop(record.uid, (None, None))
        if sync is not None and start is not None:
            is_last = sync.sync == "SyncTerminatedPod" and not record.error
            self._measured.observe(WORKER, record.t - start, "terminated" if is_last else sync.update)

    def finished(self, uid: str) -> None:
        self._finished.add(uid)
        self._updates.pop(uid, None)
        self._phases.pop(uid, None)


def _start_time(updates: list[r.WorkerUpdate]) -> int | None:
    start = None
    for update in updates:
        start = None if update.update == "kill" else update.t if start is None else start
    return start
