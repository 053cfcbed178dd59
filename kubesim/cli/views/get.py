"""`kubesim get TYPE [NAME ...] RUN`: objects at a given time of a run, as `kubectl get` prints them."""

from __future__ import annotations

import argparse
import sys
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kubesim.cli.views import asking
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.cluster.kubectl.arguments import KubectlTarget
    from kubesim.cluster.saved.moment import ClusterMoment
    from kubesim.cluster.store.kinds import Resource

HELP = "print objects at a given time of a run, as kubectl get does"
DESCRIPTION = """Print objects of the cluster as they were at a given time of a run. RUN is a file that kubesim run
--save wrote, or a scenario, which is run up to that time. TYPE, names, columns and output formats are those of kubectl
1.36; ages are relative to that time. Exit code: 1 if an object is not found."""
USAGE = "kubesim get [options] TYPE[,TYPE ...] [NAME ...] | TYPE/NAME ... RUN"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="+",
        metavar="TYPE [NAME ...] RUN",
        help="such as pods, po,svc, all, pod web or deploy/web; then a saved run or a scenario",
    )
    asking.add(parser)
    asking.add_selectors(parser)
    parser.add_argument(
        "-o",
        "--output",
        default="",
        metavar="wide|yaml|json|name|jsonpath=TEMPLATE|custom-columns=SPEC",
        help="more columns; whole objects; TYPE/NAME; {.items[*].metadata.name}; NAME:.metadata.name,IP:.status.podIP",
    )
    parser.add_argument("--sort-by", default="", metavar="PATH", help="such as .metadata.creationTimestamp")
    parser.add_argument("--show-labels", action="store_true", help="add a column with all labels")
    parser.add_argument(
        "-L",
        "--label-columns",
        action="append",
        default=[],
        metavar="NAMES",
        help="add a column for each of these labels",
    )
    parser.add_argument("--no-headers", action="store_true", help="omit the header line of a table")
    parser.add_argument("--chunk-size", type=int, default=500, metavar="N", help="has no effect: all objects are here")
    parser.add_argument("--subresource", choices=("status", "resize"), help="has no effect: the object is printed")
    parser.add_argument("--ignore-not-found", action="store_true", help="do not fail if an object is not found")
    parser.usage = USAGE
    asking.allow_flags_anywhere(parser)


def execute(args: argparse.Namespace) -> int:
    from kubesim.cluster.kubectl.arguments import KubectlError, targets, warnings

    words, run = asking.split_run(args.words, USAGE)
    if not words:
        raise UsageError(f"give what to get, and as the last word the RUN ({USAGE})")
    moment = asking.moment_of(args, run)
    try:
        wanted = targets(words, moment.custom_resources())
        for warning in warnings(words):
            asking.print_error(warning)
        problems = _check(args, wanted)
        found = _objects(args, moment, wanted, problems)
        _print(args, moment, wanted, found)
    except KubectlError as error:
        return asking.print_error(error)
    for problem in problems:
        asking.print_error(problem)
    return asking.EXIT_FAILED if problems else 0


def _check(args: argparse.Namespace, wanted: list[KubectlTarget]) -> list[Exception]:
    from kubesim.cluster.kubectl.arguments import KubectlError
    from kubesim.cluster.kubectl.printing import FORMATS, PATHS

    form = args.output.partition("=")[0]
    if args.output and form not in (*FORMATS, *PATHS):
        allowed = "custom-columns, json, jsonpath, name, wide, yaml"
        raise UsageError(f"--output {args.output}: must be one of {allowed}")
    if form in PATHS and "=" not in args.output:
        raise KubectlError(f"error: template format specified but no template given ({form}=...)")
    named = [target for target in wanted if target.name is not None]
    if named and (args.selector or args.field_selector):
        raise KubectlError("error: name cannot be provided when a selector is specified")
    if args.all_namespaces and any(target.resource.namespaced for target in named):
        raise KubectlError("error: a resource cannot be retrieved by name across all namespaces")
    return []


Found = list[tuple["Resource", list[dict[str, Any]]]]


def _objects(
    args: argparse.Namespace, moment: ClusterMoment, wanted: list[KubectlTarget], problems: list[Exception]
) -> Found:
    """The objects by kind, in the order of the command line."""
    from kubesim.cluster.kubectl.arguments import not_found
    from kubesim.cluster.kubectl.printing import sort_by

    found: Found = []
    for resource, group in groupby(wanted, key=lambda target: target.resource):
        objects = []
        for target in group:
            if target.name is None:
                objects += moment.list(resource, asking.selection_of(args, resource))
            elif (obj := moment.find(resource, args.namespace, target.name)) is not None:
                objects.append(obj)
            elif not args.ignore_not_found:
                problems.append(not_found(resource, target.name))
        found.append((resource, sort_by(args.sort_by, objects) if args.sort_by else objects))
    return found


def _print(args: argparse.Namespace, moment: ClusterMoment, wanted: list[KubectlTarget], found: Found) -> None:
    from kubesim.cluster.kubectl import printing

    form, _, spec = args.output.partition("=")
    objects = [obj for _, group in found for obj in group]
    if form in ("", "wide"):
        _print_tables(args, moment, wanted, found)
    elif form == "name":
        from kubesim.cluster.kubectl.arguments import name_with_kind

        asking.print_text(
            "".join(name_with_kind(kind, obj["metadata"]["name"]) + "\n" for kind, group in found for obj in group)
        )
    elif form == "custom-columns":
        asking.print_text(printing.custom_columns(spec, objects, headers=not args.no_headers))
    else:
        is_one = len(wanted) == 1 and wanted[0].name is not None
        if is_one and not objects:
            return
        whole = objects[0] if is_one else printing.as_list(objects)
        if form == "jsonpath":
            asking.print_text(printing.by_path(spec, whole))
        else:
            sys.stdout.write(printing.as_yaml(whole) if form == "yaml" else printing.as_json(whole))


def _print_tables(args: argparse.Namespace, moment: ClusterMoment, wanted: list[KubectlTarget], found: Found) -> None:
    from kubesim.cluster.kubectl.printing import TableStyle, table

    several = len(found) > 1
    labels = tuple(name for given in args.label_columns for name in given.split(","))
    printed = [
        table(
            resource,
            objects,
            moment.now,
            TableStyle(
                wide=args.output == "wide",
                headers=not args.no_headers,
                with_namespace=args.all_namespaces and resource.namespaced,
                with_kind=several,
                show_labels=args.show_labels,
                label_columns=labels,
            ),
        )
        for resource, objects in found
        if objects
    ]
    if printed:
        asking.print_text("\n".join(printed))
    elif not args.ignore_not_found and all(target.name is None for target in wanted):
        within = any(target.resource.namespaced for target in wanted) and not args.all_namespaces
        asking.print_error(f"No resources found in {args.namespace} namespace." if within else "No resources found")
