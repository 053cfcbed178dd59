"""`kubesim cri serve`: serves the simulated runtime over CRI, for a kubelet, crictl or critest."""

from __future__ import annotations

import argparse
import ipaddress
import sys
from typing import TYPE_CHECKING

from kubesim.cli.flags import options, runtime_flags
from kubesim.cli.output.terminal import say, warn
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.scenario.language.document import Scenario
    from kubesim.trace import Sink

HELP = "serve the simulated runtime over CRI, for a kubelet, crictl or critest"
DESCRIPTION = """Serve the simulated runtime at a Unix socket as containerd does, in real time. A scenario gives images,
behaviours and faults; `kubesim cri inject` adds faults while it runs. Ctrl-C stops it."""
DEFAULT_LISTEN = "unix:///tmp/kubesim-cri.sock"
DEFAULT_ADDRESSES = "127.88.0.0/16"
SERVED_RUNTIMES = ("simulated", "cni")
_FIRST = 2
# Parts of a scenario that need a kubelet or a cluster.
_UNUSED = ("objects", "steps", "expect", "sources", "scheduler", "matrix")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen",
        default=DEFAULT_LISTEN,
        metavar="unix:///PATH",
        help=f"the socket to listen on (default: {DEFAULT_LISTEN}); only its owner can connect",
    )
    parser.add_argument(
        "--scenario", metavar="FILE", help="images, behaviours, the first node, and faults of this file"
    )
    parser.add_argument(
        "--for", dest="duration", type=options.duration, metavar="DURATION", help="stop after this time"
    )
    parser.add_argument(
        "--pod-addresses",
        metavar="CIDR",
        default=DEFAULT_ADDRESSES,
        help=f"the addresses of simulated pods (default: {DEFAULT_ADDRESSES}); on loopback, the ports of pods are open "
        "there, so that probes of a real kubelet reach them",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="print every call, and what the containers do")
    options.add_seed(parser)
    parser.add_argument(
        "--allow-host",
        action="store_true",
        help="allow the scenario to use the directories and plugins of this machine that it names",
    )
    runtime_flags.add(parser)


def execute(args: argparse.Namespace) -> int:
    from kubesim.runtime.cri.wire.endpoint import require_grpc, socket_path

    path = socket_path(args.listen, "--listen")
    first_ip = _first_address(args.pod_addresses)
    require_grpc("kubesim cri serve")
    _require_aiohttp()
    from kubesim.cli.run import EXIT_INTERRUPTED, terminated_as_interrupted
    from kubesim.up.cri.fault_service import check_faults
    from kubesim.up.cri.serve import ServeSettings, serve

    scenario = _scenario(args)
    check_faults(scenario.spec.faults, args.scenario or "the scenario")
    settings = ServeSettings(
        path,
        lambda: _ready(args.listen),
        args.duration,
        options.seed(args),
        first_ip,
        runtime_flags.host_state(args),
    )
    with terminated_as_interrupted():
        try:
            serve(scenario, settings, _sinks(args.verbose))
        except KeyboardInterrupt:
            return EXIT_INTERRUPTED if args.duration else 0
    return 0


def _require_aiohttp() -> None:
    from importlib.util import find_spec

    if find_spec("aiohttp") is None:
        raise UsageError("kubesim cri serve needs aiohttp: pip install 'kubesim[cluster]'")


def _first_address(cidr: str) -> str:
    try:
        network = ipaddress.IPv4Network(cidr)
    except ValueError as error:
        raise UsageError(f"--pod-addresses {cidr}: must be a range of IPv4 addresses: {error}") from None
    if network.num_addresses < 1 << 8:
        raise UsageError(f"--pod-addresses {cidr}: has {network.num_addresses} addresses: give at least a /24")
    return str(network[_FIRST])


def _scenario(args: argparse.Namespace) -> Scenario:
    from kubesim.scenario.load.loader import load_scenario, parse_scenario
    from kubesim.scenario.load.overlay import Overlay

    if args.scenario is None:
        text = '{"apiVersion": "kubesim.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "cri"}, "spec": {}}'
        scenario = parse_scenario(text, "the scenario of cri serve")
    else:
        scenario = load_scenario(args.scenario, overlay=Overlay(allow_host=args.allow_host))
        given = scenario.spec.model_fields_set
        unused = [name for name in _UNUSED if name in given and getattr(scenario.spec, name)]
        if unused:
            warn(f"{args.scenario}: {', '.join(f'spec.{name}' for name in unused)}: not used by kubesim cri serve")
    scenario = scenario.with_runtime(*runtime_flags.chosen(args))
    if scenario.spec.runtime not in SERVED_RUNTIMES:
        raise UsageError(f"--runtime {scenario.spec.runtime}: cannot be served: use {' or '.join(SERVED_RUNTIMES)}")
    if scenario.spec.profile in ("v1.6", "v1.12"):
        raise UsageError(f"profile {scenario.spec.profile} has no CRI: use a newer one")
    return scenario


def _sinks(verbose: bool) -> tuple[Sink, ...]:
    if not verbose:
        return ()
    from kubesim.cli.output.report import console

    return (console(sys.stdout, "story"),)


def _ready(listen: str) -> None:
    say(
        f"kubesim: {listen} serves a simulated container runtime",
        "",
        f"    crictl --runtime-endpoint {listen} version",
        f"    kubelet --container-runtime-endpoint {listen} ...",
        "",
        "Ctrl-C stops it.",
    )
    sys.stdout.flush()
