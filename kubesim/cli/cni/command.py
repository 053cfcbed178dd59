"""`kubesim cni …`: single CNI operations. It lists configurations, prints the runtime's view of them, and runs CNI
commands for one namespace, showing every plugin execution.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from kubesim.cli.flags import options
from kubesim.errors import UsageError

HELP = "inspect network configurations and run CNI commands, showing every plugin execution"
DESCRIPTION = """Inspect network configurations as containerd loads them, and run CNI commands with them for one network
namespace. Like cnitool, but it shows every execution of a plugin: environment, stdin, stdout and time."""

OPERATIONS = {
    "add": "attach a namespace to a network",
    "check": "check that the result of `add` is unchanged",
    "del": "detach a namespace from a network",
    "gc": "remove the resources of attachments that are no longer valid",
    "status": "check whether the plugins of a network would accept an `add`",
}
_ATTACHING = ("add", "check", "del")


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="cni_command", metavar="COMMAND", required=True)
    info = _command(commands, "info", "print the CNI part of `crictl info`")
    conf = _command(commands, "conf", "list the configurations that would be loaded, and why others would not")
    dump = _command(commands, "config-dump", "print the CNI part of `containerd config dump`")
    for command in (info, conf, dump):
        _add_directory_flags(command)
        command.add_argument(
            "--max-conf-num", type=int, default=1, metavar="N", help="the number of files to load; 0: all (default: 1)"
        )
        command.add_argument(
            "--internal-loopback", action="store_true", help="like use_internal_loopback: call no loopback plugin"
        )
    dump.add_argument("--setup-serially", action="store_true", help="attach to the networks one after another")
    profile = "choose the configuration as this version does: v1.36 (containerd), v1.12 or v1.6 (the kubelet itself)"
    conf.add_argument("--profile", choices=("v1.36", "v1.12", "v1.6"), default="v1.36", help=profile)
    conf.add_argument("-o", "--output", choices=("text", "json"), default="text", help="a list, or JSON")
    for name, help in OPERATIONS.items():
        _add_operation(_command(commands, name, help), name)
    version = _command(commands, "version", "print the versions that plugins support")
    version.add_argument("plugins", nargs="+", metavar="PLUGIN", help="the type of a plugin: bridge")
    _add_directory_flags(version)
    _add_running(version)
    install = _command(commands, "install", "install kubesim's bundled plugins into a directory")
    install.add_argument("directory", metavar="DIR", help="the directory in which a runtime looks for plugins")
    install.add_argument("plugins", nargs="*", metavar="PLUGIN", help="the plugins to install (default: all)")
    _add_leaks(_command(commands, "leaks", "list the resources left by runs with --host-network-node"))
    _add_bench(_command(commands, "bench", "measure the overhead beyond executing the plugins"))


def _command(commands: Any, name: str, help: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=help, description=f"{help[:1].upper()}{help[1:]}.", allow_abbrev=False)
    assert isinstance(parser, argparse.ArgumentParser)
    return parser


def _add_directory_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--conf-dir",
        metavar="DIR",
        help="the directory of network configurations (environment: KUBESIM_CNI_CONF_DIR; default: /etc/cni/net.d)",
    )
    parser.add_argument(
        "--bin-dir",
        action="append",
        metavar="DIR",
        help="a directory of plugins; may be given several times (environment: KUBESIM_CNI_BIN_DIR, colon-separated; "
        "default: /opt/cni/bin)",
    )
    parser.add_argument("--cache-dir", metavar="DIR", help="libcni's cache (default: /var/lib/cni)")


def _add_running(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout", type=options.duration, metavar="DURATION", help="kill a plugin after this time (default: 30s)"
    )
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="text, or one JSON object")
    parser.add_argument("-q", "--quiet", action="store_true", help="print only the result, not the executions")


def _add_operation(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument("network", nargs="?", metavar="NETWORK", help="the name of a network in the directory")
    if name in _ATTACHING:
        parser.add_argument("netns", nargs="?", metavar="NETNS", help="a path, or a name in /var/run/netns")
        parser.add_argument(
            "--container-id", metavar="ID", help="the container id; default: derived from the path as in cnitool"
        )
        parser.add_argument("--ifname", default="eth0", help="the interface in the namespace (default: eth0)")
        parser.add_argument("--args", default="", metavar="K=V;K=V", help="the value of CNI_ARGS")
        parser.add_argument(
            "--capability-args", metavar="JSON", help='values for capabilities: {"portMappings": [...]}'
        )
    if name == "gc":
        parser.add_argument(
            "--valid", action="append", default=[], metavar="ID/IFNAME", help="an attachment that is still valid"
        )
    _add_directory_flags(parser)
    _add_running(parser)
    parser.add_argument(
        "--delegated", action="store_true", help="also show the plugins that plugins execute (by wrappers in CNI_PATH)"
    )
    recording = parser.add_mutually_exclusive_group()
    recording.add_argument("--record", metavar="DIR", help="record every execution in a directory")
    recording.add_argument("--replay", metavar="DIR", help="answer from a recording; run no plugin")


def _add_leaks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clean", action="store_true", help="remove them; report what could not be removed, and why")
    parser.add_argument(
        "--state",
        metavar="DIR",
        help="the state directory of `kubesim run --host-network-node` (default: the XDG state directory)",
    )
    parser.add_argument(
        "--bin-dir", action="append", metavar="DIR", help="a directory of plugins (default: /usr/lib/cni, /opt/cni/bin)"
    )
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="text, or one JSON object")


def _add_bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pods", type=options.whole_number, default=100, metavar="N", help="pods per run (default: 100)"
    )
    parser.add_argument(
        "--pairs", type=options.whole_number, default=10, metavar="N", help="pairs of runs (default: 10)"
    )
    parser.add_argument("--parallel", default="1,8,32", metavar="N,N", help="pods at the same time (default: 1,8,32)")
    parser.add_argument(
        "--bin-dir", metavar="DIR", default="/usr/lib/cni", help="the directory of plugins (default: /usr/lib/cni)"
    )


def execute(args: argparse.Namespace) -> int:
    from kubesim.cli.cni import leaks as cni_leaks
    from kubesim.cli.cni import operations as cni_operations
    from kubesim.cli.cni import views as cni_views

    if args.cni_command not in ("bench", "install", "leaks"):
        _choose_directories(args)
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


def _choose_directories(args: argparse.Namespace) -> None:
    """The plugin and configuration directories: flag, environment, or the usual default."""
    from kubesim.cni.cache import DEFAULT_CACHE_DIR
    from kubesim.cni.gocni import DEFAULT_BIN_DIR, DEFAULT_CONF_DIR

    args.conf_dir = args.conf_dir or os.environ.get("KUBESIM_CNI_CONF_DIR") or DEFAULT_CONF_DIR
    from_environment = [entry for entry in os.environ.get("KUBESIM_CNI_BIN_DIR", "").split(":") if entry]
    args.bin_dir = args.bin_dir or from_environment or [DEFAULT_BIN_DIR]
    args.cache_dir = args.cache_dir or DEFAULT_CACHE_DIR
    for entry in args.bin_dir:
        if ":" in entry:
            raise UsageError(
                f"--bin-dir {entry}: must not contain a colon, because CNI_PATH separates directories by colons"
            )
