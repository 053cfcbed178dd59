"""The pod lifecycle event generator: relists the runtime every second and sends events for changes.

It fills the pod-status cache that workers read and sends events to the sync loop. The first relist runs immediately,
later ones `period` after the previous one has finished. Single pods are relisted on demand.

A relist takes `list_duration`. It reads the runtime at its end, after all other events of that instant.

Mirrors: pkg/kubelet/pleg/generic.go GenericPLEG
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.clock import NEVER, LoopClock
from kubesim.concurrency import Channel, Select, Ticker
from kubesim.errors import RuntimeCallError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.golang.text import duration
from kubesim.kubelet.metrics.exposition import Histogram
from kubesim.kubelet.pleg.records import PodLifecycleEvent, PodRecords, compute_events, keep_pod_ips
from kubesim.runtime.pod_cache import PodCache
from kubesim.runtime.types import RuntimePod, RuntimePodStatus
from kubesim.trace import Recorder
from kubesim.trace.records import PlegEvent
from kubesim.values import replace, value_object

RELIST_PERIOD = 1 * SECOND
RELIST_THRESHOLD = 3 * MINUTE
EVENT_CAPACITY = 1000
REQUEST_CAPACITY = 200


class PodLister(Protocol):
    """The runtime calls of the PLEG. Each returns the current state of the runtime."""

    async def get_pods(self) -> dict[str, RuntimePod]: ...
    async def get_pod(self, uid: str) -> RuntimePod | None: ...
    async def get_pod_status(self, pod: RuntimePod) -> RuntimePodStatus: ...


_CacheOutcome = Literal["updated", "failed", "ignored"]  # ignored: the cache is newer


@value_object
class _RelistRequest:
    uid: str
    moment: int
    cause: int | None


class GenericPleg:
    """The generic PLEG. The sync loop reads `events`."""

    def __init__(
        self,
        clock: LoopClock,
        runtime: PodLister,
        cache: PodCache,
        recorder: Recorder,
        *,
        period: int = RELIST_PERIOD,
        threshold: int = RELIST_THRESHOLD,
        list_duration: int = 0,
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self.events: Channel[PodLifecycleEvent] = Channel("pleg", EVENT_CAPACITY)
        self.on_dropped: Callable[[str], None] = lambda uid: None  # the change takes effect at the next resync
        self._clock = clock
        self._runtime = runtime
        self._cache = cache
        self._recorder = recorder
        self._period = period
        self._threshold = threshold
        self._list_duration = list_duration
        self._on_demand = gates.enabled("PLEGOnDemandRelist")
        self._keeps_addresses = gates.rules.keeps_addresses
        self._records = PodRecords()
        self._reinspect: dict[str, int | None] = {}  # pods to inspect even if their listing is unchanged, and the cause
        self._causes: dict[str, int | None] = {}  # causes of changes since the last listing, for the trace
        self._requests: Channel[_RelistRequest] = Channel("relist request", REQUEST_CAPACITY)
        self._relists: Channel[None] = Channel("relist", 1)  # requests to relist all pods early
        self._relist_time: int | None = None
        self.relist_intervals, self.relist_durations, self.pod_relist_durations = Histogram(), Histogram(), Histogram()
        self.discarded = 0  # number of dropped events
        self._rank = clock.late_rank()

    # -- requests -----------------------------------------------------------------------------------------------

    def pod_changed(self, uid: str) -> None:
        """Store the cause of a runtime change for the trace."""
        self._causes[uid] = self._recorder.cause()

    def request_reinspect(self, uid: str) -> None:
        """Inspect this pod at the next relist, even if its listing is unchanged."""
        self._reinspect[uid] = self._recorder.cause()

    def request_relist(self, uid: str) -> None:
        """Relist this pod now instead of at the next relist. Requests beyond the channel's capacity are dropped."""
        if self._on_demand:
            self._requests.try_send(_RelistRequest(uid, self._clock.now(), self._recorder.cause()))

    def relist_now(self) -> None:
        """Relist all pods before the period has passed."""
        self._relists.try_send(None)

    def restart(self, period: int, threshold: int) -> None:
        """Change period and threshold, and relist immediately."""
        self._period, self._threshold = period, threshold
        self.relist_now()

    def healthy(self, now: int) -> tuple[bool, str]:
        """Whether the last successful relist is recent enough; otherwise the kubelet's message."""
        if self._relist_time is None:
            return False, "pleg has yet to be successful"
        elapsed = now - self._relist_time
        if elapsed <= self._threshold:
            return True, ""
        return False, f"pleg was last seen active {duration(elapsed)} ago; threshold is {duration(self._threshold)}"

    # -- relist schedule ----------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Relist forever. A due relist of all pods precedes one of a single pod."""
        self._recorder.because(None)
        ticker = Ticker(self._clock, "relist", self._period + self._list_duration, lead=self._list_duration)
        ticker.on_skip = self._relisted
        turns = Select((ticker.channel, self._requests, self._relists), None)
        try:
            await self.relist()
            ticker.reset(self._clock.now() + self._period)
            while True:
                turn = await turns.next()
                if turn.channel is ticker.channel:
                    found_nothing = await self.relist()
                    ticker.reset(self._clock.now() + self._period)
                    ticker.done(NEVER if found_nothing else 0)
                elif turn.channel is self._relists:
                    await self.relist()
                    ticker.period = self._period + self._list_duration
                    ticker.reset(self._clock.now() + self._period)
                # else the full relist has covered the pod
                elif self._relist_time is None or turn.item.moment > self._relist_time:
                    await self.relist_pod(turn.item.uid, turn.item.cause)
        finally:
            turns.close()
            ticker.stop()

    def _relisted(self, moment: int) -> None:
        """Mark every pod as relisted at that time, including skipped relists before it."""
        if self._relist_time is not None:
            interval = self._period + self._list_duration
            skipped = (moment - self._relist_time) // interval
            self.relist_intervals.observe(interval, skipped)
            self.relist_durations.observe(self._list_duration, skipped)
        self._relist_time = moment
        self._cache.update_time(moment)

    # -- relisting ----------------------------------------------------------------------------------------------

    async def relist(self) -> bool:
        """List all pods, cache changes, send events. True if the next relist would find the same."""
        started = self._clock.now()
        if self._relist_time is not None:
            self.relist_intervals.observe(started - self._relist_time)
        found_nothing = await self._relist(started)
        self.relist_durations.observe(self._clock.now() - started)
        return found_nothing

    async def _relist(self, started: int) -> bool:
        read_at = await self._list_delay(started)
        causes, self._causes = self._causes, {}
        try:
            pods = await self._runtime.get_pods()
        except RuntimeCallError:
            self._causes = causes | self._causes
            return False
        self._relist_time = started
        self._records.set_current(pods)
        changed = self._records.to_reconcile(self._reinspect.keys())
        for uid in changed:
            await self._reconcile(uid, read_at, causes.get(uid))
        is_awaited = self._cache.is_awaited()
        self._cache.update_time(started)
        return not changed and not is_awaited

    async def relist_pod(self, uid: str, cause: int | None = None) -> None:
        """Relist one pod. If it is gone, no event is sent: the next relist finds that."""
        started = self._clock.now()
        await self._relist_pod(uid, started, cause)
        self.pod_relist_durations.observe(self._clock.now() - started)

    async def _relist_pod(self, uid: str, started: int, cause: int | None) -> None:
        read_at = await self._list_delay(started)
        try:
            pod = await self._runtime.get_pod(uid)
        except RuntimeCallError:
            return
        if pod is None:
            return
        self._records.set_current_pod(pod)
        await self._reconcile(uid, read_at, self._causes.get(uid, cause))
        self._cache.set_observed_time(uid, read_at)

    async def _list_delay(self, started: int) -> int:
        """Wait for the runtime's list duration, then for all other events of that instant.

        Returns the timestamp of the listing.
        """
        read_at = started + self._list_duration
        if self._list_duration:
            await self._clock.sleep_late(read_at, self._rank)
        await self._clock.sleep_late(read_at, self._rank)
        return read_at

    async def _reconcile(self, uid: str, read_at: int, cause: int | None) -> None:
        """Compare the pod's two listings; if they differ, inspect it, and send the events if that succeeds."""
        old, current = self._records.old(uid), self._records.current(uid)
        events = compute_events(old, current)
        reinspect = uid in self._reinspect
        asked = self._reinspect.pop(uid, None)
        cause = asked if cause is None else cause
        if not events and not reinspect:
            self._records.update(uid)
            return
        outcome = await self._update_cache(uid, current, read_at)
        if outcome == "failed":
            self._reinspect[uid] = cause
        if outcome != "updated":
            return
        if not events:
            events.append(PodLifecycleEvent(uid, "PodSync"))
        self._records.update(uid)
        pod = current or old
        name = f"{pod.namespace}/{pod.name}" if pod is not None else ""
        for event in events:
            if event.type != "ContainerChanged":  # the kubelet computes but never sends ContainerChanged
                self.send(event, name, cause, event.why if self._recorder.on else "")

    async def update_cache(self, pod: RuntimePod) -> None:
        """Inspect a pod now, without an event."""
        await self._update_cache(pod.uid, pod, self._clock.now())

    async def _update_cache(self, uid: str, pod: RuntimePod | None, read_at: int) -> _CacheOutcome:
        if pod is None:
            self._cache.delete(uid)
            return "updated"
        try:
            status = await self._runtime.get_pod_status(pod)
        except RuntimeCallError as error:
            self._cache.set(uid, RuntimePodStatus(uid, pod.name, pod.namespace), error, read_at)
            return "failed"
        ips = keep_pod_ips(status, self._cache.known(uid)) if self._keeps_addresses else status.ips
        is_new = self._cache.set(uid, status if ips == status.ips else replace(status, ips=ips), None, read_at)
        return "updated" if is_new else "ignored"

    def send(self, event: PodLifecycleEvent, pod: str, cause: int | None, why: str) -> None:
        """Send an event to the sync loop; drop it if the channel is full."""
        if self._recorder.on:
            full = len(self.events) >= EVENT_CAPACITY
            seq = self._recorder.record(
                PlegEvent(
                    uid=event.uid,
                    pod=pod,
                    container=event.container,
                    type=event.type,
                    id=event.data,
                    cause=cause,
                    why=why + ("; dropped: the sync loop has not read the last 1000 events" if full else ""),
                )
            )
            event = replace(event, cause=seq)
        if not self.events.try_send(event):
            self.discarded += 1
            self.on_dropped(event.uid)
