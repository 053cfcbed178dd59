"""Common parts of the views: which run, which time, which objects.

RUN is a file from `kubesim run --save`, or a scenario, which is run up to the requested time.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from kubesim.cli.flags import options
from kubesim.cli.output.terminal import warn
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.cluster.saved.history import RunHistory
    from kubesim.cluster.saved.moment import ClusterMoment, ObjectSelection
    from kubesim.cluster.store.kinds import Resource

EXIT_FAILED = 1
_FOR_A_SCENARIO = ("seed", "profile", "feature_gates", "config")


def add(parser: argparse.ArgumentParser, *, namespaces: bool = True) -> None:
    """Add the flags for the run and the time, and `-n` and `-A`."""
    parser.add_argument(
        "--at", type=moment_flag, metavar="DURATION", help="the time since the start: 42s, 1m30s; default: the end"
    )
    parser.add_argument("-n", "--namespace", default="default", metavar="NAME", help="the namespace; default: default")
    if namespaces:
        parser.add_argument("-A", "--all-namespaces", action="store_true", help="the objects of all namespaces")
    options.add_seed(parser)
    options.add_profile(parser)
    options.add_feature_gates(parser)
    parser.add_argument("--config", metavar="FILE", help="a KubeletConfiguration (v1beta1)")
    parser.add_argument(
        "--allow-host",
        action="store_true",
        help="allow the scenario to use the directories, plugins and URLs that it names",
    )


def allow_flags_anywhere(parser: argparse.ArgumentParser) -> None:
    """Allow flags between positional arguments, as kubectl does. By default argparse rejects them."""
    plain = parser.parse_known_args

    def parse(args: Any = None, namespace: Any = None) -> Any:
        parser.parse_known_args = plain  # type: ignore[method-assign]  # which the other one calls
        try:
            return parser.parse_known_intermixed_args(args, namespace)
        finally:
            parser.parse_known_args = parse  # type: ignore[method-assign]

    parser.parse_known_args = parse  # type: ignore[method-assign]


def add_selectors(parser: argparse.ArgumentParser, *, fields: bool = True) -> None:
    parser.add_argument(
        "-l", "--selector", default="", metavar="LABELS", help="such as app=web, tier in (a,b) or !canary"
    )
    if fields:
        parser.add_argument(
            "--field-selector",
            default="",
            metavar="FIELDS",
            help="such as status.phase=Running or spec.nodeName=node-1",
        )


def moment_flag(text: str) -> int:
    """The time in microseconds; 0 is valid."""
    return 0 if text in ("0", "0s") else options.duration(text)


def split_run(words: list[str], usage: str) -> tuple[list[str], str]:
    """Split off the run, which is the last argument."""
    if not words:
        raise UsageError(f"give a RUN: a file of `kubesim run --save`, or a scenario ({usage})")
    return words[:-1], words[-1]


def moment_of(args: argparse.Namespace, run: str) -> ClusterMoment:
    """The cluster at the requested time. Raises UsageError if the run does not exist or is shorter."""
    from kubesim.cli.views.saved_lines import is_saved_run
    from kubesim.cluster.saved.moment import ClusterMoment
    from kubesim.golang.text import duration

    history = _saved(args, run) if is_saved_run(run) else _played(args, run)
    if args.at is not None and args.at > history.end and history.is_whole:
        raise UsageError(f"--at {duration(args.at)}: the run ends at {duration(history.end)}; give an earlier time")
    if not history.is_whole and (args.at is None or args.at > history.end):
        warn(f"warning: {run} is incomplete: its last record is at {duration(history.end)}")
    return ClusterMoment(history, args.at)


def _saved(args: argparse.Namespace, run: str) -> RunHistory:
    from kubesim.cli.views.saved_lines import read_saved_lines
    from kubesim.cluster.saved.reader import read_history

    for name in _FOR_A_SCENARIO:
        if getattr(args, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} is for scenarios: {run} is a saved run")
    return read_history(read_saved_lines(run), run)


def _played(args: argparse.Namespace, run: str) -> RunHistory:
    """Run the scenario up to the requested time."""
    from kubesim.app import Trial, run_scenario
    from kubesim.cli.flags import manifest_flags
    from kubesim.cli.flags.saving_flags import header_of
    from kubesim.clock.garbage import collected_rarely
    from kubesim.cluster.saved.observer import history_of
    from kubesim.scenario.load.overlay import make_overlay
    from kubesim.values import replace

    seed, gates = options.seed(args), options.feature_gates(args)
    config = options.chosen(args.config, "KUBESIM_CONFIG", str)
    overlay = replace(make_overlay(config, {}, gates), allow_host=args.allow_host, profile=options.profile(args))
    given = argparse.Namespace(files=[run], filename=[], strict=False, recursive=False, seed=args.seed)
    runs = manifest_flags.load(given, gates, overlay)
    if len(runs) > 1:
        raise UsageError(f"{run}: its matrix creates {len(runs)} runs, but this command needs one")
    scenario = runs[0][1]
    if scenario.spec.sources.apiserver is not None:
        raise UsageError(f"{run}: a live cluster cannot be shown at a past time: use kubectl")
    history, observer = history_of(header_of(scenario, seed))
    trial = None if args.at is None else Trial(scenario.gates, args.at + 1)
    with collected_rarely():
        result = run_scenario(scenario, seed=seed, sinks=(observer,), trial=trial)
    history.ended(result.duration)
    return history


def selection_of(args: argparse.Namespace, resource: Resource) -> ObjectSelection:
    """The selection of objects. Raises KubectlError for an invalid selector."""
    from kubesim.cluster.kubectl.arguments import KubectlError
    from kubesim.cluster.saved.moment import ObjectSelection
    from kubesim.cluster.store.fields import check_fields
    from kubesim.cluster.store.selectors import SelectorError, parse_field_selector, parse_label_selector

    fields = getattr(args, "field_selector", "")
    everywhere = not resource.namespaced or getattr(args, "all_namespaces", False)
    try:
        selector = parse_field_selector(fields)
        check_fields(resource, selector)
        return ObjectSelection(None if everywhere else args.namespace, parse_label_selector(args.selector), selector)
    except SelectorError as error:
        what = (
            f"/v1, Resource={resource.plural}"
            if not resource.group
            else f"{resource.group}/v1, Resource={resource.plural}"
        )
        asked = f'label selector "{args.selector}", field selector "{fields}"'
        raise KubectlError(
            f'Error from server (BadRequest): Unable to find "{what}" that match {asked}: {error}'
        ) from None


def print_error(problem: object) -> int:
    """Print kubectl's error message; returns the exit code."""
    from kubesim.cli.output.terminal import safe

    print(safe(str(problem)), file=sys.stderr, flush=True)
    return EXIT_FAILED


def print_text(text: str) -> None:
    """Print text, which may lack a final line break."""
    from kubesim.cli.output.terminal import safe

    sys.stdout.write(safe(text))
