"""`kubesim cni …`: container networking by hand. What would be loaded, what a runtime says about it, and the CNI
commands for one namespace, with every execution of a plugin shown.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from kubesim.cli.flags import options
from kubesim.errors import UsageError

HELP = "container networking by hand: configurations, and CNI commands with every execution shown"
DESCRIPTION = """Look at network configurations as containerd loads them, and run CNI commands over them for one network
namespace, as cnitool does, but showing every execution of a plugin: environment, stdin, stdout, time."""

OPERATIONS = {
    "add": "attach a namespace to a network",
    "check": "is everything as `add` left it?",
    "del": "detach a namespace from a network",
    "gc": "remove what belongs to attachments that are not valid any more",
    "status": "would the plugins of a network accept an `add`?",
}
_ATTACHING = ("add", "check", "del")


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="cni_command", metavar="COMMAND", required=True)
    info = commands.add_parser("info", help="what `crictl info` shows about CNI", allow_abbrev=False)
    conf = commands.add_parser("conf", help="what would be loaded, and why not", allow_abbrev=False)
    dump = commands.add_parser("config-dump", help="what `containerd config dump` shows about CNI", allow_abbrev=False)
    for command in (info, conf, dump):
        _add_places(command)
        command.add_argument("--max-conf-num", type=int, default=1, metavar="N", help="files to load, 0 = all (1)")
        command.add_argument(
            "--internal-loopback", action="store_true", help="as with use_internal_loopback: no loopback plugin"
        )
    dump.add_argument("--setup-serially", action="store_true", help="attach to one network after the other")
    profile = "choose as this version did: v1.36 (containerd), v1.12 or v1.6 (the kubelet itself)"
    conf.add_argument("--profile", choices=("v1.36", "v1.12", "v1.6"), default="v1.36", help=profile)
    conf.add_argument("-o", "--output", choices=("text", "json"), default="text", help="a list to read, or JSON")
    for name, help in OPERATIONS.items():
        _add_operation(commands.add_parser(name, help=help, allow_abbrev=False), name)
    version = commands.add_parser("version", help="which versions plugins support", allow_abbrev=False)
    version.add_argument("plugins", nargs="+", metavar="PLUGIN", help="the type of a plugin: bridge")
    _add_places(version)
    _add_running(version)
    install = commands.add_parser("install", help="put kubesim's own plugins into a directory", allow_abbrev=False)
    install.add_argument("directory", metavar="DIR", help="where a runtime looks for plugins")
    install.add_argument("plugins", nargs="*", metavar="PLUGIN", help="which ones (all)")
    _add_leaks(commands.add_parser("leaks", help="what runs on the host's network left behind", allow_abbrev=False))
    _add_bench(commands.add_parser("bench", help="what it costs beyond executing the plugins", allow_abbrev=False))


def _add_places(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--conf-dir", metavar="DIR", help="network configurations (environment: KUBESIM_CNI_CONF_DIR; /etc/cni/net.d)"
    )
    parser.add_argument(
        "--bin-dir",
        action="append",
        metavar="DIR",
        help="plugins; may be given several times (environment: KUBESIM_CNI_BIN_DIR, colon-separated; /opt/cni/bin)",
    )
    parser.add_argument("--cache-dir", metavar="DIR", help="libcni's cache (/var/lib/cni)")


def _add_running(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--timeout", type=options.duration, metavar="DURATION", help="kill plugins after this: 30s")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="to read, or one JSON object")
    parser.add_argument("-q", "--quiet", action="store_true", help="only the result, not the executions")


def _add_operation(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument("network", nargs="?", metavar="NETWORK", help="the name of a network in the directory")
    if name in _ATTACHING:
        parser.add_argument("netns", nargs="?", metavar="NETNS", help="a path, or a name in /var/run/netns")
        parser.add_argument("--container-id", metavar="ID", help="default: what cnitool makes of the path")
        parser.add_argument("--ifname", default="eth0", help="the interface in the namespace (eth0)")
        parser.add_argument("--args", default="", metavar="K=V;K=V", help="CNI_ARGS")
        parser.add_argument(
            "--capability-args", metavar="JSON", help='values for capabilities: {"portMappings": [...]}'
        )
    if name == "gc":
        parser.add_argument(
            "--valid", action="append", default=[], metavar="ID/IFNAME", help="an attachment that is still valid"
        )
    _add_places(parser)
    _add_running(parser)
    parser.add_argument(
        "--delegated", action="store_true", help="show also what plugins execute themselves (stand-ins in CNI_PATH)"
    )
    recording = parser.add_mutually_exclusive_group()
    recording.add_argument("--record", metavar="DIR", help="write everything to a directory")
    recording.add_argument("--replay", metavar="DIR", help="answer from a recording; no plugin runs")


def _add_leaks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--clean", action="store_true", help="remove it; what is then still there is told with the reason"
    )
    parser.add_argument("--state", metavar="DIR", help="of `kubesim run --host-network-node` (the XDG state directory)")
    parser.add_argument("--bin-dir", action="append", metavar="DIR", help="plugins (/usr/lib/cni, /opt/cni/bin)")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="to read, or one JSON object")


def _add_bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pods", type=options.whole_number, default=100, metavar="N", help="pods in a run (100)")
    parser.add_argument("--pairs", type=options.whole_number, default=10, metavar="N", help="pairs of runs (10)")
    parser.add_argument("--parallel", default="1,8,32", metavar="N,N", help="pods at the same time (1,8,32)")
    parser.add_argument("--bin-dir", metavar="DIR", default="/usr/lib/cni", help="plugins (/usr/lib/cni)")


def execute(args: argparse.Namespace) -> int:
    from kubesim.cli.cni import leaks as cni_leaks
    from kubesim.cli.cni import operations as cni_operations
    from kubesim.cli.cni import views as cni_views

    if args.cni_command not in ("bench", "install", "leaks"):
        _choose_places(args)
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "info": cni_views.info,
        "conf": cni_views.conf,
        "config-dump": cni_views.dump,
        "version": cni_operations.version,
        "bench": cni_views.bench,
        "install": cni_views.install,
        "leaks": cni_leaks.leaks,
    }
    return commands.get(args.cni_command, cni_operations.operation)(args)


def _choose_places(args: argparse.Namespace) -> None:
    """The flag, else the environment, else what everybody uses."""
    from kubesim.cni.cache import DEFAULT_CACHE_DIR
    from kubesim.cni.gocni import DEFAULT_BIN_DIR, DEFAULT_CONF_DIR

    args.conf_dir = args.conf_dir or os.environ.get("KUBESIM_CNI_CONF_DIR") or DEFAULT_CONF_DIR
    from_environment = [entry for entry in os.environ.get("KUBESIM_CNI_BIN_DIR", "").split(":") if entry]
    args.bin_dir = args.bin_dir or from_environment or [DEFAULT_BIN_DIR]
    args.cache_dir = args.cache_dir or DEFAULT_CACHE_DIR
    for entry in args.bin_dir:
        if ":" in entry:
            raise UsageError(f"--bin-dir {entry}: a colon cannot be part of it, as CNI_PATH separates by colons")
