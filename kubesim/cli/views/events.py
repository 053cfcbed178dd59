"""`kubesim events RUN`: the Events up to a given time of a run, as `kubectl events` prints them."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from kubesim.cli.views import asking
from kubesim.errors import UsageError

HELP = "print the Events at a given time of a run, as kubectl events does"
DESCRIPTION = """Print the Events that the API server had at a given time of a run, the oldest first. RUN is a file that
kubesim run --save wrote, or a scenario, which is run up to that time."""
FORMATS = ("json", "yaml", "name")
USAGE = "kubesim events [options] RUN"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a saved run, or a scenario")
    asking.add(parser)
    parser.add_argument("--for", dest="about", default="", metavar="TYPE/NAME", help="only those about this object")
    parser.add_argument("--types", default="", metavar="TYPES", help="only of these types: Normal,Warning")
    parser.add_argument(
        "-o",
        "--output",
        default="",
        choices=("", *FORMATS),
        metavar="|".join(FORMATS),
        help="print whole Events in this format",
    )
    parser.add_argument("--no-headers", action="store_true", help="omit the header line")
    parser.usage = USAGE


def execute(args: argparse.Namespace) -> int:
    from kubesim.cluster.kubectl import printing
    from kubesim.cluster.kubectl.arguments import KubectlError
    from kubesim.cluster.kubectl.events import events_table, in_order
    from kubesim.cluster.saved.moment import ObjectSelection
    from kubesim.cluster.store.kinds import RESOURCES

    if unknown := [each for each in args.types.split(",") if each.lower() not in ("", "normal", "warning")]:
        raise UsageError(f"--types {','.join(unknown)}: valid --types are Normal or Warning")
    moment = asking.moment_of(args, args.run)
    try:
        events = _chosen(
            args, moment.list(RESOURCES["Event"], ObjectSelection(None if args.all_namespaces else args.namespace))
        )
    except KubectlError as error:
        return asking.print_error(error)
    if not events:
        where = "" if args.all_namespaces else f" in {args.namespace} namespace"
        asking.print_error(f"No events found{where}.")
        return 0
    if args.output == "name":
        pass  # the name printer rejects lists, and kubectl ignores the error
    elif args.output:
        whole = {**printing.as_list(in_order(events)), "kind": "EventList"}
        sys.stdout.write(printing.as_yaml(whole) if args.output == "yaml" else printing.as_json(whole))
    else:
        everywhere = args.all_namespaces
        asking.print_text(events_table(events, moment.now, headers=not args.no_headers, with_namespace=everywhere))
    return 0


def _chosen(args: argparse.Namespace, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from kubesim.cluster.kubectl.arguments import KubectlError, resource_named

    types = [each.lower() for each in args.types.split(",") if each]
    if types:
        events = [event for event in events if event.get("type", "").lower() in types]
    if not args.about:
        return events
    type, slash, name = args.about.partition("/")
    if not slash or not name:
        raise KubectlError("error: --for must be in resource/name form")
    kind = resource_named(type).kind
    return [
        each
        for each in events
        if (each["involvedObject"].get("kind"), each["involvedObject"].get("name")) == (kind, name)
    ]
