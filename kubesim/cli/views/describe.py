"""`kubesim describe TYPE [NAME ...] RUN`: objects at a given time of a run, as `kubectl describe` prints them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from kubesim.cli.views import asking
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.cluster.kubectl.arguments import KubectlTarget
    from kubesim.cluster.saved.moment import ClusterMoment

HELP = "describe objects at a given time of a run, as kubectl describe does"
DESCRIPTION = """Describe objects as they were at a given time of a run, with related objects and their Events. RUN is a
file that kubesim run --save wrote, or a scenario, which is run up to that time. Without a NAME all objects of
the type are described; a NAME that matches no object is used as a prefix. Exit code: 1 if there is none."""
USAGE = "kubesim describe [options] TYPE [NAME ...] | TYPE/NAME ... RUN"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words", nargs="+", metavar="TYPE [NAME ...] RUN", help="pods, pod web, deploy/web, node node-1"
    )
    asking.add(parser)
    asking.add_selectors(parser, fields=False)
    parser.usage = USAGE
    asking.allow_flags_anywhere(parser)


def execute(args: argparse.Namespace) -> int:
    from kubesim.cluster.kubectl.arguments import KubectlError, targets
    from kubesim.cluster.kubectl.describe.describe import describe

    words, run = asking.split_run(args.words, USAGE)
    if not words:
        raise UsageError(f"what to describe? The last word is the RUN ({USAGE})")
    moment = asking.moment_of(args, run)
    found: list[dict[str, Any]] = []
    problems: list[Exception] = []
    try:
        wanted = targets(words, moment.custom_resources())
        for target in wanted:
            try:
                found += _objects(args, moment, target)
            except KubectlError as error:
                problems.append(error)
    except KubectlError as error:
        return asking.print_error(error)
    asking.print_text("\n\n".join(describe(moment, obj) for obj in found))
    for problem in problems:
        asking.print_error(problem)
    if not found and not problems:
        within = any(target.resource.namespaced for target in wanted) and not args.all_namespaces
        asking.print_error(f"No resources found in {args.namespace} namespace." if within else "No resources found")
    return asking.EXIT_FAILED if problems else 0


def _objects(args: argparse.Namespace, moment: ClusterMoment, target: KubectlTarget) -> list[dict[str, Any]]:
    """The object of this name, else the objects with this prefix."""
    from kubesim.cluster.kubectl.arguments import not_found

    if target.name is not None:
        exact = moment.find(target.resource, args.namespace, target.name)
        if exact is not None:
            return [exact]
    listed = moment.list(target.resource, asking.selection_of(args, target.resource))
    if target.name is None:
        return listed
    begun = [obj for obj in listed if obj["metadata"]["name"].startswith(target.name)]
    if not begun:
        raise not_found(target.resource, target.name)
    return begun
