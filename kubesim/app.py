"""The composition root: creates a cluster from a scenario, runs it, and returns the result.

`Simulation` creates components in the order of the flow: sources, mux, kubelet, runtime, and the actors of the
scenario. All tasks belong to one TaskSet, which ends them in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from kubesim.api.pod import Pod
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.clock.choices import Choices, RecordedDraw
from kubesim.clock.clock import VIRTUAL_START
from kubesim.clock.interrupts import interrupts_postponed
from kubesim.clock.loop.virtual import VirtualLoop
from kubesim.clock.randomness import random_uids
from kubesim.clock.wall import chance_seed, wall_now
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.nodes.node_monitor import NodeMonitor
from kubesim.cluster.store.store import Store
from kubesim.concurrency import TaskSet
from kubesim.features import FeatureGates
from kubesim.kubelet.agent import Kubelet
from kubesim.kubelet.server import Serving
from kubesim.runtime.containerd.cni_settings import NetworkPicture
from kubesim.runtime.simulated.log_files import ContainerOutput
from kubesim.runtime.simulated.network import SimulatedNetwork
from kubesim.runtime.simulated.settings import Latencies
from kubesim.scenario.ending.failure import Failure
from kubesim.scenario.ending.outcome import FinalStates
from kubesim.scenario.ending.result import RunInterrupted, RunResult
from kubesim.scenario.invariants.table import INVARIANTS
from kubesim.scenario.invariants.watch import InvariantWatch
from kubesim.scenario.language.document import Scenario, Spec
from kubesim.scenario.language.variation.choice_items import TIES
from kubesim.scenario.play.control_plane import start_control_plane
from kubesim.scenario.play.effect_notes import EffectNotes
from kubesim.scenario.play.expectations import Judge
from kubesim.scenario.play.node.live_node import LiveNode
from kubesim.scenario.play.node.node_context import NodeContext
from kubesim.scenario.play.node.simulated_node import SimulatedNode
from kubesim.scenario.play.node.static_sources import url_plan
from kubesim.scenario.play.player import Player
from kubesim.scenario.play.settings import cni_settings, dependencies, node_plans
from kubesim.scenario.play.world import SimulatedWorld
from kubesim.scenario.runtimes.paced import LEAD, RealParts, checked_plugin, pace_of, start_of, started
from kubesim.sources.manifests.simulated_url import SimulatedUrl
from kubesim.trace import HashSink, Recorder, Sink
from kubesim.values import replace, value_object

if TYPE_CHECKING:
    from kubesim.attach.agent.live_node import AttachedNode
    from kubesim.kubelet.metrics.sink import MetricsSink
    from kubesim.runtime.containerd.cni_nodes import CniNodes
    from kubesim.runtime.containerd.leaks.leftovers import Leak
    from kubesim.scenario.faults.interceptor import Interceptor
    from kubesim.scenario.language.step_items import Step

DEFAULT_LATENCIES = Latencies()
ALL_SIMULATED = RealParts()


@value_object
class Trial:
    """A run with other gates than the scenario's, or with `added` steps. It ends at `cut` (microseconds; None: at the
    scenario's end). Unlike `until`, `cut` and `added` steps change nothing before their time.

    The trace has details of the operations that `observed` names; globs are allowed.
    """

    gates: FeatureGates
    cut: int | None = None
    added: tuple[Step, ...] = ()
    observed: tuple[str, ...] = ()
    draws: list[RecordedDraw] | None = None  # receives all draws of random streams


def run_scenario(
    scenario: Scenario,
    *,
    seed: int | None = None,
    until: int | None = None,
    speed: float = 0.0,
    sinks: Sequence[Sink] = (),
    serve: Serving | None = None,
    host_state: str = "",
    on_progress: Callable[[int], None] | None = None,
    trial: Trial | None = None,
    metrics: bool = False,
) -> RunResult:
    """Run a scenario in virtual time and return its result. Raises RunInterrupted.

    `seed` overrides the scenario's seed; `until` (microseconds) ends the run early; `speed` paces it against the wall
    clock (virtual seconds per real second, 0 = as fast as possible). With `serve` the kubelets serve HTTP while the run
    lasts. `host_state` makes the host itself the node of runtime `cni`, with that directory for state that outlives a
    crash. `on_progress` is called periodically with the virtual time since the start. `trial` runs a part of the
    scenario with other gates or more steps. With `metrics` the result includes the kubelets' metrics.
    """
    spec, measured = scenario.spec, metrics or serve is not None
    chosen = spec.seed if seed is None else seed
    speed = speed or (1.0 if spec.sources.apiserver is not None else 0.0)  # a live source follows the wall clock
    stopped: list[RunResult] = []

    async def main(real: RealParts) -> RunResult:
        async with started(real.plugin), TaskSet() as tasks:
            raise_failures_of_callbacks(tasks)
            live, start = _live_node(spec), start_of(real.plugin)
            simulation = Simulation(
                scenario, chosen, tasks, sinks, real=real, live=live, start=start, trial=trial, measured=measured
            )
            simulation.report_progress(on_progress)
            if serve is not None:
                await serve.start(tasks, simulation.kubelets, simulation.clock.now, simulation.measured)
            try:
                result: RunResult = await tasks.run_until(simulation.run(until, pace_of(real.plugin, speed)))
            finally:
                if simulation.result_so_far is not None:
                    stopped.append(simulation.result_so_far)
            if serve is not None:
                stopped.append(result)  # a later interrupt stops only the server
                await serve.end()
            return result

    def play(real: RealParts) -> RunResult:
        try:
            return run_virtual(main, real)
        except KeyboardInterrupt:
            if not stopped:
                raise
            return stopped[0]

    result = with_real_parts(spec, host_state, speed, play)
    if result.interrupted:
        raise RunInterrupted(result)
    return result


def with_real_parts(spec: Spec, host_state: str, speed: float, play: Callable[[RealParts], RunResult]) -> RunResult:
    """Run with real nodes or a runtime plugin if the runtime needs them; they are created and removed together."""
    left: list[Leak | str] = []
    with interrupts_postponed():
        nodes = cni_nodes(spec, host_state) if spec.runtime == "cni" else None
        plugin = checked_plugin(spec, speed)
        try:
            result = play(RealParts(nodes, plugin))
        finally:
            if nodes is not None:
                left += nodes.close()
            if plugin is not None:
                left += plugin.close()
    return replace(result, left_behind=tuple(left)) if left else result


def cni_nodes(spec: Spec, host_state: str) -> CniNodes:
    from kubesim.runtime.containerd.cni_nodes import CniNodes  # only a run with real networks pays for it

    return CniNodes(cni_settings(spec, host_state), node_plans(spec))


def _live_node(spec: Spec) -> AttachedNode | None:
    """The live node that is a source of the scenario, over a read-only connection."""
    named = spec.sources.apiserver
    if named is None:
        return None
    from kubesim.attach.agent.live_node import AttachedNode  # imported only for a live source
    from kubesim.cluster.remote.connect import connect

    transport = connect(LoopClock(), named.kubeconfig, named.context)
    return AttachedNode(transport, named.node, learn=named.learn, references=named.references)


def raise_failures_of_callbacks(tasks: TaskSet) -> None:
    """asyncio only logs errors of timer callbacks; this handler ends the run, like an error in a task."""

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is None:
            loop.default_exception_handler(context)
        else:
            tasks.fail(error)

    asyncio.get_running_loop().set_exception_handler(handle)


class Simulation:
    """A cluster that runs one scenario. Its clock starts at `start` (None: the loop's time); `measured`: metrics."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        tasks: TaskSet,
        sinks: Sequence[Sink] = (),
        *,
        latencies: Latencies = DEFAULT_LATENCIES,
        real: RealParts = ALL_SIMULATED,
        live: LiveNode | None = None,
        start: int | None = VIRTUAL_START - LEAD,
        trial: Trial | None = None,
        measured: bool = False,
    ) -> None:
        self.scenario = scenario
        self.seed = seed
        self.tasks = tasks
        self._trial = trial or Trial(scenario.gates)
        self.gates = self._trial.gates
        self.clock = LoopClock(start)
        self._plugin = plugin = real.plugin
        if plugin is not None and plugin.real_time and self.clock.virtual is not None:
            self.clock.virtual.skips_idle_ticks = False  # changes in real containers are detected only by polling
        self._story_start = self.clock.now() + LEAD
        self.choices = self._make_choices()
        self.randomness = Randomness(seed, self.choices)
        self.recorder = Recorder(self.clock)
        self.measured = self._metrics_sink() if measured else None
        self._sinks = sinks if self.measured is None else (*sinks, self.measured)
        self._networks: list[NetworkPicture] = []
        self.result_so_far: RunResult | None = None  # set if a run is cancelled
        self.store = self.make_store()
        self.network = SimulatedNetwork(self.clock)
        plan = url_plan(scenario.spec)
        self.url = None if plan is None or plan.real else SimulatedUrl(self.clock, plan.url)
        controllers = ControllerContext(self.clock, self.store, self.recorder, self.randomness, self.gates)
        self.health = NodeMonitor(controllers)
        self.output = ContainerOutput(self.recorder, {})
        self.effects = EffectNotes(self.recorder)
        self.interceptor = self.make_interceptor()
        self.dependencies = dependencies(scenario.spec, self._is_ready)
        self.invariants = self._make_watch(live)
        context = self._node_context(latencies, real, live)
        start_control_plane(controllers, scenario.spec, live)
        self.nodes = self._make_nodes(context)
        self.world = self._make_world()

    def _make_choices(self) -> Choices | None:
        """The draws that the scenario decides; None if the seed decides all of them."""
        given, log = self.scenario.spec.choices, self._trial.draws
        if not given and log is None:
            return None
        choices = Choices({(item.draw, item.nth): item.take for item in given}, log)
        if self.clock.virtual is not None:
            self.clock.virtual.ties = lambda count: choices.index(TIES, 0, count)
        return choices

    def make_store(self) -> Store:
        """An empty in-memory API server."""
        return Store(self.clock.now, random_uids(self._uids()))

    def _uids(self) -> Randomness:
        """A real runtime may have sandboxes of another run with this seed: then no uid is the same again."""
        return self.randomness if self._plugin is None else Randomness(chance_seed())

    def _node_context(self, latencies: Latencies, real: RealParts, live: LiveNode | None) -> NodeContext:
        """The objects that all nodes share."""
        return NodeContext(
            self.clock,
            self.randomness,
            self.recorder,
            self.tasks,
            self.store,
            self.network,
            {},
            latencies,
            self.url,
            self.scenario.spec,
            self.gates,
            traced=bool(self._sinks or self.invariants.sinks)
            or any(expect.needs_trace for expect in self.scenario.spec.expect),
            health=self.health,
            output=self.output,
            real=real.nodes,
            plugin=real.plugin,
            live=live,
            interceptor=self.interceptor,
            dependencies=self.dependencies,
            received=self.effects.received,
            probed=self.invariants.probed,
        )

    def _make_world(self) -> SimulatedWorld:
        world = SimulatedWorld(
            self.clock,
            self.store,
            self.recorder,
            list(self.nodes),
            self.scenario.spec.scheduler,
            self.nodes,
            self.interceptor,
            self.dependencies,
            self.url,
        )
        if self.interceptor is not None:
            self.interceptor.crash = world.crash
        return world

    def make_interceptor(self) -> Interceptor | None:
        """The interceptor of a scenario with faults, or with steps before or after an operation."""
        spec = self.scenario.spec
        trial = self._trial
        awaited = (*spec.awaited_operations, *(name for step in trial.added for name in step.operations))
        awaited += trial.observed
        interceptor = self.interceptor_of(awaited) if spec.faults or awaited else None
        if interceptor is not None:
            interceptor.observes = bool(trial.observed)
        return interceptor

    def interceptor_of(self, awaited: tuple[str, ...]) -> Interceptor:
        """An interceptor. `awaited` are operations that may get a step or fault later."""
        from kubesim.scenario.faults.interceptor import Interceptor
        from kubesim.scenario.faults.make import fault_states

        faults = fault_states(self.scenario.spec.faults)
        stream = self.randomness.stream("faults")
        return Interceptor(self.clock, self.recorder, self.tasks, stream, faults, awaited)

    def _make_watch(self, live: LiveNode | None) -> InvariantWatch:
        """The invariant checks of this run; None for a live cluster."""
        given = self.scenario.spec.invariants
        on = [each for each in INVARIANTS if live is None and given.are_checked(each.name)]
        return InvariantWatch(self.clock, self.store, self.recorder, on, set(given.violated))

    def _make_nodes(self, context: NodeContext) -> dict[str, SimulatedNode]:
        items = enumerate(self.scenario.spec.nodes)
        nodes = {item.name: SimulatedNode(context, number, item) for number, item in items}
        for node in nodes.values():
            self.invariants.watch_node(node)
        return nodes

    def kubelets(self) -> dict[str, Kubelet | None]:
        """The kubelet of each node; None while it is stopped."""
        return {name: node.kubelet if node.kubelet_runs else None for name, node in self.nodes.items()}

    def _metrics_sink(self) -> MetricsSink:
        from kubesim.kubelet.metrics.sink import MetricsSink  # imported only for metrics

        return MetricsSink(self._find_pod, self.clock)

    def _is_ready(self, name: str) -> bool:
        pod = self._find_pod(name)
        return pod is not None and any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions)

    def _find_pod(self, name: str) -> Pod | None:
        found = self.store.find("Pod", *name.split("/", 1))
        return found if isinstance(found, Pod) else None

    def _metrics(self) -> str:
        """The metrics; with several nodes, each sample has the node's name."""
        if self.measured is None:
            return ""
        from kubesim.kubelet.metrics.exposition import by_instance, render_metrics
        from kubesim.kubelet.observability import metrics_of

        running = [(node, kubelet) for node, kubelet in self.kubelets().items() if kubelet is not None]
        of_nodes = [(node, metrics_of(kubelet, self.measured)) for node, kubelet in running]
        return render_metrics(by_instance(of_nodes) if len(self.nodes) > 1 else (m for _, own in of_nodes for m in own))

    async def come_up(self, speed: float = 0.0) -> None:
        """Start the nodes and let them run until the scenario starts."""
        for node in self.nodes.values():
            node.start()
        await self.clock.sleep_until(self._story_start)
        if self._plugin is not None and self._plugin.real_time:
            await self.clock.sleep_until(max(self.clock.now(), wall_now()))  # the start took real time, too
        self._begin(speed)

    async def run(self, until: int | None = None, speed: float = 0.0) -> RunResult:
        """Start the nodes, then run the scenario."""
        await self.come_up(speed)
        return await self.play(until)

    async def play(self, until: int | None = None) -> RunResult:
        """Run the scenario's steps on started nodes."""
        final_states = FinalStates(self.clock, self.store, self.nodes)
        judge = Judge(self.clock, self.recorder, self.store, self.scenario.spec.expect, self._story())
        try:
            spec = self.scenario.spec
            cut, added = self._trial.cut, self._trial.added
            await Player(
                self.clock, self.tasks, self.world, judge, spec, until, self._inspect, cut, self.interceptor, added
            ).play()
        except asyncio.CancelledError:
            self.result_so_far = replace(self._result(final_states, judge, self._metrics()), interrupted=True)
            raise
        judge.close()
        self._check_choices(judge, until)
        self.invariants.close()
        metrics = self._metrics()
        await self.close()
        return self._result(final_states, judge, metrics)

    def _check_choices(self, judge: Judge, until: int | None) -> None:
        """Fail the run for a choice about a draw that it did not make, because of a wrong name or number."""
        if self.choices is None or until is not None or self._trial.cut is not None:
            return
        for item in self.scenario.spec.choices:
            made = self.choices.counts[item.draw]
            if made < item.nth:
                why = f"the run drew {made} times from {item.draw}, and nth is {item.nth}"
                judge.step_failed(f"choice of {item.draw}", why, item.location)

    def report_progress(self, on_progress: Callable[[int], None] | None) -> None:
        loop = asyncio.get_running_loop()
        if on_progress is not None and isinstance(loop, VirtualLoop):
            loop.on_progress = lambda: on_progress(self.clock.elapsed())

    def begin_attached(self, speed: float = 0.0) -> None:
        """Start the nodes and record immediately: a run next to a live cluster has no steps."""
        self._begin(speed)
        for node in self.nodes.values():
            node.start()

    async def close(self) -> None:
        for node in self.nodes.values():
            await node.close()

    def _inspect(self) -> None:
        self._networks = [picture for node in self.nodes.values() if (picture := node.network_picture())]

    def _begin(self, speed: float) -> None:
        """Start the scenario's clock and the recording."""
        self.clock.begin(speed)
        for sink in (*self._sinks, *self.invariants.sinks):
            self.recorder.add(sink)
            getattr(sink, "follow_store", lambda store: None)(self.store)
        for node in self.nodes.values():
            if node.live is None and self._plugin is None:
                node.runtime.trace_start_up()  # records the runtime's start, which was earlier
        has_port = any(node.live is not None and node.live.endpoint(node.name) for node in self.nodes.values())
        self.effects.begin(self.scenario.spec, has_port=has_port)
        if self.interceptor is not None:
            self.interceptor.active = True
        for node in self.nodes.values():
            node.begin_story()

    def explained(self, failure: Failure) -> Failure:
        """The failure with the pod's last records and log lines."""
        return replace(failure, log=self._tail(failure.pod))

    def _story(self) -> Callable[[str], tuple[str, ...]]:
        """The last records of a pod; empty without a recording."""
        if not self._sinks:
            return lambda pod: ()
        from kubesim.trace.sinks.tail import TailSink

        tail = TailSink()
        self.recorder.add(tail)
        return tail.lines

    def _tail(self, pattern: str) -> tuple[str, ...]:
        """The last log lines of a pod's containers, or of those that match a glob."""
        pods = [pod for pod in self.output.tails if pod == pattern or fnmatchcase(pod, pattern)]
        return tuple(
            f"[pod/{pod.removeprefix('default/')}/{name}] {text}"
            for pod in pods
            for name, text in self.output.tails[pod]
        )

    def _result(self, final_states: FinalStates, judge: Judge, metrics: str) -> RunResult:
        failures = sorted((*judge.failures, *self.invariants.failures), key=lambda failure: failure.at or 0)
        hashes = [sink.hexdigest() for sink in self._sinks if isinstance(sink, HashSink)]
        return RunResult(
            scenario=self.scenario.name,
            seed=self.seed,
            duration=self.clock.elapsed(),
            records=self.recorder.count,
            trace_hash=hashes[0] if hashes else None,
            phases=final_states.phases(),
            outcomes=final_states.pods(),
            workloads=final_states.workloads(),
            expectations_met=tuple(judge.met),
            failures=tuple(map(self.explained, failures)),
            expectations_open=judge.undecided(),
            events=final_states.events,
            without_effect=tuple(self.effects.lines),
            networks=tuple(self._networks),
            metrics=metrics,
        )
