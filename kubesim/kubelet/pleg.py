"""The pod lifecycle event generator: looks at the runtime every second and tells what changed.

It fills the pod-status cache that workers read and sends events to the sync loop. The first relist comes at once, each
further one `period` after the one before has ended; between them single pods are relisted on demand.

A relist that can find nothing is skipped, not executed, and yet everything comes out as if it had been: its instant,
its timestamp in the cache and the drift it causes are computed. A relist is due when the runtime changed, when a worker
waits for a newer status, when a pod must be inspected again or when the last listing failed. A relist takes
`list_duration` and reads the runtime at the end of it, after everything else of that instant; so a change belongs to
the relist that is under way, also if nobody had begun it.

Mirrors: pkg/kubelet/pleg/generic.go GenericPLEG
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection
from typing import Protocol

from kubesim.api.gotext import duration
from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.clock import Awaited, LoopClock, wake
from kubesim.concurrency import Channel
from kubesim.errors import RuntimeCallError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.frozen import frozen, replace
from kubesim.kubelet.pleg_records import PodLifecycleEvent, PodRecords, compute_events, keep_pod_ips
from kubesim.runtime.pod_cache import PodCache
from kubesim.runtime.types import RuntimePod, RuntimePodStatus
from kubesim.trace import Recorder
from kubesim.trace.records import PlegEvent

RELIST_PERIOD = 1 * SECOND
RELIST_THRESHOLD = 3 * MINUTE
EVENT_CAPACITY = 1000
REQUEST_CAPACITY = 200


class PodLister(Protocol):
    """What the PLEG asks of the runtime. Each call answers what the runtime holds at that instant; a listing of a pod
    that did not change is best the same object as last time."""

    async def get_pods(self) -> list[RuntimePod]: ...
    async def get_pod(self, uid: str) -> RuntimePod | None: ...
    async def get_pod_status(self, pod: RuntimePod) -> RuntimePodStatus: ...


@frozen
class _RelistRequest:
    uid: str
    moment: int
    cause: int | None


class GenericPleg:
    """`events` is what the sync loop reads; `pod_changed` is given to the runtime's `on_change`."""

    def __init__(
        self,
        clock: LoopClock,
        runtime: PodLister,
        cache: PodCache,
        recorder: Recorder,
        *,
        on_change: Callable[[Callable[[str], None]], None] | None = None,
        period: int = RELIST_PERIOD,
        threshold: int = RELIST_THRESHOLD,
        list_duration: int = 0,
        every: bool = False,
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self.events: Channel[PodLifecycleEvent] = Channel("pleg", EVENT_CAPACITY)
        self._clock = clock
        self._runtime = runtime
        self._cache = cache
        self._recorder = recorder
        self._period = period
        self._threshold = threshold
        self._list_duration = list_duration
        self._every = every or on_change is None  # a runtime that tells no changes must be looked at every time
        self._on_demand = gates.enabled("PLEGOnDemandRelist")
        self._records = PodRecords()
        self._reinspect: dict[str, int | None] = {}  # pods to inspect whatever their listing says, and who asked
        self._requests: deque[_RelistRequest] = deque()
        self._changed: dict[str, int | None] = {}  # pods that changed since the last listing, and what caused that
        self._listing_failed = True  # until the first one succeeds
        self._relist_time: int | None = None
        self._next: int | None = None  # when the next relist begins; None until `run`
        self._busy = False
        self._alarm: asyncio.Future[None] | None = None  # what `run` sleeps on
        self._timer: asyncio.TimerHandle | None = None  # what will ring it
        self._place = clock.late_place()
        cache.listen(self._catch_up, self._wake)
        if on_change is not None:
            on_change(self.pod_changed)

    # -- what others tell ---------------------------------------------------------------------------------------

    def pod_changed(self, uid: str) -> None:
        """Something of this pod changed in the runtime; an empty uid: something that may change any listing."""
        self._catch_up()
        self._changed[uid] = self._recorder.cause()
        self._wake()

    def request_reinspect(self, uid: str) -> None:
        """Inspect this pod at the next relist, also if its listing shows no change."""
        self._catch_up()
        self._reinspect[uid] = self._recorder.cause()
        self._wake()

    def request_relist(self, uid: str) -> None:
        """Look at this pod now instead of at the next relist. More than a few hundred such wishes are forgotten."""
        if self._on_demand and len(self._requests) < REQUEST_CAPACITY:
            self._requests.append(_RelistRequest(uid, self._clock.now(), self._recorder.cause()))
            if self._alarm is not None and not self._is_under_way():
                wake(self._alarm, None)  # a request is a message to the PLEG; all else that wakes it is bookkeeping

    def _is_under_way(self) -> bool:
        """A relist that is due begins on time, also if `run` sleeps until its end."""
        return self._timer is not None and self._next is not None and self._clock.now() >= self._next

    def healthy(self, now: int) -> tuple[bool, str]:
        """Whether the last good listing is recent enough, and if not, why in the kubelet's words."""
        relisted = self._relist_time
        if relisted is None or now - relisted > self._threshold:
            self._catch_up()
            problem = self._problem(now)
            return not problem, problem
        return True, ""

    def _problem(self, now: int) -> str:
        if self._relist_time is None:
            return "pleg has yet to be successful"
        elapsed = now - self._relist_time
        if elapsed <= self._threshold:
            return ""
        return f"pleg was last seen active {duration(elapsed)} ago; threshold is {duration(self._threshold)}"

    def fails(self) -> bool:
        """Whether the last listing was tried and has not succeeded (yet), or the next one may not: the runtime itself
        changed since."""
        return (self._listing_failed or "" in self._changed) and self._relist_time is not None

    def unhealthy_from(self) -> int | None:
        """The first moment at which it is not healthy if no listing succeeds until then."""
        return None if self._relist_time is None else self._relist_time + self._threshold + 1

    # -- when to relist -----------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Relist for ever. A global relist that is due goes before one of a single pod."""
        self._recorder.because(None)
        self._next = self._clock.now()
        while True:
            self._catch_up()
            now = self._clock.now()
            due = self._due()
            if now >= self._next and (due or self._requests):
                await self._relist_from(max(self._next, now - self._list_duration))
                self._next = self._clock.now() + self._period
            elif self._requests:
                request = self._requests.popleft()
                if self._relist_time is None or request.moment > self._relist_time:  # else it has seen the pod
                    await self.relist_pod(request.uid, request.cause)
                # A relist that fell due meanwhile begins only now.
                self._next = max(self._next, self._clock.now())
            else:
                await self._sleep(due)

    def _due(self) -> bool:
        """Could the next relist have any effect?"""
        return (
            self._every
            or self._listing_failed
            or bool(self._changed)
            or self._cache.waiting()
            or (bool(self._reinspect) and any(uid in self._records for uid in self._reinspect))
        )

    def _catch_up(self) -> None:
        """Account for the relists that were skipped: all that ended before this instant.

        One that ends at this very instant is still under way: it will see what happens now.
        """
        if self._busy or self._next is None:
            return
        late = self._clock.now() - (self._next + self._list_duration)
        if late <= 0 or self._due():
            return
        cycle = self._period + self._list_duration
        skipped = -(-late // cycle)
        self._next += skipped * cycle
        self._relist_time = self._next - cycle
        self._cache.update_time(self._relist_time)

    async def _sleep(self, due: bool) -> None:
        """Until a relist has to be done or a request comes."""
        self._alarm = Awaited("a change in the runtime")
        if due:
            self._set_timer()
        try:
            await self._alarm
        finally:
            self._alarm = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _set_timer(self) -> None:
        """Nothing that happens while the runtime makes its list changes the course, so `run` sleeps until its end."""
        assert self._next is not None
        self._timer = self._clock.call_late(self._next + self._list_duration, self._ring, self._place)

    def _ring(self) -> None:
        self._timer = None
        if self._alarm is not None and not self._alarm.done():
            self._alarm.set_result(None)

    def _wake(self) -> None:
        """Something happened that may make the next relist due."""
        if self._alarm is not None and self._timer is None and self._due():
            self._set_timer()

    # -- relisting ----------------------------------------------------------------------------------------------

    async def relist(self) -> None:
        """List all pods, cache what changed, send the events."""
        await self._relist_from(self._clock.now())

    async def _relist_from(self, started: int) -> None:
        self._busy = True
        try:
            read_at = await self._list_delay(started)
            changed, self._changed = self._changed, {}
            everything = self._every or self._listing_failed or "" in changed
            self._listing_failed = True
            try:
                listed = await self._list(None if everything else changed)
            except RuntimeCallError:
                self._changed = changed | self._changed
                return
            self._listing_failed = False
            self._relist_time = started
            for uid in self._records.to_reconcile(self._reinspect, listed):
                await self._reconcile(uid, read_at, changed.get(uid))
            self._cache.update_time(started)
        finally:
            self._busy = False

    async def _list(self, changed: Collection[str] | None) -> Collection[str] | None:
        """Take the listing of these pods into the records; None stands for all.

        A runtime that tells its changes is only asked about those pods; a change of nobody (uid "") is one of
        the runtime itself.
        """
        if changed is None:
            self._records.set_current(await self._runtime.get_pods())
            return None
        found = []
        for uid in changed:
            found.append((uid, await self._runtime.get_pod(uid)))
        if len(found) > 1:
            found.sort(key=lambda item: -item[1].created_at if item[1] is not None else 0)
        for uid, pod in found:
            self._records.set_current_pod(uid, pod)  # newest first, as in a full listing
        return changed

    async def relist_pod(self, uid: str, cause: int | None = None) -> None:
        """Look at one pod only. If it cannot be found nothing is said: the next relist will see that it has gone."""
        self._busy = True
        try:
            read_at = await self._list_delay(self._clock.now())
            try:
                pod = await self._runtime.get_pod(uid)
            except RuntimeCallError:
                return
            if pod is None:
                return
            self._records.set_current_pod(uid, pod)
            await self._reconcile(uid, read_at, self._changed.get(uid, cause))
            self._cache.set_observed_time(uid, read_at)
        finally:
            self._busy = False

    async def _list_delay(self, started: int) -> int:
        """Wait while the runtime makes its list, then for all else that happens in that instant.

        Answers the timestamp of what is read then.
        """
        read_at = started + self._list_duration
        if read_at > self._clock.now():
            await self._clock.sleep_until(read_at)
        await self._clock.sleep_late(read_at, self._place)
        return read_at

    async def _reconcile(self, uid: str, read_at: int, cause: int | None) -> None:
        """Compare a pod's two listings; if something happened inspect it, and send the events if that succeeds."""
        old, current = self._records.old(uid), self._records.current(uid)
        events = compute_events(old, current)
        reinspect = uid in self._reinspect
        asked = self._reinspect.pop(uid, None)
        cause = asked if cause is None else cause
        if not events and not reinspect:
            return
        if not await self._update_cache(uid, current, read_at):
            self._reinspect[uid] = cause
            return
        if not events:
            events.append(PodLifecycleEvent(uid, "PodSync"))
        self._records.update(uid)
        for event in events:
            if event.type != "ContainerChanged":  # computed, but nobody acts on it
                self._send(event, current or old, cause)

    async def _update_cache(self, uid: str, pod: RuntimePod | None, read_at: int) -> bool:
        if pod is None:
            self._cache.delete(uid)
            return True
        try:
            status = await self._runtime.get_pod_status(pod)
        except RuntimeCallError as error:
            self._cache.set(uid, RuntimePodStatus(uid, pod.name, pod.namespace), error, read_at)
            return False
        ips = keep_pod_ips(status, self._cache.known(uid))
        self._cache.set(uid, status if ips == status.ips else replace(status, ips=ips), None, read_at)
        return True

    def _send(self, event: PodLifecycleEvent, pod: RuntimePod | None, cause: int | None) -> None:
        if self._recorder.on:
            full = len(self.events) >= EVENT_CAPACITY
            seq = self._recorder.record(
                PlegEvent(
                    uid=event.uid,
                    pod=f"{pod.namespace}/{pod.name}" if pod is not None else "",
                    container=event.container,
                    type=event.type,
                    id=event.data,
                    cause=cause,
                    why=event.why + ("; dropped: the sync loop has not read the last 1000 events" if full else ""),
                )
            )
            event = replace(event, cause=seq)
        self.events.try_send(event)
