"""The composition root: a scenario becomes a cluster with nodes, is played, and leaves a result.

`Simulation` reads top to bottom as the flow does: sources, mux, agent, runtime, and the world that acts on them. All
tasks belong to one TaskSet, which ends them in order.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kubesim.api.event import Event
from kubesim.api.node import Taint
from kubesim.api.pod import Pod
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.clock.clock import VIRTUAL_START
from kubesim.cluster.memory_client import ApiLatencies, MemoryClient
from kubesim.cluster.store import Store
from kubesim.cluster.watches import WatchEvent
from kubesim.concurrency import TaskSet
from kubesim.features import FeatureGates
from kubesim.kubelet.admission.node_admission import NodeAdmission
from kubesim.kubelet.agent import Kubelet
from kubesim.kubelet.events import KubeletEvents
from kubesim.kubelet.node_status import Heartbeat, initial_node
from kubesim.runtime.protocol import Runtime
from kubesim.runtime.simulated.network import SimulatedNetwork
from kubesim.runtime.simulated.programs import Programs
from kubesim.runtime.simulated.runtime import SimulatedRuntime
from kubesim.runtime.traced import TracedRuntime
from kubesim.scenario.expectations import Judge
from kubesim.scenario.language import NodeItem, Scenario
from kubesim.scenario.player import Player
from kubesim.scenario.settings import behaviours, kubelet_settings, runtime_settings
from kubesim.scenario.world import SimulatedWorld
from kubesim.sources.config import ConfigStream
from kubesim.sources.memory import SOURCE, ClusterSource
from kubesim.trace import HashSink, Recorder, Sink

LEAD = 60 * SECOND  # the nodes have been up for a minute when the story begins
API_LATENCIES = ApiLatencies(get=2 * MILLISECOND, patch=5 * MILLISECOND)
WATCH_LATENCY = 5 * MILLISECOND


@dataclass(frozen=True, slots=True)
class RunResult:
    """What is left to say when a run is over. Durations are microseconds."""

    scenario: str
    seed: int
    duration: int  # virtual time from the first object to the end
    records: int  # of the trace; 0 if nobody listened
    trace_hash: str | None  # if a HashSink was among the sinks
    phases: dict[str, str]  # namespace/name -> the last phase seen at the API server, also of pods that are gone
    expectations_met: tuple[str, ...]
    expectations_failed: tuple[str, ...]  # each with its reason
    events: int  # Events told to the API server, repeated ones counted

    @property
    def ok(self) -> bool:
        return not self.expectations_failed


def run_scenario(
    scenario: Scenario,
    *,
    seed: int | None = None,
    until: int | None = None,
    speed: float = 0.0,
    sinks: Sequence[Sink] = (),
    every_tick: bool = False,
) -> RunResult:
    """Play a scenario in virtual time and return when it is over.

    `seed` goes before the scenario's own; `until` (microseconds) ends the run early; a `speed` paces it against the
    wall clock (virtual seconds for each real one, 0 = as fast as possible); `every_tick` executes also the ticks that
    can change nothing, which gives the same trace.
    """
    chosen = scenario.spec.seed if seed is None else seed

    async def main() -> RunResult:
        async with TaskSet() as tasks:
            raise_failures_of_callbacks(tasks)
            simulation = Simulation(scenario, chosen, tasks, sinks, every_tick=every_tick)
            result: RunResult = await tasks.run_until(simulation.run(until, speed))
            return result

    return run_virtual(main)


def raise_failures_of_callbacks(tasks: TaskSet) -> None:
    """asyncio only logs what a timer's callback raises; here it ends the run, as an error in a task does."""

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is None:
            loop.default_exception_handler(context)
        else:
            tasks.fail(error)

    asyncio.get_running_loop().set_exception_handler(handle)


class SimulatedNode:
    """One node: its kubelet, and the simulated runtime below it."""

    def __init__(self, simulation: Simulation, number: int, item: NodeItem) -> None:
        clock, recorder, store, tasks = simulation.clock, simulation.recorder, simulation.store, simulation.tasks
        spec, gates, name = simulation.scenario.spec, simulation.gates, item.name
        randomness = Randomness(simulation.randomness.stream("node", name).getrandbits(62))
        phases = randomness.stream("phases")
        settings = kubelet_settings(name, number, spec.kubelet_configuration, phases, every_tick=simulation.every_tick)

        # The runtime, and the programs in its containers.
        runtime_options = runtime_settings(number, spec)
        programs = Programs(
            clock,
            randomness,
            recorder,
            simulation.network,
            store.find,
            node=name,
            host_ip=settings.host_ips[0],
            behaviours=behaviours(spec),
            exec_time=runtime_options.latencies.exec,
        )
        self.runtime = SimulatedRuntime(clock, randomness, programs, runtime_options)
        self.runtime.on_change(lambda uid: None if self.runtime.knows_pod(uid) else programs.forget(uid))
        runtime: Runtime = self.runtime
        if simulation.traced:
            runtime = traced = TracedRuntime(self.runtime, recorder, name)
            self.runtime.on_exit(lambda identifier, exit: traced.exited(identifier, exit.code, exit.reason))

        # The node at the API server.
        taints = tuple(Taint.from_json(taint) for taint in item.taints)
        node = initial_node(settings, clock.now(), labels=item.labels, taints=taints, capacity=item.capacity)
        store.create(node)
        self._heartbeat = Heartbeat(name, clock.now(), randomness.stream("lease"), jitter=settings.jitter)
        store.create(self._heartbeat.lease(clock.now()))
        self._store = store

        # The agent.
        client = MemoryClient(clock, store, API_LATENCIES)
        events = KubeletEvents(client, name, clock, recorder, randomness.stream("events"))
        config = ConfigStream(clock, recorder, (SOURCE,), name)
        self.source = ClusterSource(clock, store, config, name, WATCH_LATENCY)
        self.kubelet = Kubelet(
            clock,
            randomness,
            recorder,
            tasks,
            settings,
            runtime,
            simulation.network,
            client,
            config,
            events,
            list_duration=runtime_options.latencies.list,
            admission=NodeAdmission(node, gates),
            gates=gates,
        )
        tasks.start(f"events of {name}", events.run())

    def start(self) -> None:
        self.kubelet.start()
        self.source.start()

    def renew_lease(self) -> None:
        """Bring the lease at the API server up to date, for whoever looks at it."""
        self._store.replace(self._heartbeat.lease(self._store.now()))

    async def close(self) -> None:
        self.renew_lease()
        self.source.stop()
        await self.kubelet.close()


class Simulation:
    """A cluster that plays one scenario."""

    def __init__(
        self, scenario: Scenario, seed: int, tasks: TaskSet, sinks: Sequence[Sink] = (), *, every_tick: bool = False
    ) -> None:
        self.scenario = scenario
        self.seed = seed
        self.tasks = tasks
        self.every_tick = every_tick
        self.gates = FeatureGates(scenario.spec.feature_gates)
        self.clock = LoopClock(VIRTUAL_START - LEAD)
        self.randomness = Randomness(seed)
        self.recorder = Recorder(self.clock)
        self._sinks = sinks
        self.traced = bool(sinks)
        self.store = Store(self.clock.now, new_uids(self.randomness))
        self.network = SimulatedNetwork(self.clock)
        self.nodes = {item.name: SimulatedNode(self, number, item) for number, item in enumerate(scenario.spec.nodes)}
        self.world = SimulatedWorld(
            self.store, self.recorder, {name: node.runtime for name, node in self.nodes.items()}
        )

    async def run(self, until: int | None = None, speed: float = 0.0) -> RunResult:
        """Let the nodes come up, then play."""
        for node in self.nodes.values():
            node.start()
        await self.clock.sleep_until(VIRTUAL_START)
        self._begin(speed)
        witness = _Witness(self.store)
        judge = Judge(self.clock, self.recorder, self.store, self.scenario.spec.expect)
        await Player(self.clock, self.tasks, self.world, judge, self.scenario.spec, until).play()
        judge.close()
        for node in self.nodes.values():
            await node.close()
        return self._result(witness, judge)

    def _begin(self, speed: float) -> None:
        """From here on time counts, and is told."""
        self.clock.begin(speed)
        for sink in self._sinks:
            self.recorder.add(sink)

    def _result(self, witness: _Witness, judge: Judge) -> RunResult:
        hashes = [sink.hexdigest() for sink in self._sinks if isinstance(sink, HashSink)]
        return RunResult(
            scenario=self.scenario.name,
            seed=self.seed,
            duration=self.clock.elapsed(),
            records=self.recorder.count,
            trace_hash=hashes[0] if hashes else None,
            phases=witness.phases,
            expectations_met=tuple(verdict.text for verdict in judge.verdicts if verdict.met),
            expectations_failed=tuple(f"{v.text}: {v.why}" for v in judge.verdicts if not v.met),
            events=witness.events,
        )


class _Witness:
    """Remembers what the API server saw."""

    def __init__(self, store: Store) -> None:
        self.phases: dict[str, str] = {}
        self.events = 0
        store.watch("Pod", self._pod)
        store.watch("Event", self._event)

    def _pod(self, change: WatchEvent) -> None:
        if isinstance(change.object, Pod):
            metadata = change.object.metadata
            self.phases[f"{metadata.namespace}/{metadata.name}"] = change.object.status.phase

    def _event(self, change: WatchEvent) -> None:
        if isinstance(change.object, Event) and change.type != "DELETED":
            self.events += 1


def new_uids(randomness: Randomness) -> Callable[[], str]:
    """Random uids (version 4), the same for the same seed."""
    stream = randomness.stream("uid")
    return lambda: str(uuid.UUID(int=stream.getrandbits(128), version=4))
