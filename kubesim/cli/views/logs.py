"""`kubesim logs POD RUN`: the output of containers up to a given time of a run, as `kubectl logs` prints it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from kubesim.cli.flags import options
from kubesim.cli.views import asking
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.cluster.kubectl.logs import LogSource
    from kubesim.cluster.saved.moment import ClusterMoment

HELP = "print the output of containers up to a given time of a run, as kubectl logs does"
DESCRIPTION = """Print what the containers of a pod had written at a given time of a run. RUN is a file that kubesim run
--save wrote, or a scenario, which is run up to that time. A container that waits to start, or that has no previous
instance, prints the kubelet's error."""
USAGE = "kubesim logs [options] [pod/]NAME | -l LABELS RUN"
TAIL_OF_SELECTED = 10


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="POD RUN", help="web, pod/web; then a saved run, or a scenario")
    asking.add(parser, namespaces=False)
    asking.add_selectors(parser, fields=False)
    parser.add_argument("-c", "--container", default="", metavar="NAME", help="the container; default: the first one")
    parser.add_argument(
        "--all-containers", action="store_true", help="the logs of all containers, init containers first"
    )
    parser.add_argument("-p", "--previous", action="store_true", help="the logs of the previous instance")
    parser.add_argument("--timestamps", action="store_true", help="prefix each line with its time")
    parser.add_argument("--prefix", action="store_true", help="prefix each line with its pod and container")
    parser.add_argument("--tail", type=int, metavar="N", help="only the last N lines; -1: all")
    parser.add_argument("--since", type=options.duration, metavar="DURATION", help="only lines newer than this")
    parser.usage = USAGE
    asking.allow_flags_anywhere(parser)


def execute(args: argparse.Namespace) -> int:
    from kubesim.cluster.kubectl.arguments import KubectlError
    from kubesim.cluster.kubectl.logs import sources

    words, run = asking.split_run(args.words, USAGE)
    if len(words) > 2 or bool(words) == bool(args.selector):
        raise UsageError(f"give one POD, or -l LABELS, and then the RUN ({USAGE})")
    moment = asking.moment_of(args, run)
    try:
        if args.container and args.all_containers:
            raise KubectlError("error: --all-containers=true should not be specified with container name")
        if args.tail is not None and args.tail < -1:
            raise KubectlError("error: --tail must be greater than or equal to -1")
        chosen: list[LogSource] = []
        for pod in _pods(args, moment, words):
            of_pod, remark = sources(
                pod, args.container or (words[1] if len(words) > 1 else ""), all_containers=args.all_containers
            )
            if remark and not args.selector:
                asking.print_error(remark)
            chosen += of_pod
        for source in chosen:
            _print(args, moment, source)
    except KubectlError as error:
        return asking.print_error(error)
    return 0


def _pods(args: argparse.Namespace, moment: ClusterMoment, words: list[str]) -> list[dict[str, Any]]:
    from kubesim.cluster.kubectl.arguments import KubectlError
    from kubesim.cluster.store.kinds import RESOURCES

    if args.selector:
        pods = moment.list(RESOURCES["Pod"], asking.selection_of(args, RESOURCES["Pod"]))
        if not pods:
            asking.print_error(f"No resources found in {args.namespace} namespace.")
        return pods
    type, slash, name = words[0].partition("/")
    if slash and type not in ("pod", "pods", "po"):
        raise KubectlError(f"error: logs of {type}: give a pod, or its labels with -l")
    pod = moment.find(RESOURCES["Pod"], args.namespace, name if slash else type)
    if pod is None:
        where = f'pods "{name or type}" not found in namespace "{args.namespace}"'
        raise KubectlError(f"error: error from server (NotFound): {where}")
    return [pod]


def _print(args: argparse.Namespace, moment: ClusterMoment, source: LogSource) -> None:
    from kubesim.api.timestamps import format_micro_time
    from kubesim.cluster.kubectl.logs import container_id, last_lines

    lines = []
    for line in moment.output(container_id(source, previous=args.previous)):
        time = moment.time_of(line)
        if args.since is not None and time < moment.now - args.since:
            continue
        stamp = f"{format_micro_time(time)[:-1]}000Z " if args.timestamps else ""
        lines.append(f"{source.prefix if args.prefix else ''}{stamp}{line.text}\n")
    tail = args.tail if args.tail is not None else TAIL_OF_SELECTED if args.selector else -1
    asking.print_text("".join(last_lines(lines, tail)))
