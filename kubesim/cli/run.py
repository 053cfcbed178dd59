"""`kubesim run FILE…`: runs scenarios or plain manifests and prints their timeline."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from kubesim.cli.flags import (
    kubelet_flags,
    log_flags,
    manifest_flags,
    options,
    report_flags,
    runtime_flags,
    saving_flags,
    telemetry_flags,
)
from kubesim.cli.output.terminal import say, warn
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.cli.output.report import Report
    from kubesim.scenario.ending.result import RunResult
    from kubesim.scenario.language.document import Scenario
    from kubesim.scenario.load.assembly.added import AddedItem
    from kubesim.scenario.load.overlay import Overlay
    from kubesim.trace import Record
    from kubesim.trace.sinks.console import Level

HELP = "run a scenario or any Kubernetes manifest and show what the kubelet does, and why"
DESCRIPTION = """Run scenarios, or plain Kubernetes manifests with defaults, in virtual time, each file separately, and
show what happened on the node. The same file and seed give the same run, on every machine."""

FORMATS = ("text", "jsonl", "json", "svg", "mermaid", "perfetto")
EXIT_INTERRUPTED = 130


def configure(parser: argparse.ArgumentParser) -> None:
    manifest_flags.add(parser)
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument(
        "-v", "--verbose", action="store_true", help="print every record, and the upstream function it mirrors"
    )
    amount.add_argument("-q", "--quiet", action="store_true", help="print only Events, statuses and the outcome")
    shape = "|".join(FORMATS)
    parser.add_argument(
        "-o",
        "--output",
        type=options.one_of(FORMATS),
        metavar=shape,
        help="a timeline, one JSON record per line, one JSON object, a picture, sequence diagrams, a Perfetto trace",
    )
    options.add_seed(parser)
    options.add_feature_gates(parser)
    options.add_profile(parser)
    parser.add_argument("--until", type=options.duration, metavar="DURATION", help="stop at this time: 90s, 1m30s, 2h")
    parser.add_argument(
        "--speed", type=options.positive_number, metavar="N", help="pace the run: N virtual seconds per real second"
    )
    options.add_stepping(parser, "step through the run, decision by decision, forward and back")
    parser.add_argument(
        "--break-on",
        action="append",
        default=[],
        metavar="CONDITION",
        help="with --step: stop at these records: 'pleg.event ContainerDied', 'cri.call call=StartContainer pod=web'",
    )
    parser.add_argument(
        "--serve",
        metavar="[ADDRESS:]PORT",
        help="with --speed: serve /healthz, /pods, /metrics, /statusz and with --report /report during the run; on "
        "loopback by default",
    )
    parser.add_argument(
        "--show",
        choices=("network",),
        help="with --runtime cni: draw links, bridges, addresses and routes of nodes and pods once everything is idle",
    )
    parser.add_argument(
        "--logs",
        nargs="?",
        const="",
        metavar="POD[:CONTAINER]",
        help="print the output of all containers, or of these, after the run; a name may be a glob",
    )
    saving_flags.add(parser)
    report_flags.add(parser)
    log_flags.add(parser)
    telemetry_flags.add(parser)
    runtime_flags.add(parser)
    kubelet_flags.add_configuration(parser)


def execute(args: argparse.Namespace) -> int:
    manifest_flags.settle(args)
    seed = options.seed(args)
    until = options.chosen(args.until, "KUBESIM_UNTIL", options.duration)
    speed = options.chosen(args.speed, "KUBESIM_SPEED", options.positive_number) or 0.0
    gates = options.feature_gates(args)
    serve = _serve_address(args.serve, speed)
    overlay = kubelet_flags.overlay(args, gates)
    _check_together(args)
    telemetry_flags.check_together(args)
    saving_flags.check_together(args)
    if options.stepping_flag(args) or args.break_on:
        return _step(args, seed, until, overlay, gates)
    # Report every error before anything runs.
    chosen = runtime_flags.chosen(args)
    runs = manifest_flags.load(args, gates, overlay)
    scenarios = [(name, scenario.with_runtime(*chosen)) for name, scenario in runs]
    state = runtime_flags.host_state(args)
    _check_runtimes(args, scenarios, state)
    telemetry_flags.check_runs(args, len(scenarios))
    saving_flags.check_runs(args, scenarios)
    report_flags.check(args, scenarios)
    if (output := _output(args)) in ("svg", "perfetto") and len(scenarios) > 1:
        raise UsageError(f"-o {output} is one picture of one run: give one scenario, without a matrix")
    if output == "perfetto":
        from kubesim.cli.pictures.formats import check_perfetto

        check_perfetto(sys.stdout)
    with terminated_as_interrupted():
        return _play(args, scenarios, serve, seed=seed, until=until, speed=speed, host_state=state)


def _play(
    args: argparse.Namespace, scenarios: list[tuple[str, Scenario]], serve: tuple[str, int] | None, **settings: Any
) -> int:
    """Run them in order. A signal ends the current run and prints its partial result."""
    from kubesim.app import run_scenario
    from kubesim.cli.output.container_logs import ContainerLogs
    from kubesim.cli.output.effects import EffectSink
    from kubesim.cli.progress.run_progress import RunProgress
    from kubesim.clock.garbage import collected_rarely
    from kubesim.scenario.ending.result import RunInterrupted
    from kubesim.trace import HashSink

    live = any(scenario.spec.sources.apiserver is not None for _, scenario in scenarios)
    progress = RunProgress(sys.stderr, quiet=args.quiet)
    report = _report(args, progress.above(sys.stdout), several=len(scenarios) > 1, attached=live)
    effects = EffectSink(progress.above(sys.stderr))
    ok = True
    with (
        collected_rarely(),
        log_flags.opened(args) as log,
        telemetry_flags.opened(args) as telemetry,
        saving_flags.opened(args, paced=bool(settings["speed"])) as saved,
    ):
        for file, scenario in scenarios:
            hashed = HashSink(placeholders=scenario.spec.runtime == "cni")
            report.begin(file, nodes=len(scenario.spec.nodes) > 1)
            progress.begin(scenario.spec.duration, settings["until"])
            logs = ContainerLogs(args.logs)
            seed = settings["seed"]
            reported = report_flags.ReportingRun(args.report, saving_flags.header_of(scenario, seed))
            written = (*telemetry.sinks(scenario, seed), *saved.sinks(scenario, seed), *reported.sinks())
            try:
                result = run_scenario(
                    scenario,
                    sinks=(report, hashed, effects, progress, *logs.sinks(), *log.sinks(scenario), *written),
                    serve=report_flags.serving(serve, reported.pages()),
                    metrics=args.metrics is not None,
                    on_progress=progress.advance,
                    **settings,
                )
            except RunInterrupted as stopped:
                result = stopped.result
            progress.clear()
            report.end(result)
            logs.print(sys.stdout)
            _show_rest(args, result)
            telemetry.finish(result)
            saved.finish(result)
            reported.finish(result)
            ok = ok and result.ok
            if result.interrupted:
                break
    report.close()
    return EXIT_INTERRUPTED if result.interrupted else 0 if ok else 1


def _show_rest(args: argparse.Namespace, result: RunResult) -> None:
    for leak in result.left_behind:
        warn(f"still on this machine: {leak}")
    if args.show:
        from kubesim.cli.output.network_view import drawing

        for picture in result.networks:
            say("", *drawing(picture))


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C: clean up, and print the partial result. If interrupts are ignored (nohup), SIGTERM
    ends the process as usual.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    former = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def _check_together(args: argparse.Namespace) -> None:
    """Reject flags that exclude each other."""
    step = options.stepping_flag(args)
    if args.logs is not None and (args.output or step):
        raise UsageError("--logs cannot be combined with --output and --step; -o jsonl has log records")
    if args.show and (args.output or step):
        raise UsageError("--show cannot be combined with --output and --step")
    if args.report and step:
        raise UsageError(f"{step} cannot be combined with --report, which has the steps")
    if args.host_network_node and step:
        raise UsageError(f"{step} cannot be combined with --host-network-node")


def _check_runtimes(args: argparse.Namespace, scenarios: list[tuple[str, Scenario]], state: str) -> None:
    """Reject flags that need real networks."""
    if state and any(scenario.spec.runtime != "cni" for _, scenario in scenarios):
        raise UsageError("--host-network-node needs --runtime cni")
    if args.show and any(scenario.spec.runtime != "cni" for _, scenario in scenarios):
        raise UsageError("--show network needs --runtime cni: simulated networks have no links")


def _step(
    args: argparse.Namespace, seed: int | None, until: int | None, overlay: Overlay, gates: dict[str, bool] | None
) -> int:
    """Run everything, then step through the trace."""
    from kubesim.app import Trial, run_scenario
    from kubesim.cli.tui.injecting import ScenarioInjections
    from kubesim.cli.tui.opening import require_terminal, step_through
    from kubesim.trace import MemorySink
    from kubesim.trace.stepping import RecordCondition

    _check_step(args)
    breaks = [RecordCondition.parse(text) for text in args.break_on]
    scenario = _one_run(args, gates, overlay)
    if args.tui:
        require_terminal()
    sink = MemorySink()
    with log_flags.opened(args) as log:
        result = run_scenario(scenario, seed=seed, until=until, sinks=(sink, *log.sinks(scenario)))

    def play(added: Sequence[AddedItem]) -> list[Record]:
        changed, again = _one_run(args, gates, overlay, added), MemorySink()
        own, steps = changed.without_last_steps(sum(item.list == "steps" for item in added))
        run_scenario(own, seed=seed, until=until, sinks=(again,), trial=Trial(own.gates, added=steps))
        return again.records

    step_through(
        sink.records,
        f"{result.scenario}, seed {result.seed}",
        breaks,
        nodes=len(scenario.spec.nodes) > 1,
        injections=ScenarioInjections(play),
    )
    return 0 if result.ok else 1


def _check_step(args: argparse.Namespace) -> None:
    flag = options.stepping_flag(args)
    if not flag:
        raise UsageError("--break-on needs --step")
    if "-" in (*args.files, *args.filename) or (len(args.files) > 1 and not args.filename):
        raise UsageError(f"{flag} steps through one file; standard input is used for keys")
    if args.speed is not None or args.serve is not None or args.output is not None:
        raise UsageError(f"{flag} cannot be combined with --speed, --serve and --output: it shows a finished run")


def _one_run(
    args: argparse.Namespace, gates: dict[str, bool] | None, overlay: Overlay, added: Sequence[AddedItem] = ()
) -> Scenario:
    runs = manifest_flags.load(args, gates, overlay, quiet=bool(added), added=added)
    if len(runs) > 1:
        raise UsageError(f"--step steps through one run, but the matrix of the file has {len(runs)}")
    [(_, loaded)] = runs
    return loaded.with_runtime(*runtime_flags.chosen(args))


def _serve_address(text: str | None, speed: float) -> tuple[str, int] | None:
    if text is None:
        return None
    from kubesim.errors import UsageError
    from kubesim.kubelet.server import parse_address

    if not speed:
        raise UsageError("--serve needs --speed: without it the run ends before a client could connect")
    return parse_address(text)


def _output(args: argparse.Namespace) -> str:
    return options.chosen(args.output, "KUBESIM_OUTPUT", options.one_of(FORMATS)) or "text"


def _report(args: argparse.Namespace, out: TextIO, *, several: bool, attached: bool) -> Report:
    from kubesim.cli.output.report import JsonLinesReport, JsonReport, TextReport

    output = _output(args)
    if output in ("svg", "mermaid"):
        from kubesim.cli.pictures.formats import MermaidReport, SvgReport

        return SvgReport(out) if output == "svg" else MermaidReport(out, several=several)
    if output == "perfetto":
        from kubesim.cli.pictures.formats import PerfettoReport

        return PerfettoReport(sys.stdout.buffer)
    if output == "jsonl":
        return JsonLinesReport(out, details=args.verbose)
    if output == "json":
        return JsonReport(out)
    level: Level = "verbose" if args.verbose else "quiet" if args.quiet else "story"
    return TextReport(out, level, several=several, attached=attached)
