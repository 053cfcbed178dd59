"""The sync loop: one select over all channels, with a handler per channel.

Go's select picks a random ready channel. This select draws from a seeded stream, and the trace records the ready
channels.

Mirrors: pkg/kubelet/kubelet.go syncLoop, syncLoopIteration
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import field
from typing import Any

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MINUTE
from kubesim.clock import NEVER
from kubesim.concurrency import Channel, Select, Ticker
from kubesim.kubelet.context import KubeletContext, PodViews
from kubesim.kubelet.loop.handlers import Handlers
from kubesim.kubelet.loop.housekeeping import Housekeeping
from kubesim.kubelet.loop.runtime_state import RuntimeState
from kubesim.kubelet.pleg.generic import GenericPleg
from kubesim.kubelet.pleg.records import PodLifecycleEvent
from kubesim.kubelet.probes.manager import ProbeManager
from kubesim.kubelet.probes.results import Update
from kubesim.kubelet.status.generate.active_deadline import active_deadline
from kubesim.podworkers.workers import PodWorkers
from kubesim.sources.config import CLOSED, ConfigStream
from kubesim.sources.mux import PodUpdate
from kubesim.trace.records import Handler, LoopSelect, Note
from kubesim.values import part

EXITING = "Update channel is closed, exiting the sync loop"
SNAPSHOT = "Kubelet does not support snapshot update"


@part
class SyncLoop:
    """Runs until the config channel is closed. `_dispatch` handles one item."""

    context: KubeletContext
    config: ConfigStream
    views: PodViews
    workers: PodWorkers
    probes: ProbeManager
    handlers: Handlers
    housekeeping: Housekeeping
    pleg: GenericPleg
    runtime_state: RuntimeState
    resource_updates: Channel[Sequence[str]] | None = None  # pods with a change of device health
    _sync_ticker: Ticker = field(init=False)
    _housekeeping_ticker: Ticker = field(init=False)
    _has_entered: bool = field(init=False, default=False)  # true once the loop has run
    _stands_since: int | None = field(init=False, default=None)  # None: the loop waits for the next item

    async def run(self) -> None:
        """Sync while the runtime is healthy. While it is not, check again after 100 ms, doubling to 5 s."""
        clock, settings = self.context.clock, self.context.settings
        self._sync_ticker = Ticker(clock, "sync", settings.sync_tick_period)
        self._sync_ticker.on_skip = self._sync_ticks_skipped
        self._housekeeping_ticker = Ticker(clock, "housekeeping", settings.housekeeping_period)
        channels: list[Channel[Any]] = [
            self.config.updates,
            self.pleg.events,
            self._sync_ticker.channel,
            self.probes.liveness.updates,
            self.probes.readiness.updates,
            self.probes.startup.updates,
            self._housekeeping_ticker.channel,
        ]
        if not self.context.gates.rules.readiness_through_loop:
            channels.remove(self.probes.readiness.updates)
        if self.resource_updates is not None:
            channels.append(self.resource_updates)
        try:
            await self._read(channels)
        finally:
            self._sync_ticker.stop()
            self._housekeeping_ticker.stop()
        self.context.recorder.record(Note(node=settings.node_name, text=EXITING))
        if self.context.gates.rules.repeats_run:
            # Each of the following loops ends immediately, before a tick, after reading only ready items.
            await self._read([self.pleg.events, self.probes.liveness.updates])

    async def _read(self, channels: list[Channel[Any]]) -> None:
        select = Select(channels, self.context.randomness.stream("syncloop", "select"))
        try:
            await self._iterate(select)
        finally:
            select.close()

    async def run_readiness(self) -> None:
        """Older kubelets write readiness into the status outside the loop, without a sync.

        Mirrors: pkg/kubelet/prober/prober_manager.go updateReadiness (v1.12)
        """
        updates, recorder = self.probes.readiness.updates, self.context.recorder
        while True:
            update = await updates.receive()
            recorder.because(update.cause)
            success = update.result == "success"
            self.views.statuses.set_container_readiness(update.pod_uid, update.container_id, success)

    async def _iterate(self, select: Select) -> None:
        clock, settings = self.context.clock, self.context.settings
        pause = shortest = settings.runtime_down_backoff
        if not self.context.gates.rules.doubles_loop_pause:
            pause = shortest = settings.runtime_down_backoff_max
        why_not = self.runtime_state.runtime_problem
        while True:
            problem = why_not(clock.now())
            if problem:
                if self._stands_since is None and self._has_entered:
                    self._stands_since = clock.now()
                self.context.recorder.record(
                    Note(node=self.context.settings.node_name, text=f"skipping pod synchronization: {problem}")
                )
                await clock.sleep(pause)
                pause = min(2 * pause, settings.runtime_down_backoff_max)
                continue
            pause = shortest
            self._stands_since, self._has_entered = None, True
            chosen = await select.next()
            if chosen.item is CLOSED:
                self._stands_since = clock.now()
                return
            work = self._dispatch(chosen.channel, chosen.item, chosen.ready)
            if work is not None:
                self._stands_since = clock.now()
                await work
                self._stands_since = None

    def health_problem(self, now: int) -> str:
        """The /healthz problem: the loop, which ticks every second, has not run for five minutes.

        Mirrors: pkg/kubelet/kubelet.go SyncLoopHealthCheck (syncLoopMonitor)
        """
        longest = max(2 * self.context.settings.resync_interval, 5 * MINUTE)
        is_late = self._stands_since is not None and now > self._stands_since + longest
        return "sync Loop took longer than expected" if is_late else ""

    def _dispatch(self, channel: Channel[Any], item: Any, ready: tuple[str, ...]) -> Coroutine[Any, Any, None] | None:
        """Handle one item; returns an awaitable for the blocking part."""
        if channel is self.config.updates:
            update, cause = item
            if self.context.recorder.on:
                self._selected(channel, ready, cause, f"{update.op} from source {update.source}")
            return self._config_update(update)
        if channel is self.pleg.events:
            self._pleg_event(item, ready)
        elif channel is self._sync_ticker.channel:
            self._sync_tick(channel, ready)
        elif channel is self._housekeeping_ticker.channel:
            return self._housekeeping_tick()
        elif channel is self.resource_updates:
            self._resource_update(channel, item, ready)
        else:
            self._probe_update(channel, item, ready)
        return None

    def _selected(self, channel: Channel[Any], ready: tuple[str, ...], cause: int | None, why: str) -> None:
        """Record the selected channel, if there is a trace; without one the text is not built."""
        self.context.recorder.because(cause)
        seq = self.context.recorder.record(
            LoopSelect(node=self.context.settings.node_name, channel=channel.name, ready=ready, why=why)
        )
        self.context.recorder.because(seq)

    def _handler(self, name: str, pods: Iterable[Pod]) -> None:
        if self.context.recorder.on:
            names = tuple(f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods)
            self.context.recorder.because(
                self.context.recorder.record(Handler(node=self.context.settings.node_name, name=name, pods=names))
            )

    def _sync_now(self, uid: str) -> None:
        """Handle an event of this pod, if the kubelet has the pod."""
        pod = self.views.manager.by_uid(uid)
        if pod is not None:
            self._handler("HandlePodSyncs", (pod,))
            self.handlers.handle_pod_syncs((pod,))

    # -- one method per channel ---------------------------------------------------------------------------------

    async def _config_update(self, update: PodUpdate) -> None:
        """DELETE is an update: the pod terminates gracefully first. RESTORE does not mark its source as received."""
        if update.op in ("ADD", "RESTORE"):
            self._handler("HandlePodAdditions", update.pods)
            await self.handlers.handle_pod_additions(update.pods)
        elif update.op in ("UPDATE", "DELETE"):
            self._handler("HandlePodUpdates", update.pods)
            await self.handlers.handle_pod_updates(update.pods)
        elif update.op == "REMOVE":
            self._handler("HandlePodRemoves", update.pods)
            await self.handlers.handle_pod_removes(update.pods)
        elif update.op == "RECONCILE":
            self._handler("HandlePodReconcile", update.pods)
            await self.handlers.handle_pod_reconcile(update.pods)
        elif update.op == "SET":
            self.context.recorder.record(Note(node=self.context.settings.node_name, text=SNAPSHOT))
        if update.op != "RESTORE":
            self.views.sources.add(update.source)

    def _pleg_event(self, event: PodLifecycleEvent, ready: tuple[str, ...]) -> None:
        if self.context.recorder.on:
            self._selected(self.pleg.events, ready, event.cause, f"{event.type} of {event.container or 'the sandbox'}")
        if event.type != "ContainerRemoved":
            self._sync_now(event.uid)
        else:
            self.views.resyncs.touch(event.uid)
        if event.type == "ContainerDied":
            self.handlers.clean_up_containers_in_pod(event.uid, event.data)

    def _sync_tick(self, channel: Channel[Any], ready: tuple[str, ...]) -> None:
        """Sync pods that are due, and pods past their active deadline."""
        now = self.context.clock.now()
        self.workers.count_resyncs(now, lambda due: max(due + 1, now))
        due = dict.fromkeys(self.views.resyncs.queue.get_work())
        deadlines = self._deadlines()
        due.update(dict.fromkeys(uid for uid, deadline in deadlines.items() if deadline <= now))
        pods = [pod for uid in due if (pod := self.views.manager.by_uid(uid)) is not None]
        if pods:
            if self.context.recorder.on:
                self._selected(channel, ready, None, "the resync of these pods is due")
            self._handler("HandlePodSyncs", pods)
            self.handlers.handle_pod_syncs(pods)
        if pods or self.runtime_state.is_failing():
            self._sync_ticker.done()
        else:
            earliest = self.views.resyncs.queue.earliest()  # work is due strictly after its time
            self._sync_ticker.done(min(NEVER if earliest is None else earliest + 1, *deadlines.values(), NEVER))

    def _sync_ticks_skipped(self, last: int) -> None:
        period = self._sync_ticker.period
        self.workers.count_resyncs(last, lambda due: last - (last - due - 1) // period * period)

    def _deadlines(self) -> dict[str, int]:
        """When the active deadline of each running pod passes, by UID."""
        found = {}
        for uid, pod in self.views.manager.with_deadline.items():
            if not self.views.states.is_pod_known_terminated(uid):
                deadline = active_deadline(pod, self.views.statuses.get_pod_status(uid) or pod.status)
                if deadline is not None:
                    found[uid] = deadline
        return found

    def _probe_update(self, channel: Channel[Any], update: Update, ready: tuple[str, ...]) -> None:
        success = update.result == "success"
        if channel is self.probes.liveness.updates and update.result != "failure":
            return
        if self.context.recorder.on:
            self._selected(channel, ready, update.cause, f"the {channel.name} result is now {update.result}")
        if channel is self.probes.readiness.updates:
            self.views.statuses.set_container_readiness(update.pod_uid, update.container_id, success)
        elif channel is self.probes.startup.updates:
            self.views.statuses.set_container_startup(update.pod_uid, update.container_id, success)
        self._sync_now(update.pod_uid)

    def _resource_update(self, channel: Channel[Any], uids: Sequence[str], ready: tuple[str, ...]) -> None:
        if self.context.recorder.on:
            self._selected(channel, ready, None, "the health of devices of these pods changed")
        for uid in uids:
            self._sync_now(uid)

    async def _housekeeping_tick(self) -> None:
        """Clean up, unless a source has not been received yet: its pods look unwanted until then."""
        idle_until = NEVER
        if self.views.sources.all_ready:
            if self.context.recorder.on:
                self.context.recorder.because(None)
            idle_until = await self.housekeeping.handle_pod_cleanups()
        self._housekeeping_ticker.done(idle_until)
