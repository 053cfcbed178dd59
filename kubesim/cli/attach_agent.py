"""`kubesim attach --node NAME --agent`: runs kubesim's kubelet with the pods of a live node, and compares.

The trace is shown as `kubesim run` shows it. The kubelet's writes go to an overlay in memory.
"""

from __future__ import annotations

import argparse
import io
import sys
from typing import TYPE_CHECKING

from kubesim.cli.flags import log_flags, options, report_flags, runtime_flags
from kubesim.cli.output.terminal import say
from kubesim.errors import UsageError
from kubesim.golang.json import printable_json

if TYPE_CHECKING:
    from kubesim.app import Simulation
    from kubesim.attach.agent.comparison import Comparison
    from kubesim.clock import LoopClock
    from kubesim.runtime.containerd.cni_nodes import CniNodes
    from kubesim.scenario.language.document import Scenario
    from kubesim.trace import Record, Sink
    from kubesim.trace.sinks.console import Level

EXIT_DIFFERENT = 3
SETTLING_S = 30  # with --once: time limit for the agent to reach the node's state
PROGRESS = 500_000  # microseconds between two checks of its progress
_AGENT_FLAGS = {"verbose": "-v", "quiet": "-q", "report": "--report", "runtime": "--runtime"}


def configure(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "the agent", "kubesim runs the pods of the node in its own kubelet, next to the real one, and writes nothing."
    )
    group.add_argument(
        "--agent", action="store_true", help="run that kubelet, show its timeline, and compare it with the real one"
    )
    group.add_argument(
        "--learn",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="containers end and become ready as the real ones do (default), or run their command lines",
    )
    amount = group.add_mutually_exclusive_group()
    amount.add_argument(
        "-v", "--verbose", action="store_true", help="print every record, and the upstream function that it mirrors"
    )
    amount.add_argument(
        "-q", "--quiet", action="store_true", help="print only the Events and statuses that it would write"
    )
    report_flags.add(group)
    parser.add_argument("--view", help=argparse.SUPPRESS)  # of 0.1.0


def check(args: argparse.Namespace) -> None:
    """Reject flags of the agent without --agent."""
    if args.view is not None:
        raise UsageError("--view was removed: use --agent instead of --view twin; --view shadow is the default")
    for name, flag in _AGENT_FLAGS.items():
        if getattr(args, name) and not args.agent:
            raise UsageError(f"{flag} needs --agent")
    if args.agent and (args.record or args.configz):
        flag = "--record" if args.record else "--configz"
        raise UsageError(f"{flag} cannot be combined with --agent; run a second attach for it")
    if args.step and not args.agent and args.replay is None:
        raise UsageError("--step needs --agent or --replay; --tui shows what is observed while the node is watched")
    if (step := options.stepping_flag(args)) and args.output:
        raise UsageError(f"{step} cannot be combined with --output")
    if step and args.report:
        raise UsageError(f"{step} cannot be combined with --report, which has the steps")
    if args.report is not None:
        report_flags.check_file(args.report)
    if args.tui and args.once and not args.agent:
        raise UsageError("--tui cannot be combined with --once, which checks once; remove one of them")
    if args.tui:
        from kubesim.cli.tui.opening import require_terminal

        require_terminal()


def execute(args: argparse.Namespace, output: str) -> int:
    import anyio

    from kubesim.attach.agent.comparison import Comparison

    real = _private_node(args)
    try:
        with log_flags.opened(args) as log:
            shown, comparison = _Shown(args, output), Comparison()
            try:
                anyio.run(_run, args, shown, comparison, log, real)
            except KeyboardInterrupt:
                shown.end(comparison)
                raise
            shown.end(comparison)
            return EXIT_DIFFERENT if comparison.certain else 0
    finally:
        if real is not None:
            real.close()


def _scenario(args: argparse.Namespace) -> Scenario:
    from kubesim.attach.agent.node_scenario import node_scenario

    return node_scenario(args.node, None, args.config).with_runtime(*runtime_flags.chosen(args))


def _private_node(args: argparse.Namespace) -> CniNodes | None:
    """A node for pods with real networks; created before any thread."""
    spec = _scenario(args).spec
    if spec.runtime != "cni":
        return None
    from kubesim.runtime.containerd.cni_nodes import CniNodes
    from kubesim.scenario.play.settings import cni_settings, node_plans

    return CniNodes(cni_settings(spec), node_plans(spec))


class _Shown:
    """The timeline during the run, and the verdict at the end."""

    def __init__(self, args: argparse.Namespace, output: str) -> None:
        from kubesim.cli.output.effects import EffectSink
        from kubesim.cli.output.report import console
        from kubesim.cli.progress.run_progress import RunProgress
        from kubesim.trace import MemorySink

        self._output = output
        level: Level = "verbose" if args.verbose else "quiet" if args.quiet else "story"
        self.progress = RunProgress(sys.stderr, quiet=args.quiet or args.once or args.tui)
        self.progress.begin(args.duration)
        self._out = self.progress.above(sys.stdout)
        self._console = console(self._out, level, attached=True)
        self._memory = MemorySink() if options.stepping_flag(args) else None
        self._held = io.StringIO()  # while the view uses the screen
        self._effects = EffectSink(self._held if args.tui else self.progress.above(sys.stderr))
        self._silent = args.once or options.stepping_flag(args)
        self._node = args.node
        self.reported: report_flags.ReportingRun | None = None
        self._is_live = args.tui and not args.once

    def sinks(self) -> tuple[Sink, ...]:
        return (self, self._effects, self.progress, *((self._memory,) if self._memory is not None else ()))

    def record(self, record: Record) -> None:
        if self._silent:
            return
        if self._output == "jsonl":
            self._out.write(_line(record) + "\n")
        else:
            self._console.record(record)
        self._out.flush()

    async def report_progress(self, clock: LoopClock) -> None:
        while True:
            self.progress.advance(clock.elapsed())
            await clock.sleep(PROGRESS)

    async def watch(self, clock: LoopClock, duration: int | None) -> None:
        """Observe until the time is over or Ctrl-C; with a view, until the user closes it."""
        import asyncio

        from kubesim.api.timestamps import MILLISECOND, SECOND

        if not self._is_live or self._memory is None:
            await (clock.sleep(duration) if duration else asyncio.Event().wait())
            return
        from kubesim.cli.tui.live import watch_live

        while not self._memory.records:
            await clock.sleep(MILLISECOND)
        await watch_live(self._memory.records, f"the agent of {self._node}", duration and duration / SECOND)

    def end(self, comparison: Comparison) -> None:
        self.progress.clear()
        if self.reported is not None:
            self.reported.finish_attached(comparison.lines())
        sys.stderr.write(self._held.getvalue())
        if self._memory is not None and not self._is_live:
            from kubesim.cli.tui.opening import step_through

            step_through(self._memory.records, f"the agent of {self._node}")
        if self._output == "json":
            print(printable_json({"node": self._node, **comparison.to_json()}, indent=2))
        elif self._output == "jsonl":
            for row in comparison.rows():
                print(printable_json({"kind": "verdict", **row.to_json()}))
        else:
            self._console.close()
            say("", *comparison.lines())


def _line(record: Record) -> str:
    from kubesim.trace.sinks.console import would_write
    from kubesim.trace.sinks.jsonl import record_line

    line = record_line(record)
    return line[:-1] + ', "wouldWrite": true}' if would_write(record) else line


async def _run(
    args: argparse.Namespace, shown: _Shown, comparison: Comparison, log: log_flags.LogFile, real: CniNodes | None
) -> None:
    from kubesim.api.timestamps import MILLISECOND
    from kubesim.app import Simulation, raise_failures_of_callbacks
    from kubesim.attach.agent.live_node import AttachedNode, read_node
    from kubesim.attach.agent.node_scenario import node_scenario
    from kubesim.clock import LoopClock
    from kubesim.cluster.remote.connect import connect
    from kubesim.cluster.saved.lines import RunHeader
    from kubesim.concurrency import TaskSet
    from kubesim.kubelet.server import parse_address
    from kubesim.runtime.simulated.settings import Latencies, Span
    from kubesim.scenario.runtimes.paced import RealParts

    clock = LoopClock()
    transport = connect(clock, args.kubeconfig, args.context, request_timeout_s=options.request_timeout_s(args))
    try:
        node = await read_node(transport, args.node)
        scenario = node_scenario(args.node, node, args.config).with_runtime(*runtime_flags.chosen(args))
        async with TaskSet() as tasks:
            raise_failures_of_callbacks(tasks)
            live = AttachedNode(transport, args.node, learn=args.learn, references=args.references)
            live.followers.append(comparison)
            # Images whose pull was not observed count as present on the node, as most are.
            latencies = Latencies() if args.learn else Latencies(pull=Span(20 * MILLISECOND))
            header = RunHeader(scenario.name, 0, scenario.gates.profile, clock.now(), (args.node,))
            reported = shown.reported = report_flags.ReportingRun(args.report, header)
            sinks = (*shown.sinks(), *log.sinks(scenario, clock.now()), *reported.sinks())
            simulation = Simulation(
                scenario,
                0,
                tasks,
                sinks,
                real=RealParts(real),
                live=live,
                latencies=latencies,
                start=None,
                measured=bool(args.serve),
            )
            comparison.attach(simulation.store, simulation.recorder, simulation.clock.elapsed)
            address = parse_address(args.serve) if args.serve else None
            if (serving := report_flags.serving(address, reported.pages())) is not None:
                await serving.start(tasks, simulation.kubelets, simulation.clock.now, simulation.measured)
            tasks.start("progress", shown.report_progress(simulation.clock))
            await tasks.run_until(_attached(args, simulation, comparison, shown))
            if serving is not None:
                await serving.end()
    finally:
        await transport.close()


async def _attached(args: argparse.Namespace, simulation: Simulation, comparison: Comparison, shown: _Shown) -> None:
    """Run until the time is over, the agent reached the node's state (with --once), Ctrl-C, or the view is closed."""
    from kubesim.api.timestamps import MILLISECOND, SECOND

    clock = simulation.clock
    simulation.begin_attached()
    try:
        if args.once:
            end = clock.now() + SETTLING_S * SECOND
            await clock.sleep(3 * SECOND)
            while clock.now() < end and not comparison.settled:
                await clock.sleep(100 * MILLISECOND)
        else:
            await shown.watch(clock, args.duration)
    finally:
        await simulation.close()
