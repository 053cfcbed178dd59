"""`kubesim explain POD|FILE|-`: the phase of a pod's life cycle, the rule that keeps it there, and the next step."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from kubesim.cli.flags import node_periods, options
from kubesim.errors import TransportError, UsageError

if TYPE_CHECKING:
    from kubesim.attach.explain.observation import Observation
    from kubesim.attach.explain.statement import Statement

HELP = "explain where a pod is in its lifecycle, what it waits for and what the kubelet does next"
DESCRIPTION = """Explain a pod of a cluster (NAME or NAMESPACE/NAME; read-only), or pods as kubectl prints them: a
Pod, a PodList or a List in JSON or YAML, from a file or, with -, from standard input. Events make it more precise: from
a cluster they are read too; with files use --events FILE, or `kubectl get pods,events,nodes -o json` in one command."""

FORMATS = ("text", "json", "jsonl")


def configure(parser: argparse.ArgumentParser) -> None:
    what = "a pod of the cluster, or a file with pods as kubectl get -o json or yaml prints them; - is stdin"
    parser.add_argument("source", nargs="?", metavar="POD|FILE", help=what)
    parser.add_argument("pod", nargs="?", metavar="POD", help="explain only this pod of a file: NAME or NAMESPACE/NAME")
    parser.add_argument(
        "-n", "--namespace", metavar="NAME", default="default", help="the namespace of a pod of the cluster"
    )
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        default="",
        help="the kubeconfig; default: $KUBECONFIG, ~/.kube/config, or the service account of the pod",
    )
    parser.add_argument("--context", metavar="NAME", default="", help="a context of the kubeconfig")
    parser.add_argument("--events", metavar="FILE", help="a file with the output of `kubectl get events -o json`")
    parser.add_argument("--node", metavar="FILE", help="a file with the output of `kubectl get node NAME -o json`")
    parser.add_argument(
        "--at", type=_time, metavar="TIME", help="explain the state at this time (2026-01-31T12:00:00Z); default: now"
    )
    options.add_request_timeout(parser)
    options.add_references(parser)
    node_periods.add(parser)
    parser.add_argument(
        "--pod-workers", action="store_true", help="print the pod workers' state machine as a Mermaid diagram instead"
    )
    shape = "|".join(FORMATS)
    parser.add_argument("-o", "--output", type=options.one_of(FORMATS), metavar=shape, help="text, or JSON")


def _time(text: str) -> int:
    from kubesim.api.timestamps import parse_time

    try:
        return parse_time(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def execute(args: argparse.Namespace) -> int:
    if args.pod_workers:
        return _print_pod_workers(args)
    if args.source is None:
        raise UsageError("give a POD or a FILE, or --pod-workers (see kubesim explain --help)")
    from kubesim.attach.explain.explain import explain

    seen = _from_files(args) if _is_file(args.source) else [_from_cluster(args)]
    output = options.chosen(args.output, "KUBESIM_OUTPUT", options.one_of(FORMATS)) or "text"
    _print([explain(one) for one in seen], output)
    return 0


def _print_pod_workers(args: argparse.Namespace) -> int:
    from kubesim.cli.pictures.pod_workers import mermaid
    from kubesim.trace.pictures.mermaid import block

    if args.source is not None:
        raise UsageError("--pod-workers is about all pods: leave POD and FILE out")
    print("\n".join(block(mermaid())))
    return 0


def _is_file(source: str) -> bool:
    """Whether the argument is a file. A valid pod name without such a file is a pod."""
    return source == "-" or os.path.exists(source) or source.endswith((".json", ".yaml", ".yml"))


def _from_files(args: argparse.Namespace) -> list[Observation]:
    from kubesim.attach.reading.read import Objects, read_file
    from kubesim.clock.wall import wall_now
    from kubesim.scenario.load.text_files import STANDARD_INPUT

    if args.references:
        raise UsageError("--references reads from the cluster: give the name of a pod there, not a file")
    if args.configz:
        raise UsageError(
            "--configz reads from a node of the cluster: give the name of a pod there, or use --config FILE"
        )
    files = [args.source, *(file for file in (args.events, args.node) if file)]
    if files.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input can be read once: give only one - of FILE, --events and --node")
    found = sum((read_file(file) for file in files), Objects())
    now = wall_now() if args.at is None else args.at
    periods = node_periods.from_file(args)
    seen = [one for one in found.observations(now, periods) if _is_meant(one.pod.metadata, args.pod)]
    if not seen:
        wanted = f"pod {args.pod}" if args.pod else "Pod"
        raise UsageError(f"{args.source}: it has no {wanted}; give the output of `kubectl get pod NAME -o json`")
    return seen


def _from_cluster(args: argparse.Namespace) -> Observation:
    """The current pod from the cluster."""
    import anyio

    from kubesim.attach.reading.live import read_pod
    from kubesim.clock import LoopClock
    from kubesim.cluster.remote.connect import connect
    from kubesim.values import replace

    namespace, _, name = args.source.rpartition("/")

    async def main() -> Observation:
        clock = LoopClock()
        timeout_s = options.request_timeout_s(args)
        transport = connect(clock, args.kubeconfig, args.context, request_timeout_s=timeout_s)
        try:
            now = clock.now() if args.at is None else args.at
            where = namespace or args.namespace
            seen = await read_pod(transport, where, name, now, with_references=args.references)
            return replace(seen, periods=await node_periods.of_node(args, transport, seen.pod.spec.node_name))
        except TransportError as error:
            raise UsageError(f"cannot reach the cluster: {error}") from None
        finally:
            await transport.close()

    return anyio.run(main)


def _is_meant(meta: object, wanted: str | None) -> bool:
    if wanted is None:
        return True
    namespace, _, name = wanted.rpartition("/")
    return getattr(meta, "name", "") == name and namespace in ("", getattr(meta, "namespace", ""))


def _print(statements: list[Statement], output: str) -> None:
    from kubesim.attach.explain.page import as_json, page
    from kubesim.golang.json import printable_json

    if output == "jsonl":
        for statement in statements:
            print(printable_json(as_json(statement)))
    elif output == "json":
        reported = [as_json(statement) for statement in statements]
        print(printable_json(reported[0] if len(reported) == 1 else reported, indent=2))
    else:
        sys.stdout.write("\n".join(page(statement) for statement in statements))
