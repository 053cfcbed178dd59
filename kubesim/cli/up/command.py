"""`kubesim up`: a cluster for kubectl and other clients, in real time or faster."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from kubesim.cli.flags import kubelet_flags, manifest_flags, options, report_flags, runtime_flags
from kubesim.cli.output.terminal import say, warn
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.scenario.language.document import Scenario
    from kubesim.trace import Sink

HELP = "start a cluster that kubectl talks to: API server, controllers, scheduler and nodes in one process"
DESCRIPTION = """Start an API server on loopback, with the controllers, the scheduler and the node agents of kubesim
behind it, and write a kubeconfig for kubectl. Time is real, or faster with --speed. Ctrl-C stops it."""
MAX_NODES = 5000


def configure(parser: argparse.ArgumentParser) -> None:
    manifest_flags.add(parser)
    parser.add_argument(
        "--nodes",
        type=options.whole_number,
        metavar="N",
        help="how many nodes; default: 1; 0: none, for those of kubesim node",
    )
    parser.add_argument(
        "--speed",
        type=options.positive_number,
        metavar="N",
        help="N seconds of the cluster per real second; default: 1",
    )
    parser.add_argument(
        "--kubeconfig", metavar="FILE", help="where to write the kubeconfig; default: in the XDG state directory"
    )
    parser.add_argument("--state", metavar="DIR", help="keep the objects of the cluster there, and start with them")
    parser.add_argument(
        "--listen",
        metavar="[ADDRESS:]PORT",
        default="127.0.0.1:0",
        help="where to serve; default: loopback, on a port that is free",
    )
    parser.add_argument(
        "--allow-remote", action="store_true", help="allow an address of --listen that other machines can reach"
    )
    parser.add_argument(
        "--for", dest="duration", type=options.duration, metavar="DURATION", help="stop after this time"
    )
    parser.add_argument(
        "--control", metavar="PATH", help="a Unix socket on which `kubesim clock` controls the time of the cluster"
    )
    parser.add_argument("--timeline", action="store_true", help="print what the nodes do and why, as kubesim run does")
    report_flags.add(parser)
    parser.add_argument(
        "--serve",
        metavar="[ADDRESS:]PORT",
        help="serve /healthz, /pods, /metrics, /statusz and with --report /report; on loopback by default",
    )
    options.add_seed(parser)
    options.add_feature_gates(parser)
    options.add_profile(parser)
    runtime_flags.add_private(parser)
    kubelet_flags.add_configuration(parser)
    parser.usage = "kubesim up [options] [FILE] [-f PATH ...]"


def execute(args: argparse.Namespace) -> int:
    from kubesim.cli.output.effects import EffectSink
    from kubesim.cli.progress.run_progress import RunProgress
    from kubesim.cli.run import EXIT_INTERRUPTED, terminated_as_interrupted
    from kubesim.kubelet.server import parse_address
    from kubesim.up.address import check_address

    host, port = parse_address(args.listen)
    check_address(host, allowed=args.allow_remote)
    scenario = _scenario(args)
    if args.report is not None:
        report_flags.check_file(args.report)
    kubeconfig = _kubeconfig(args)
    _check_needs()
    from kubesim.cli.flags.saving_flags import header_of
    from kubesim.scenario.ending.result import RunInterrupted
    from kubesim.up.cluster import UpSettings, run_up

    speed = options.chosen(args.speed, "KUBESIM_SPEED", options.positive_number) or 1.0
    reported = report_flags.ReportingRun(args.report, header_of(scenario, options.seed(args)))
    progress = RunProgress(sys.stderr, quiet=True)  # a view on a terminal, without plain lines
    progress.begin(None if args.duration is None else round(args.duration * speed))
    settings = UpSettings(
        host=host,
        port=port,
        kubeconfig=kubeconfig,
        ready=lambda address: _ready(address, kubeconfig, scenario, speed),
        speed=speed,
        duration=args.duration,
        seed=options.seed(args),
        state=Path(args.state) if args.state else None,
        serving=report_flags.serving(parse_address(args.serve) if args.serve else None, reported.pages()),
        on_progress=progress.advance,
        control=Path(args.control) if args.control else None,
    )
    interrupted = False
    with terminated_as_interrupted():
        try:
            shown = (EffectSink(progress.above(sys.stderr)), *_timeline(args, progress.above(sys.stdout)))
            result = run_up(scenario, settings, (*shown, progress, *reported.sinks()))
        except RunInterrupted as stopped:
            result, interrupted = stopped.result, True
        finally:
            progress.clear()
    reported.finish(result)
    for failure in result.failures:
        first, *more = failure.lines()
        say(f"FAILED: {first}", *more)
    say("kubesim: stopped")
    return EXIT_INTERRUPTED if interrupted and args.duration else 0 if result.ok else 1


def _check_needs() -> None:
    from importlib.util import find_spec

    if find_spec("aiohttp") is None:
        raise UsageError("kubesim up needs aiohttp: pip install 'kubesim[cluster]'")


def _scenario(args: argparse.Namespace) -> Scenario:
    gates = options.feature_gates(args)
    overlay = kubelet_flags.overlay(args, gates)
    nodes = [{"name": f"node-{number}"} for number in range(1, _nodes(args) + 1)]
    if args.files or args.filename:
        runs = manifest_flags.load(args, gates, overlay)
        if len(runs) > 1:
            raise UsageError(
                f"kubesim up starts one cluster, not {len(runs)}: give the files with -f, without a matrix"
            )
        scenario = runs[0][1]
    else:
        from kubesim.golang.json import dumps
        from kubesim.scenario.load.loader import parse_scenario

        value = {"apiVersion": "kubesim.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "up"}, "spec": {}}
        scenario = parse_scenario(dumps(value), "the scenario of up", overlay=overlay)
    if args.nodes is not None:
        scenario = scenario.with_nodes(nodes)
    if scenario.spec.sources.apiserver is not None:
        raise UsageError("spec.sources.apiserver cannot be combined with kubesim up, which has its own API server")
    scenario = scenario.with_runtime(*runtime_flags.chosen(args))
    if not scenario.spec.nodes:
        _check_without_nodes(scenario)
    return scenario


def _check_without_nodes(scenario: Scenario) -> None:
    spec = scenario.spec
    fields = {"steps": spec.steps, "faults": spec.faults, "scheduler: off": spec.scheduler == "off"}
    needs = [f"spec.{name}" for name, given in fields.items() if given]
    if spec.runtime != "simulated":
        needs.append(f"runtime {spec.runtime}")
    if needs:
        raise UsageError(f"--nodes 0: {needs[0]} needs a node: give at least one")


def _nodes(args: argparse.Namespace) -> int:
    count: int = 1 if args.nodes is None else args.nodes
    if not 0 <= count <= MAX_NODES:
        raise UsageError(f"--nodes {count}: give a number from 0 to {MAX_NODES}")
    return count


def _kubeconfig(args: argparse.Namespace) -> Path:
    """The path of the kubeconfig. An existing file of another cluster is never overwritten."""
    if args.kubeconfig:
        path = Path(args.kubeconfig).expanduser()
    elif args.state:
        path = Path(args.state, "kubeconfig")
    else:
        home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        path = Path(home, "kubesim", f"kubeconfig-{os.getpid()}")
    from kubesim.up.identity import is_ours

    if path.exists() and not is_ours(path):
        raise UsageError(f"{path}: kubesim up did not write this file, and would replace it: name another one")
    return path.absolute()


def _timeline(args: argparse.Namespace, out: TextIO) -> tuple[Sink, ...]:
    if not args.timeline:
        return ()
    from kubesim.cli.output.report import console

    return (console(out, "story"),)


def _ready(address: str, kubeconfig: Path, scenario: Scenario, speed: float) -> None:
    count = len(scenario.spec.nodes)
    nodes = "1 node" if count == 1 else f"{count} nodes"
    if address.startswith(("https://0.0.0.0", "https://[::]")):
        warn("every machine that reaches this one can connect; any client with the kubeconfig has all rights")
    say(
        f"kubesim: {address} serves a cluster with {nodes}, {speed:g} s for each real second",
        "",
        f"    export KUBECONFIG={kubeconfig}",
        "    kubectl get nodes",
        "    kubectl run hello --image=nginx",
        "    kubectl get pods --watch",
        "",
        "Ctrl-C stops it and removes the kubeconfig.",
    )
    sys.stdout.flush()
