"""`kubesim diff`: compares two runs of the same files, or two saved traces: the first difference, its rule, and its
consequences.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kubesim.cli.flags import manifest_flags, options, report_flags
from kubesim.cli.output.terminal import say
from kubesim.errors import UsageError
from kubesim.features.table import PROFILES

if TYPE_CHECKING:
    from kubesim.cli.diff_runs import Played, RunDifference, Side
    from kubesim.scenario.language.document import Scenario

HELP = "compare what two versions of the kubelet, two seeds or two saved traces do: the first difference, and its rule"
DESCRIPTION = """Run the same scenarios or manifests twice, with two profiles, two seeds or two sets of feature gates.
Or compare two files: saved traces (kubesim run -o jsonl), saved runs (kubesim run --save) or scenarios. The
output shows the first difference with its causes on both sides, the rule or gate that causes it, and the consequences
for each pod. Exit code: 0 no difference, 1 a difference."""

FORMATS = ("text", "json")
SAVED = (".jsonl", ".jsonl.gz")


def configure(parser: argparse.ArgumentParser) -> None:
    manifest_flags.add(parser)
    options.add_profile(parser, twice=True)
    options.add_seed(parser, twice=True)
    options.add_feature_gates(parser, twice=True)
    parser.add_argument("--until", type=options.duration, metavar="DURATION", help="stop at this time: 90s, 1m30s, 2h")
    parser.add_argument("--config", metavar="FILE", help="a KubeletConfiguration (v1beta1), for both sides")
    parser.add_argument(
        "--all-rules",
        action="store_true",
        help="also find the rules behind the differences that remain when the first rule is made equal",
    )
    shape = "|".join(FORMATS)
    parser.add_argument("-o", "--output", type=options.one_of(FORMATS), metavar=shape, help="text, or one JSON object")
    parser.add_argument("--report", metavar="FILE.html", help="write an HTML page there with both runs side by side")
    parser.usage = "kubesim diff [options] --profile A --profile B FILE ... | -f PATH ... | A.jsonl B.jsonl"


def execute(args: argparse.Namespace) -> int:
    from kubesim.cli.output.difference import as_json, json_text, page

    if not args.files and not args.filename:
        raise UsageError("give a FILE, or -f and a file or directory, or two saved traces (see kubesim diff --help)")
    if "-" in (*args.files, *args.filename):
        raise UsageError("each side reads the files: save standard input in a file, and give that")
    output = options.chosen(args.output, "KUBESIM_OUTPUT", options.one_of(FORMATS)) or "text"
    if args.report is not None:
        report_flags.check_file(args.report)
    differences: list[RunDifference] = []
    for difference in _differences(args):
        if args.report is not None:
            if differences:
                raise UsageError("--report is the page of two runs: give one scenario")
            _write_report(args.report, difference)
        differences.append(difference)
        if output == "text":
            say(*([""] if len(differences) > 1 else []), *page(difference))
    if output == "json":
        print(json_text(as_json(differences)))
    return 0 if all(each.comparison.is_same for each in differences) else 1


def _write_report(path: str, difference: RunDifference) -> None:
    from kubesim.cli.output.difference import page
    from kubesim.cli.pictures.report import saved_data, write_comparison

    sides = [difference.left, difference.right]
    data = [
        each.reported.data(each.records[-1].t if each.records else 0)
        if each.reported is not None
        else saved_data(each.side.label, each.records)
        for each in sides
    ]
    first = difference.comparison.first
    records = () if first is None else (first.left, first.right)
    numbers = [0 if record is None else record.seq for record in records]
    write_comparison(path, difference.name, data, list(page(difference)), numbers)


def _differences(args: argparse.Namespace) -> Iterator[RunDifference]:
    from kubesim.clock.garbage import collected_rarely

    with collected_rarely():
        if all(len(given) < 2 for given in (args.profile, args.seed, args.feature_gates)):
            yield _of_two_files(args)
        elif any(file.endswith(SAVED) for file in args.files):
            raise UsageError("a saved trace is compared with another file: give two files, and no flag twice")
        else:
            yield from _of_two_sides(args)


def _sides(args: argparse.Namespace) -> tuple[Side, Side]:
    """The flags of both sides; a flag given once applies to both."""
    from kubesim.cli.diff_runs import Side

    given: dict[str, list[Any]] = {
        "profile": args.profile or [options.chosen(None, "KUBESIM_PROFILE", options.one_of(PROFILES))],
        "seed": args.seed or [options.chosen(None, "KUBESIM_SEED", options.whole_number)],
        "feature-gates": args.feature_gates or [options.chosen(None, "KUBESIM_FEATURE_GATES", options.gate_settings)],
    }
    for flag, values in given.items():
        if len(values) > 2:
            raise UsageError(f"--{flag} is given {len(values)} times: there are two sides")
    left, right = (values[0] for values in given.values()), (values[-1] for values in given.values())
    ours, theirs = tuple(left), tuple(right)
    return Side(_label(ours, theirs) or "A", *ours), Side(_label(theirs, ours) or "B", *theirs)


def _label(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> str:
    """The label of a side: `v1.30`, `seed 1`, `A=true`."""
    words = []
    for number, (own, other) in enumerate(zip(ours, theirs, strict=True)):
        if own != other:
            gates = (
                ",".join(f"{name}={str(value).lower()}" for name, value in own.items()) if number == 2 and own else ""
            )
            words.append((str(own), f"seed {own}", gates)[number])
    return ", ".join(filter(None, words))


# -- two files --------------------------------------------------------------------------------------------------


def _of_two_files(args: argparse.Namespace) -> RunDifference:
    from kubesim.cli.diff_runs import difference_of
    from kubesim.trace.compare.saved import as_saved
    from kubesim.values import replace

    if args.filename or len(args.files) != 2:
        problem = "nothing to compare: give --profile, --seed or --feature-gates twice, or two files without -f"
        raise UsageError(f"{problem} (see kubesim diff --help)")
    played = [_of_file(args, file) for file in args.files]
    if any(each.scenario is None for each in played):  # normalized like a saved trace
        played = [each if each.scenario is None else replace(each, records=as_saved(each.records)) for each in played]
    return difference_of(", ".join(args.files), *played, all_rules=args.all_rules)


def _of_file(args: argparse.Namespace, file: str) -> Played:
    from kubesim.cli.diff_runs import Played, play
    from kubesim.cli.output.effects import EffectSink
    from kubesim.cli.views.saved_lines import is_saved_run, read_saved_lines
    from kubesim.values import replace

    side = replace(_sides(args)[0], label=file)
    if not file.endswith(SAVED) and not is_saved_run(file):
        [(_, scenario)] = _loaded(argparse.Namespace(**{**vars(args), "files": [file]}), side)
        return play(scenario, side, args.until, EffectSink(sys.stderr), report=args.report is not None)
    from kubesim.trace.compare import read_trace

    return Played(side, read_trace(read_saved_lines(file), file))


# -- two sides --------------------------------------------------------------------------------------------------


def _of_two_sides(args: argparse.Namespace) -> Iterator[RunDifference]:
    """Both sides; reports every error before anything runs."""
    from kubesim.cli.diff_runs import difference_of, play
    from kubesim.cli.output.effects import EffectSink

    left, right = _sides(args)
    effects = EffectSink(sys.stderr)
    runs = zip(_loaded(args, left), _loaded(args, right, quiet=True), strict=True)
    for (name, ours), (_, theirs) in list(runs):
        kept = args.report is not None
        sides = ((ours, left), (theirs, right))
        played = [play(each, side, args.until, effects, report=kept) for each, side in sides]
        yield difference_of(name, *played, all_rules=args.all_rules)


def _loaded(args: argparse.Namespace, side: Side, *, quiet: bool = False) -> list[tuple[str, Scenario]]:
    from kubesim.scenario.load.overlay import make_overlay
    from kubesim.values import replace

    config = options.chosen(args.config, "KUBESIM_CONFIG", str)
    overlay = replace(make_overlay(config, {}, side.gates), allow_host=args.allow_host, profile=side.profile)
    runs = manifest_flags.load(args, side.gates, overlay, quiet=quiet)
    for name, scenario in runs:
        if scenario.spec.sources.apiserver is not None:
            raise UsageError(f"{name}: two runs against a live cluster cannot be compared: remove sources.apiserver")
        if scenario.spec.matrix is not None:
            raise UsageError(f"{name}: the file has a matrix, but diff compares two runs: remove spec.matrix")
    return runs
