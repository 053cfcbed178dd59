"""A probe worker: a task that probes one container periodically until it is stopped or has nothing left to probe.

worker_rules.py decides; this module runs the loop.

Mirrors: pkg/kubelet/prober/worker.go run, stop, doProbe
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from kubesim.api.pod import PodStatus
from kubesim.api.timestamps import SECOND
from kubesim.clock import NEVER, LoopClock, Randomness
from kubesim.concurrency import Channel, Select, Ticker
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.probes.results import ResultsManager, Update
from kubesim.kubelet.probes.worker_rules import ProbeWorkerState, Turn, WorkerSubject, Write, after_probe, before_probe
from kubesim.runtime.types import ProbeResult
from kubesim.trace import Recorder
from kubesim.trace.records import ProbeOutcome
from kubesim.values import value_object

DEFAULT_PERIOD = 10  # seconds; the API's default, for pods without defaulted fields

_FRESH = ProbeWorkerState()
_NOTHING_YET = Turn(_FRESH, "wait")


class RunsProbes(Protocol):
    """The prober's interface for workers."""

    async def probe(self, subject: WorkerSubject, status: PodStatus, container_id: str) -> ProbeResult | None: ...


@value_object
class WorkerEnvironment:
    """Shared dependencies of all workers of a kubelet."""

    clock: LoopClock
    recorder: Recorder
    prober: RunsProbes
    pod_status: Callable[[str], PodStatus | None]  # the status manager's status, by UID
    randomness: Randomness
    kubelet_start: int
    jitter: bool = True  # False: no random delay of the first probe after the kubelet starts
    node: str = ""
    gates: FeatureGates = DEFAULT_GATES


class ProbeWorker:
    """A worker. `stop` and `trigger` never block; a probe in progress always finishes first."""

    def __init__(
        self,
        subject: WorkerSubject,
        results: ResultsManager,
        environment: WorkerEnvironment,
        removed: Callable[[ProbeWorker], None],
    ) -> None:
        self.subject = subject
        self.state = _FRESH
        self.results: dict[ProbeResult, int] = {}  # number of probes by result
        self._results = results
        self._environment = environment
        self._removed = removed
        self._uid = subject.pod.metadata.uid
        self._status: PodStatus | None = None  # the pod's status at the start of this turn
        self._settled_with: PodStatus | None = None  # while the pod has this status, every turn repeats the last one
        self._last_turn = _NOTHING_YET
        self._stop: Channel[None] = Channel("stop of a probe worker", 1)
        self._manual: Channel[int | None] = Channel("manual trigger of a probe worker", 1)  # the cause, for the trace

    def stop(self) -> None:
        """Stop the worker; can be called more than once. The worker cleans up after itself."""
        self._stop.try_send(None)

    def trigger(self) -> bool:
        """Probe now, if the worker is waiting; False if a probe is already requested."""
        return self._manual.try_send(Recorder.cause())

    async def run(self) -> None:
        environment, subject = self._environment, self.subject
        clock = environment.clock
        stream = environment.randomness.stream(
            "probe", subject.pod.metadata.uid, subject.container.name, subject.probe_type
        )
        period = (subject.spec.period_seconds or DEFAULT_PERIOD) * SECOND
        # A kubelet that just started would run all its probes at once. A worker cannot be stopped during this sleep.
        is_new = period > clock.wall() - environment.kubelet_start
        if environment.jitter and (is_new or not environment.gates.rules.probes_started_containers):
            await clock.sleep(int(stream.random() * period))
        ticker = None
        try:
            turn = self._next_turn()
            if turn.next == "end":  # most workers for exited containers end here, before their first tick
                await self._carry_out(turn)
                return
            ticker = Ticker(clock, "tick of a probe worker", period)
            turns = Select((self._stop, ticker.channel, self._manual), stream)
            while (turn.next == "wait" and not turn.writes) or await self._carry_out(turn):
                selected = await turns.next()
                if selected.channel is self._stop:
                    break
                if selected.channel is self._manual:
                    ticker.reset()  # the period restarts here
                    environment.recorder.because(selected.item)
                else:
                    environment.recorder.because(None)
                turn = self._next_turn()
                ticker.done(self._idle_until(turn, ticker))
        finally:
            if ticker is not None:
                ticker.stop()
            if self.state.container_id:
                self._results.remove(self.state.container_id)
            self._removed(self)

    def _idle_until(self, turn: Turn, ticker: Ticker) -> int:
        """A probe with an unchanged result affects nothing else: only the worker's next tick matters."""
        if turn.writes or turn.next == "end":
            return 0
        waits_for_status = turn.next == "wait" and not self.subject.spec.initial_delay_seconds
        return NEVER if waits_for_status else ticker.due

    async def do_probe(self) -> bool:
        """Run one turn; false if it was the last."""
        return await self._carry_out(self._next_turn())

    async def _carry_out(self, turn: Turn) -> bool:
        """Execute a turn; false if the worker is finished."""
        for write in turn.writes:
            if self._is_news(write):
                await self._announce(write)
        if turn.next != "probe":
            return turn.next != "end"
        status = self._status
        assert status is not None
        result = await self._environment.prober.probe(self.subject, status, self.state.container_id)
        if result is not None:
            self.results[result] = self.results.get(result, 0) + 1
            counted = after_probe(self.subject, self.state, result, self._results.by_id.get(self.state.container_id))
            self.state = counted.state
            if counted.state.on_hold:
                self._settled_with = None
            for write in counted.writes:
                if self._is_news(write):
                    await self._announce(write)
        return True

    def _next_turn(self) -> Turn:
        status = self._status = self._environment.pod_status(self._uid)
        if status is not None and status is self._settled_with:
            return self._last_turn
        environment, before = self._environment, self.state
        turn = before_probe(
            self.subject, before, status, environment.clock.wall(), environment.kubelet_start, environment.gates
        )
        self.state = turn.state
        self._last_turn = Turn(turn.state, turn.next) if turn.writes else turn  # the written results are known
        # Keep probing unless the worker must wait. An initial delay ends by itself; any other wait ends with a status
        # change.
        settled = turn.next == "probe" or (turn.next == "wait" and not self.subject.spec.initial_delay_seconds)
        self._settled_with = status if settled and turn.state is before else None
        return turn

    def _is_news(self, write: Write) -> bool:
        """Store or remove the result; true if the change must be announced."""
        is_news = write.result is not None and self._results.store(write.container_id, write.result)
        if write.result is None:
            self._results.remove(write.container_id)
        if is_news or write.result is None:
            self._environment.clock.something_happened()
        return is_news

    def _announce(self, write: Write) -> Coroutine[Any, Any, None]:
        assert write.result is not None
        return self._results.announce(Update(write.container_id, write.result, self._uid, self._record(write)))

    def _record(self, write: Write) -> int | None:
        recorder = self._environment.recorder
        if not recorder.on:
            return None
        meta = self.subject.pod.metadata
        return recorder.record(
            ProbeOutcome(
                node=self._environment.node,
                pod=f"{meta.namespace}/{meta.name}",
                uid=meta.uid,
                container=self.subject.container.name,
                probe=self.subject.probe_type,
                result=write.result or "",
                why=write.why,
            )
        )
