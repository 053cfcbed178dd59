"""`kubesim node`: simulated nodes for an existing API server: envtest, kind, k3s, or `kubesim up`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kubesim.cli.flags import kubelet_flags, manifest_flags, options
from kubesim.cli.output.terminal import say, warn
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.scenario.language.document import Scenario

HELP = "register simulated nodes at an API server, and run its pods on them as a kubelet does"
DESCRIPTION = """Register simulated nodes at the API server of a kubeconfig and run the pods that are bound to them,
with the statuses, Events and leases of a kubelet and simulated containers. It needs --allow-writes."""
MAX_NODES = 1000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kubeconfig", default="", metavar="FILE", help="the kubeconfig; default: that of kubectl")
    parser.add_argument("--context", default="", metavar="NAME", help="default: the current context")
    parser.add_argument("--name", metavar="NAME", help="the node; with --count NAME-1, NAME-2 ...")
    parser.add_argument("--count", type=options.whole_number, metavar="N", help="how many nodes; default: 1")
    parser.add_argument("--allow-writes", action="store_true", help="allow it to write to the cluster")
    parser.add_argument(
        "--allow-real-nodes", action="store_true", help="allow a cluster that has nodes which are not simulated"
    )
    parser.add_argument("--print-rbac", action="store_true", help="print the rights that it needs, and exit")
    parser.add_argument(
        "--kubelet-listen",
        metavar="ADDRESS[:PORT]|off",
        default="",
        help="where the API server reaches the kubelets; default: an address of 127.8.0.0/16 for each, port 10250",
    )
    parser.add_argument(
        "--allow-remote", action="store_true", help="allow an address of --kubelet-listen that others can reach"
    )
    manifest_flags.add(parser)
    parser.add_argument(
        "--speed", type=options.positive_number, metavar="N", help="N seconds of the nodes for each real second"
    )
    parser.add_argument("--for", dest="duration", type=options.duration, metavar="DURATION", help="stop after that")
    parser.add_argument(
        "--control", metavar="PATH", help="a Unix socket on which `kubesim clock` controls the time of the nodes"
    )
    parser.add_argument("--timeline", action="store_true", help="print what the nodes do and why")
    options.add_seed(parser)
    options.add_feature_gates(parser)
    options.add_profile(parser)
    parser.add_argument("--config", metavar="FILE", help="a KubeletConfiguration (v1beta1) file")
    kubelet_flags.add_own(parser)
    parser.usage = "kubesim node --name NAME --allow-writes [options] [FILE]"


def execute(args: argparse.Namespace) -> int:
    from kubesim.cli.run import terminated_as_interrupted
    from kubesim.up.node.rights import RIGHTS

    if args.print_rbac:
        sys.stdout.write(RIGHTS)
        return 0
    names = _names(args)
    if not args.allow_writes:
        raise UsageError(
            "kubesim node writes nodes, statuses, Events and leases to the cluster and deletes pods that have ended: "
            "add --allow-writes; --print-rbac prints the rights that it needs"
        )
    scenario = _scenario(args, names)
    from kubesim.cli.output.report import console
    from kubesim.up.node.run import NodeSettings, run_nodes

    settings = NodeSettings(
        args.kubeconfig,
        args.context,
        ready=lambda: _ready(names),
        report=_Reports().report,
        speed=args.speed or 1.0,
        duration=args.duration,
        seed=options.seed(args) or 0,
        allow_real_nodes=args.allow_real_nodes,
        control=Path(args.control) if args.control else None,
        kubelet_listen=args.kubelet_listen,
        allow_remote=args.allow_remote,
    )
    with terminated_as_interrupted():
        try:
            run_nodes(scenario, settings, (console(sys.stdout, "story"),) if args.timeline else ())
        except KeyboardInterrupt:
            pass
    say("kubesim: stopped; the nodes stay registered, and the cluster will find them not ready")
    return 0


def _names(args: argparse.Namespace) -> list[str]:
    if not args.name:
        raise UsageError("give a --name for the node")
    from kubesim.api.validation.formats import dns1123_subdomain

    if dns1123_subdomain(args.name):
        allowed = "a node's name has lower-case letters, digits, '-' and '.', such as node-1"
        raise UsageError(f"--name {args.name}: {allowed}")
    count: int = 1 if args.count is None else args.count
    if not 1 <= count <= MAX_NODES:
        raise UsageError(f"--count {count}: give a number from 1 to {MAX_NODES}")
    return [args.name] if args.count is None else [f"{args.name}-{number}" for number in range(1, count + 1)]


def _scenario(args: argparse.Namespace, names: list[str]) -> Scenario:
    """The scenario file, of which behaviours, images, faults and settings apply."""
    from kubesim.golang.json import dumps
    from kubesim.scenario.load.loader import parse_scenario
    from kubesim.scenario.load.overlay import make_overlay
    from kubesim.values import replace

    gates = options.feature_gates(args)
    overlay = replace(
        make_overlay(args.config, kubelet_flags.own_flags(args), gates),
        allow_host=args.allow_host,
        profile=options.profile(args),
    )
    nodes = [{"name": name} for name in names]
    if not args.files and not args.filename:
        value = {"apiVersion": "kubesim.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "node"}}
        text = dumps({**value, "spec": {"nodes": nodes}})
        return parse_scenario(text, "the scenario of node", overlay=overlay)
    runs = manifest_flags.load(args, gates, overlay)
    if len(runs) > 1:
        raise UsageError(f"kubesim node takes one scenario, not {len(runs)}: use -f, and no matrix")
    scenario = runs[0][1].with_nodes(nodes)
    spec = scenario.spec
    for field, given in (("objects", spec.objects), ("steps", spec.steps), ("expect", spec.expect)):
        if given:
            raise UsageError(f"spec.{field} is not for kubesim node, which only runs nodes: use kubectl, or kubesim up")
    return scenario


def _ready(names: list[str]) -> None:
    shown = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    say(f"kubesim: registered {shown}; Ctrl-C stops")
    sys.stdout.flush()


class _Reports:
    """Warnings about the connection, printed only when they change."""

    def __init__(self) -> None:
        self._last = ""

    def report(self, text: str) -> None:
        if text != self._last:
            self._last = text
            warn(f"warning: {text}")
