"""A probe worker: one task that probes one container, period after period, until it is stopped or has nothing to probe.

The decisions are in worker_rules.py; here is the loop around them. At rest a worker is one timer.

Mirrors: pkg/kubelet/prober/worker.go run, stop, doProbe
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kubesim.api.pod import PodStatus
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, Randomness
from kubesim.concurrency import Channel, Select, Ticker
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.probes.results import ResultsManager, Update
from kubesim.kubelet.probes.worker_rules import Turn, WorkerState, WorkerSubject, Write, after_probe, before_probe
from kubesim.runtime.types import ProbeResult
from kubesim.trace import Recorder
from kubesim.trace.records import ProbeOutcome

DEFAULT_PERIOD = 10  # seconds; the API's default, for a pod that came without its defaults


class RunsProbes(Protocol):
    """The prober, as a worker sees it."""

    async def probe(self, subject: WorkerSubject, status: PodStatus, container_id: str) -> ProbeResult | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEnvironment:
    """What all workers of a kubelet share."""

    clock: LoopClock
    recorder: Recorder
    prober: RunsProbes
    pod_status: Callable[[str], PodStatus | None]  # the status manager's, by uid
    randomness: Randomness
    kubelet_start: int
    jitter: bool = True  # False: no random wait of the first probe after a kubelet's start
    node: str = ""
    gates: FeatureGates = DEFAULT_GATES


class Worker:
    """`stop` and `trigger` never wait; a probe under way is always finished first."""

    def __init__(
        self,
        subject: WorkerSubject,
        results: ResultsManager,
        environment: WorkerEnvironment,
        removed: Callable[[Worker], None],
    ) -> None:
        self.subject = subject
        self.state = WorkerState()
        self.results: Counter[ProbeResult] = Counter()  # how often it answered what
        self._results = results
        self._environment = environment
        self._removed = removed
        self._uid = subject.pod.metadata.uid
        self._rests_with: PodStatus | None = None  # while this is the pod's status, every turn is as the last one
        self._last_turn = Turn(self.state, "wait")
        self._stop: Channel[None] = Channel("stop of a probe worker", 1)
        self._manual: Channel[int | None] = Channel("manual trigger of a probe worker", 1)  # the cause, for the trace

    def stop(self) -> None:
        """Safe to call more than once; the worker cleans up after itself."""
        self._stop.try_send(None)

    def trigger(self) -> bool:
        """Probe now, if the worker rests; False if it has been told so already."""
        return self._manual.try_send(Recorder.cause())

    async def run(self) -> None:
        environment, subject = self._environment, self.subject
        clock = environment.clock
        stream = environment.randomness.stream(
            "probe", subject.pod.metadata.uid, subject.container.name, subject.probe_type
        )
        period = (subject.spec.period_seconds or DEFAULT_PERIOD) * SECOND
        # A kubelet that just started would run all its probes at once. Nothing can stop a worker during this sleep.
        if environment.jitter and period > clock.now() - environment.kubelet_start:
            await clock.sleep(int(stream.random() * period))
        ticker = Ticker(clock, "tick of a probe worker", period, phase=clock.now(), every=True)
        turns = Select((self._stop, ticker.channel, self._manual), stream)
        try:
            while await self.do_probe():
                selected = await turns.next()
                if selected.channel is self._stop:
                    break
                if selected.channel is self._manual:
                    ticker.reset()  # the period counts from here
                    environment.recorder.because(selected.item)
                else:
                    environment.recorder.because(None)
        finally:
            ticker.stop()
            if self.state.container_id:
                self._results.remove(self.state.container_id)
            self._removed(self)

    async def do_probe(self) -> bool:
        """One turn; False = the worker's work is over."""
        environment, subject = self._environment, self.subject
        status = environment.pod_status(self._uid)
        turn = self._last_turn if status is not None and status is self._rests_with else self._begin_turn(status)
        for write in turn.writes:
            await self._write(write)
        if turn.next != "probe":
            return turn.next != "end"
        assert status is not None
        result = await environment.prober.probe(subject, status, self.state.container_id)
        if result is not None:
            self.results[result] += 1
            counted = after_probe(subject, self.state, result)
            self.state = counted.state
            for write in counted.writes:
                await self._write(write)
        return True

    def _begin_turn(self, status: PodStatus | None) -> Turn:
        environment, before = self._environment, self.state
        turn = before_probe(
            self.subject, before, status, environment.clock.now(), environment.kubelet_start, environment.gates
        )
        self.state, self._last_turn = turn.state, turn
        # An initial delay ends by itself; all else that makes a worker wait ends with another status.
        rests = turn.next == "wait" and turn.state is before and not self.subject.spec.initial_delay_seconds
        self._rests_with = status if rests else None
        return turn

    async def _write(self, write: Write) -> None:
        if write.result is None:
            self._results.remove(write.container_id)
        elif self._results.store(write.container_id, write.result):
            await self._results.announce(Update(write.container_id, write.result, self._uid, self._record(write)))

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
