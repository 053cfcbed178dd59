"""`kubesim run FILE…`: play scenarios or plain manifests and tell what happens."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from typing import TYPE_CHECKING

from kubesim.cli.flags import kubelet_flags, log_flags, options, runtime_flags
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.app import RunResult
    from kubesim.cli.output.report import Report
    from kubesim.scenario.load.overlay import Overlay
    from kubesim.trace.sinks.console import Level

HELP = "play a scenario or any Kubernetes manifest and show what the kubelet does, and why"
DESCRIPTION = """Play scenarios, or plain Kubernetes manifests with defaults, in virtual time, each file by itself, and
show what happened on the node. The same file and seed give the same run, on every machine."""

FORMATS = ("text", "jsonl", "json")


def configure(parser: argparse.ArgumentParser) -> None:
    what = "a scenario or manifests in YAML or JSON, or the name of a bundled scenario; - is stdin"
    parser.add_argument("files", nargs="+", metavar="FILE", help=what)
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("-v", "--verbose", action="store_true", help="every record, and what it mirrors upstream")
    amount.add_argument("-q", "--quiet", action="store_true", help="only Events, statuses and how it ended")
    shape = "|".join(FORMATS)
    parser.add_argument(
        "-o",
        "--output",
        type=options.one_of(FORMATS),
        metavar=shape,
        help="a timeline, a record per line, one JSON object",
    )
    options.add_seed(parser)
    options.add_feature_gates(parser)
    parser.add_argument("--until", type=options.duration, metavar="DURATION", help="stop at this time: 90s, 1m30s, 2h")
    parser.add_argument(
        "--speed", type=options.positive_number, metavar="N", help="pace it: N seconds of the node in one second"
    )
    parser.add_argument(
        "--step", action="store_true", help="walk through what happened, decision by decision, forward and back"
    )
    parser.add_argument(
        "--break-on",
        action="append",
        default=[],
        metavar="CONDITION",
        help="with --step: stop at such records: 'pleg.event ContainerDied', 'cri.call call=StartContainer pod=web'",
    )
    parser.add_argument(
        "--serve",
        metavar="[ADDRESS:]PORT",
        help="with --speed: answer /healthz, /pods, /metrics, /statusz there meanwhile; on loopback by default",
    )
    parser.add_argument(
        "--show",
        choices=("network",),
        help="with --runtime cni: draw links, bridges, addresses and routes of nodes and pods, once all is at rest",
    )
    log_flags.add(parser)
    runtime_flags.add(parser)
    kubelet_flags.add_configuration(parser)


def execute(args: argparse.Namespace) -> int:
    from kubesim.app import run_scenario
    from kubesim.clock.garbage import collected_rarely
    from kubesim.errors import UsageError
    from kubesim.scenario.load.loader import load_scenario
    from kubesim.trace import HashSink

    seed = options.seed(args)
    until = options.chosen(args.until, "KUBESIM_UNTIL", options.duration)
    speed = options.chosen(args.speed, "KUBESIM_SPEED", options.positive_number) or 0.0
    gates = options.feature_gates(args)
    serve = _serve_address(args.serve, speed)
    around = kubelet_flags.overlay(args, gates)
    if args.show and (args.output or args.step):
        raise UsageError("--show draws for people: it goes without --output and --step")
    if args.host_network_node and args.step:
        raise UsageError("--step goes without --host-network-node")
    if args.step or args.break_on:
        return _step(args, seed, until, around, gates)
    # Every mistake is told before anything runs.
    chosen = runtime_flags.chosen(args)
    scenarios = [(file, load_scenario(_found(file), gates, around).with_runtime(*chosen)) for file in args.files]
    used = {"logging"} if log_flags.file_name(args) else set()
    kubelet_flags.tell_without_effect((scenario.spec.kubelet_configuration for _, scenario in scenarios), used)
    state = runtime_flags.host_state(args)
    if state:  # who is told to end ends as if interrupted: everything that it made on this machine is removed
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    if state and any(scenario.spec.runtime != "cni" for _, scenario in scenarios):
        raise UsageError("--host-network-node needs --runtime cni")
    if args.show and any(scenario.spec.runtime != "cni" for _, scenario in scenarios):
        raise UsageError("--show network needs --runtime cni: simulated networks have no links")
    live = any(scenario.spec.sources.apiserver is not None for _, scenario in scenarios)
    report = _report(args, attached=live)
    results: list[RunResult] = []
    with collected_rarely(), log_flags.opened(args) as log:
        for file, scenario in scenarios:
            report.begin(file)
            result = run_scenario(
                scenario,
                seed=seed,
                until=until,
                speed=speed,
                sinks=(report, HashSink(placeholders=scenario.spec.runtime == "cni"), *log.sinks(scenario)),
                serve=serve,
                host_state=state,
                on_serving=lambda address: print(f"kubesim: serving on {address}", file=sys.stderr, flush=True),
            )
            report.end(result)
            for leak in result.left_behind:
                print(f"kubesim: still on this machine: {leak}", file=sys.stderr)
            if args.show:
                from kubesim.cli.output.network_view import drawing

                for picture in result.networks:
                    print("", *drawing(picture), sep="\n")
            results.append(result)
    report.close()
    return 0 if all(result.ok for result in results) else 1


def _found(file: str) -> str:
    """A file, or the name of a scenario that came along."""
    from kubesim.shipped import scenario_file, scenario_names

    found = scenario_file(file)
    if found == file and file.replace("-", "").isalnum() and not os.path.exists(file):
        names = ", ".join(scenario_names())
        raise UsageError(f"{file}: no such file, and none of the scenarios that come along ({names})")
    return found


def _step(
    args: argparse.Namespace, seed: int | None, until: int | None, around: Overlay, gates: dict[str, bool] | None
) -> int:
    """Play it all, then walk through the trace."""
    from kubesim.app import run_scenario
    from kubesim.cli.output.stepping import step_through
    from kubesim.scenario.load.loader import load_scenario
    from kubesim.trace import MemorySink
    from kubesim.trace.stepping import RecordCondition

    if not args.step:
        raise UsageError("--break-on needs --step")
    if len(args.files) > 1 or args.files == ["-"]:
        raise UsageError("--step walks through one file; standard input is for the keys")
    if args.speed is not None or args.serve is not None or args.output is not None:
        raise UsageError("--step goes without --speed, --serve and --output: it shows the run when it is over")
    breaks = [RecordCondition.parse(text) for text in args.break_on]
    scenario = load_scenario(_found(args.files[0]), gates, around).with_runtime(*runtime_flags.chosen(args))
    sink = MemorySink()
    with log_flags.opened(args) as log:
        result = run_scenario(scenario, seed=seed, until=until, sinks=(sink, *log.sinks(scenario)))
    step_through(sink.records, f"{result.scenario}, seed {result.seed}", breaks)
    return 0 if result.ok else 1


def _serve_address(text: str | None, speed: float) -> tuple[str, int] | None:
    if text is None:
        return None
    from kubesim.errors import UsageError
    from kubesim.kubelet.server import parse_address

    if not speed:
        raise UsageError("--serve needs --speed: without it the run is over before anybody could ask")
    return parse_address(text)


def _report(args: argparse.Namespace, *, attached: bool) -> Report:
    from kubesim.cli.output.report import JsonLinesReport, JsonReport, TextReport

    output = options.chosen(args.output, "KUBESIM_OUTPUT", options.one_of(FORMATS)) or "text"
    if output == "jsonl":
        return JsonLinesReport(sys.stdout)
    if output == "json":
        return JsonReport(sys.stdout)
    level: Level = "verbose" if args.verbose else "quiet" if args.quiet else "story"
    return TextReport(sys.stdout, level, several=len(args.files) > 1, attached=attached)
