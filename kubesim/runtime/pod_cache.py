"""The pod status cache: the PLEG writes the runtime status of pods, and pod workers read it.

A worker that has just changed a pod must not use an older status. It requests a status *newer than* the end of its last
sync and waits for a relist. Waiters of a pod are served in order of arrival.

Mirrors: pkg/kubelet/container/cache.go
"""

from __future__ import annotations

import asyncio

from kubesim.clock import Awaited, wake
from kubesim.errors import KubesimError
from kubesim.runtime.types import RuntimePodStatus
from kubesim.values import mutable

_ZERO_TIME = -(1 << 62)  # before every time, like Go's zero time


@mutable
class _Entry:
    status: RuntimePodStatus
    error: KubesimError | None
    modified: int
    observed: int

    def answer(self) -> RuntimePodStatus:
        if self.error is not None:
            raise self.error.with_traceback(None)  # raised repeatedly: its traceback must not grow
        return self.status


@mutable
class _Waiter:
    moment: int
    future: asyncio.Future[_Entry]


class PodCache:
    """Statuses by pod UID. An unknown pod has an empty status, not None."""

    def __init__(self, *, only_newer: bool = False) -> None:
        self._only_newer = only_newer  # with the gate EventedPLEG there are two writers: older statuses are dropped
        self._entries: dict[str, _Entry] = {}
        self._timestamp: int | None = None  # every entry is at least this new; None until the first relist has finished
        self._waiters: dict[str, list[_Waiter]] = {}

    def is_awaited(self) -> bool:
        """Whether a worker waits for a newer status."""
        return bool(self._waiters)

    def get(self, uid: str) -> RuntimePodStatus:
        """The current status; raises the error of the last inspection if it failed."""
        return self._entry(uid).answer()

    def known(self, uid: str) -> RuntimePodStatus | None:
        """The current status; None if the last inspection failed."""
        entry = self._entry(uid)
        return entry.status if entry.error is None else None

    async def get_newer_than(self, uid: str, moment: int | None) -> RuntimePodStatus:
        """The first status newer than a time (None: any that a relist has confirmed)."""
        wanted = _ZERO_TIME if moment is None else moment
        entry = self._newer_than(uid, wanted)
        if entry is None:
            entry = await self._wait(uid, wanted)
        return entry.answer()

    def set(self, uid: str, status: RuntimePodStatus, error: KubesimError | None, timestamp: int) -> bool:
        """Store a status; false if the cache is newer."""
        if self._only_newer and (entry := self._entries.get(uid)) is not None and entry.modified > timestamp:
            return False
        self._entries[uid] = _Entry(status, error, timestamp, timestamp)
        self._notify(uid, timestamp)
        return True

    def set_observed_time(self, uid: str, timestamp: int) -> None:
        """The pod was inspected and unchanged."""
        entry = self._entries.get(uid)
        if entry is not None:
            entry.observed = timestamp
        self._notify(uid, timestamp)

    def update_time(self, timestamp: int) -> None:
        """A relist that started at that time has listed every pod."""
        self._timestamp = timestamp
        for uid in list(self._waiters):
            self._notify(uid, timestamp)

    def delete(self, uid: str) -> None:
        self._entries.pop(uid, None)

    def statistics(self) -> dict[str, int]:
        return {"entries": len(self._entries), "waiters": sum(len(waiters) for waiters in self._waiters.values())}

    def _entry(self, uid: str) -> _Entry:
        return self._entries.get(uid) or _Entry(RuntimePodStatus(uid), None, _ZERO_TIME, _ZERO_TIME)

    def _newer_than(self, uid: str, moment: int) -> _Entry | None:
        if self._timestamp is not None and self._timestamp > moment:
            return self._entry(uid)
        entry = self._entries.get(uid)
        if entry is not None and (entry.modified > moment or entry.observed > moment):
            return entry
        return None

    async def _wait(self, uid: str, moment: int) -> _Entry:
        waiter = _Waiter(moment, Awaited(f"a newer status of pod {uid}"))
        self._waiters.setdefault(uid, []).append(waiter)
        try:
            return await waiter.future
        finally:
            if not waiter.future.done() or waiter.future.cancelled():
                self._keep(uid, [other for other in self._waiters.get(uid, ()) if other is not waiter])

    def _notify(self, uid: str, timestamp: int) -> None:
        """Serve waiters for this time or an earlier one. As upstream, a waiter accepts a status exactly as old as
        requested, while a new caller must get a newer one.
        """
        waiters = self._waiters.get(uid)
        if not waiters:
            return
        rest = []
        for waiter in waiters:
            if timestamp < waiter.moment:
                rest.append(waiter)
            else:
                wake(waiter.future, self._entry(uid))
        self._keep(uid, rest)

    def _keep(self, uid: str, waiters: list[_Waiter]) -> None:
        if waiters:
            self._waiters[uid] = waiters
        else:
            self._waiters.pop(uid, None)
