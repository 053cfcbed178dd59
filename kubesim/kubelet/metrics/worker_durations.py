"""How long pod workers take, from the records of their updates and syncs.

The time counts from the update that led to a sync. Updates that come while a worker is busy become one, which keeps
the oldest time of them; a kill has no time, and the update that it replaces loses its own.

Mirrors: pkg/kubelet/pod_workers.go UpdatePod (StartTime), podWorkerLoop; kubelet.go SyncPod (the first measurements)
"""

from __future__ import annotations

from kubesim.kubelet.metrics.definitions import POD_START, WORKER, WORKER_START, Measurements
from kubesim.trace import records as r

_RUNS = ("Pending", "Running")


class WorkerDurations:
    """Durations of the workers of one kubelet. Times are those of records."""

    def __init__(self, measured: Measurements) -> None:
        self._measured = measured
        self._seen: dict[str, int] = {}  # pod -> when its source first gave it
        self._updates: dict[str, list[r.WorkerUpdate]] = {}  # uid -> not yet taken up
        self._syncs: dict[str, tuple[r.SyncBegin, int | None]] = {}  # uid -> under way, and since when it counts
        self._phases: dict[str, str] = {}
        self._finished: set[str] = set()  # uids whose worker has ended

    def first_seen(self, record: r.ConfigUpdate) -> None:
        if record.op == "ADD":
            self._seen.update(dict.fromkeys(record.pods, record.t))

    def updated(self, record: r.WorkerUpdate) -> None:
        """Updates of a pod whose worker has ended are ignored, except one without a time, which starts it again."""
        if record.uid not in self._finished:
            self._updates.setdefault(record.uid, []).append(record)

    def begun(self, record: r.SyncBegin) -> None:
        """Changes after the update that the worker took (the cause of the sync) are for the next sync."""
        self._finished.discard(record.uid)
        waiting = self._updates.get(record.uid, [])
        taken = [update for update in waiting if update.seq <= (record.cause or 0)]
        self._updates[record.uid] = waiting[len(taken) :]
        self._syncs[record.uid] = (record, _start_time(taken))
        seen = self._seen.get(record.pod)
        if record.sync == "SyncPod" and record.update == "create" and seen is not None:
            self._measured.observe(WORKER_START, record.t - seen)

    def status_set(self, record: r.StatusSet) -> None:
        """SyncPod measures when a pod runs, and when it has no status yet."""
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
