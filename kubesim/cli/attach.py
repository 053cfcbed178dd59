"""`kubesim attach --node NAME`: watches a real node, predicts what its kubelet does next, and reports divergences."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TYPE_CHECKING, Any

from kubesim.cli import attach_agent
from kubesim.cli.flags import log_flags, node_periods, options, recording_flags, runtime_flags
from kubesim.cli.output.terminal import warn
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.attach.watch.node_follower import NodeFollower
    from kubesim.attach.watch.observed_trace import ObservedTrace
    from kubesim.clock import LoopClock

HELP = "watch a node of a real cluster: what its kubelet will do next, when, and where it diverges from its rules"
DESCRIPTION = """List and watch the pods, Events, Lease and Node of one node of a cluster (kubeconfig, context, or the
service account of a pod), and report for every pod which rule of the kubelet applies, what comes next and when.
Divergences from the rules are reported with their evidence. It never writes: it sends only get, list and watch
requests. With --once and --for, the exit code is 3 if there was a divergence."""

FORMATS = ("text", "json", "jsonl")
EXIT_DIVERGED = 3
CLEAR = "\x1b[H\x1b[2J"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--node", metavar="NAME", help="the node to watch")
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        default="",
        help="the kubeconfig; default: $KUBECONFIG, ~/.kube/config, or the service account of the pod",
    )
    parser.add_argument("--context", metavar="NAME", default="", help="a context of the kubeconfig")
    how_long = parser.add_mutually_exclusive_group()
    how_long.add_argument("--once", action="store_true", help="list once, print the state of every pod, and exit")
    how_long.add_argument(
        "--for", dest="duration", type=options.duration, metavar="DURATION", help="exit after this time"
    )
    shape = "|".join(FORMATS)
    parser.add_argument(
        "-o", "--output", type=options.one_of(FORMATS), metavar=shape, help="a table, one JSON object, or JSON lines"
    )
    parser.add_argument(
        "--serve", metavar="[ADDRESS:]PORT", help="serve /healthz and /metrics on this port; default address: loopback"
    )
    options.add_request_timeout(parser)
    options.add_references(parser)
    node_periods.add(parser)
    recording_flags.add(parser)
    parser.add_argument(
        "--step", action="store_true", help="with --agent or --replay: at the end, step through the trace"
    )
    parser.add_argument(
        "--tui", action="store_true", help="show the trace on the whole screen of a terminal, and step through it"
    )
    attach_agent.configure(parser)
    log_flags.add(parser)
    runtime_flags.add_private(parser)
    parser.add_argument(
        "--print-rbac", action="store_true", help="print the minimal RBAC rules that it needs, and exit"
    )


def execute(args: argparse.Namespace) -> int:
    if args.print_rbac:
        from kubesim.attach.watch.rbac import rbac

        claims = args.references and args.agent
        sys.stdout.write(rbac(with_references=args.references, with_claims=claims, with_configz=args.configz))
        return 0
    attach_agent.check(args)
    output = options.chosen(args.output, "KUBESIM_OUTPUT", options.one_of(FORMATS)) or "text"
    recording_flags.check(args, output)
    if args.replay is not None:
        from kubesim.cli.output.replaying import replay_file

        return replay_file(args, output)
    if not args.node:
        raise UsageError("give --node NAME: the node to watch (kubectl get nodes lists them)")
    if output == "json" and not args.once:
        raise UsageError("-o json needs --once; to follow use -o jsonl")
    import anyio

    _warn(args)
    if args.agent:
        return attach_agent.execute(args, output)
    with log_flags.opened(args) as log:
        return anyio.run(_attach, args, output, log)


def _warn(args: argparse.Namespace) -> None:
    """Warn about the permissions of the credentials, as far as the kubeconfig shows them."""
    import os
    from pathlib import Path

    from kubesim.attach.watch.certificate import privileges

    paths = args.kubeconfig or os.environ.get("KUBECONFIG", "") or str(Path("~/.kube/config").expanduser())
    if said := privileges(paths, args.context):
        warn(said)


async def _attach(args: argparse.Namespace, output: str, log: log_flags.LogFile) -> int:
    from kubesim.attach.watch.node_follower import NodeFollower
    from kubesim.attach.watch.observed_trace import ObservedTrace
    from kubesim.attach.watch.views import HeldView, LinesView, QuietView, respond
    from kubesim.clock import LoopClock, Randomness
    from kubesim.cluster.remote.connect import connect
    from kubesim.concurrency import TaskSet
    from kubesim.kubelet.server import ReadOnlyServer, parse_address

    clock = LoopClock()
    quiet = HeldView(sys.stderr) if args.once else QuietView(sys.stderr)
    trace = ObservedTrace(args.node, clock.now) if args.tui else None
    viewer: Any = trace or (LinesView(sys.stdout, sys.stderr) if output == "jsonl" else quiet)
    transport = connect(clock, args.kubeconfig, args.context, request_timeout_s=options.request_timeout_s(args))
    if args.record is not None:
        from kubesim.attach.replay.recorder import RecordingTransport
        from kubesim.attach.replay.recording_file import RecordingFile

        transport = RecordingTransport(transport, RecordingFile(args.record), clock, args.node)
    if (logger := log.logger()) is not None:
        from kubesim.attach.watch.watch_log import AttachLog, LoggedTransport, LoggedViewer

        lines = AttachLog(logger, clock)
        transport, viewer = LoggedTransport(transport, lines), LoggedViewer(viewer, lines)
    try:
        periods = await node_periods.of_node(args, transport, args.node)
        agent = NodeFollower(clock, transport, args.node, viewer, with_references=args.references, periods=periods)
        if trace is not None:
            trace.follow(agent)
        server = ReadOnlyServer(lambda method, target: respond(agent, method, target))
        async with TaskSet() as tasks:
            if args.serve:
                await server.start(tasks, *parse_address(args.serve))
                print(f"kubesim: serving on {server.address}", file=sys.stderr, flush=True)
            # A random delay cannot be predicted.
            agent.start(tasks, Randomness(clock.now()))
            await tasks.run_until(
                _watch(args, output, agent, clock) if trace is None else _view(args, agent, trace, clock)
            )
            agent.settle()
            if isinstance(quiet, HeldView):
                quiet.release()
    finally:
        await transport.close()
    return EXIT_DIVERGED if agent.divergence_count else 0


async def _watch(args: argparse.Namespace, output: str, agent: NodeFollower, clock: LoopClock) -> None:
    from kubesim.attach.watch.table import header, table
    from kubesim.attach.watch.views import summary
    from kubesim.golang.json import printable_json

    await _listed(agent, clock, args.once or bool(args.duration), options.request_timeout_s(args))
    if args.once:
        if output == "json":
            print(printable_json(summary(agent), indent=2))
        elif output == "text":
            sys.stdout.write(table(agent, width=_screen()[0]))
        return
    if output == "jsonl":
        for line in header(agent):
            warn(line)
    await _follow(args, output, agent, clock)


async def _view(args: argparse.Namespace, agent: NodeFollower, trace: ObservedTrace, clock: LoopClock) -> None:
    from kubesim.api.timestamps import SECOND
    from kubesim.cli.tui.live import watch_live

    await _listed(agent, clock, bool(args.duration), options.request_timeout_s(args))
    closes_after_s = args.duration and args.duration / SECOND
    await watch_live(trace.records, f"{args.node}, seen from outside", closes_after_s, observed=True)


async def _follow(args: argparse.Namespace, output: str, agent: NodeFollower, clock: LoopClock) -> None:
    import anyio

    from kubesim.api.timestamps import SECOND
    from kubesim.attach.watch.table import table

    shown = ""
    with anyio.move_on_after(args.duration / SECOND if args.duration else None):
        while True:
            if output == "text":
                width, height = _screen()
                drawn = table(agent, width=width, height=height)
                if sys.stdout.isatty():
                    sys.stdout.write(CLEAR + drawn)
                elif drawn.splitlines()[1:] != shown.splitlines()[1:]:
                    sys.stdout.write(drawn + "\n")
                shown = drawn
                sys.stdout.flush()
            await clock.sleep(SECOND)


async def _listed(agent: NodeFollower, clock: LoopClock, in_time: bool, timeout_s: float | None) -> None:
    """Wait until pods and node are listed; raises UsageError if the server does not answer in time."""
    from kubesim.api.timestamps import MILLISECOND, SECOND

    begin = clock.now()
    deadline = None if timeout_s is None else begin + round(timeout_s * SECOND)
    while not agent.has_listed("Pod", "Node") or (
        not agent.has_listed("Event", "Lease") and clock.now() - begin < 2 * SECOND
    ):
        await clock.sleep(20 * MILLISECOND)
        denied = next(
            (text for text in agent.problems if "orbidden" in text and ("Pods" in text or "Nodes" in text)), None
        )
        if in_time and denied is not None:
            raise UsageError(f"{_reason(denied)}; `kubesim attach --print-rbac` prints the RBAC rules that it needs")
        if deadline is not None and clock.now() > deadline:
            problem = _reason(agent.problems[-1]) if agent.problems else f"no answer within {timeout_s:g} s"
            raise UsageError(f"cannot reach the cluster: {problem}")
    while in_time and not agent.references_checked and (deadline is None or clock.now() < deadline):
        await clock.sleep(20 * MILLISECOND)
    if agent.shadow.node_gone and not agent.shadow.pods:
        from kubesim.attach.reading.node_names import no_such_node

        raise UsageError(no_such_node(agent.node_name, await agent.near_nodes()))


def _reason(problem: str) -> str:
    return problem.partition("; again in")[0]


def _screen() -> tuple[int, int | None]:
    """Columns and lines of the terminal; unlimited if the output is not a terminal."""
    from kubesim.attach.watch.table import UNBOUNDED

    return shutil.get_terminal_size() if sys.stdout.isatty() else (UNBOUNDED, None)
