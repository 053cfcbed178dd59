"""The evented PLEG (gate EventedPLEG): receives container events from the runtime, next to a generic PLEG that relists
rarely.

Every event contains its pod's status, which is cached unless the cache is newer. The stream breaks when the runtime
stops and is reopened immediately. After five failures the kubelet relists every second until it restarts.

Mirrors: pkg/kubelet/pleg/evented.go EventedPLEG
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.clock import NEVER, LoopClock
from kubesim.concurrency import Channel, Ticker
from kubesim.errors import RuntimeCallError
from kubesim.kubelet.pleg.container_events import meaning_of
from kubesim.kubelet.pleg.generic import EVENT_CAPACITY, GenericPleg
from kubesim.kubelet.pleg.records import PodLifecycleEvent, keep_pod_ips
from kubesim.runtime.pod_cache import PodCache
from kubesim.runtime.protocol import ContainerEventResponse
from kubesim.runtime.types import RuntimePodStatus, container_id
from kubesim.trace import Recorder
from kubesim.trace.records import Note
from kubesim.values import replace

RELIST_PERIOD = 300 * SECOND  # of the generic PLEG that runs with this one
RELIST_THRESHOLD = 10 * MINUTE
MAX_STREAM_RETRIES = 5
GLOBAL_CACHE_UPDATE_PERIOD = 5 * SECOND

Subscribe = Callable[[Callable[[ContainerEventResponse], object]], Coroutine[Any, Any, None]]


class EventedPleg:
    """The evented PLEG. `fall_back` is the relist period and threshold of the generic PLEG on its own."""

    def __init__(
        self,
        clock: LoopClock,
        subscribe: Subscribe,
        generate_pod_status: Callable[[ContainerEventResponse], RuntimePodStatus],
        cache: PodCache,
        generic: GenericPleg,
        recorder: Recorder,
        fall_back: tuple[int, int],
    ) -> None:
        self.in_use = False
        self._clock = clock
        self._subscribe = subscribe
        self._generate_pod_status = generate_pod_status
        self._cache = cache
        self._generic = generic
        self._recorder = recorder
        self._fall_back = fall_back
        self._incoming: Channel[ContainerEventResponse] = Channel("container event", EVENT_CAPACITY)

    def healthy(self, now: int) -> tuple[bool, str]:
        """Whether the generic PLEG is healthy and the sync loop keeps up with events."""
        full = len(self._generic.events)
        if full == EVENT_CAPACITY:
            return False, f"EventedPLEG: pleg event channel capacity is full with {full} events"
        return self._generic.healthy(now)

    async def watch(self) -> None:
        """Receive events until the stream has broken too often."""
        self.in_use = True
        timestamps = self._update_global_cache()
        for _ in range(MAX_STREAM_RETRIES):
            try:
                await self._subscribe(self._incoming.try_send)
            except RuntimeCallError as error:
                self._note(f"Evented PLEG: Failed to get container events, retrying: {error}")
                self._generic.relist_now()
        self._note("Fall back to Generic PLEG relisting since Evented PLEG is not working")
        self.in_use = False
        timestamps.stop()
        self._generic.restart(*self._fall_back)

    def _note(self, text: str) -> None:
        if self._recorder.on:
            self._recorder.record(Note(text=text))

    def _update_global_cache(self) -> Ticker:
        """Update the cache's timestamp every 5 s, so that a lost event delays a worker by at most that long."""
        ticker = Ticker(self._clock, "global cache", GLOBAL_CACHE_UPDATE_PERIOD)

        def tick(moment: int) -> int:
            is_awaited = self._cache.is_awaited()
            self._cache.update_time(moment)
            return 0 if is_awaited else NEVER

        ticker.on_tick = tick
        ticker.on_skip = self._cache.update_time
        self._cache.update_time(self._clock.now())
        return ticker

    async def process(self) -> None:
        """Handle events as they arrive."""
        while True:
            event = await self._incoming.receive()
            if self.in_use:
                self._process(event)

    def _process(self, event: ContainerEventResponse) -> None:
        meaning, sandbox = meaning_of(event), event.sandbox
        if sandbox is None:
            return
        uid = sandbox.pod_uid
        if meaning.forget:
            self._cache.delete(uid)
        if meaning.store:
            status = self._generate_pod_status(event)
            status = replace(status, ips=keep_pod_ips(status, self._cache.known(uid)))
            if not self._cache.set(uid, status, None, event.created_at):
                return
        name = next((each.name for each in event.containers if each.id == event.container_id), "")
        for type in meaning.sends:
            sent = PodLifecycleEvent(uid, type, container_id(event.container_id), None, name)
            pod = f"{sandbox.pod_namespace}/{sandbox.pod_name}"
            self._generic.send(sent, pod, event.cause, f"the runtime sent {event.type}")
