"""`kubesim test PATH…`: runs scenarios as tests in parallel, and reports the results."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from kubesim.cli.executor_flags import add_executor, make_executor
from kubesim.cli.flags import kubelet_flags, options, runtime_flags
from kubesim.cli.output.terminal import warn
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.testing.cases import Collected, ScenarioCase
    from kubesim.testing.results import CaseResult, SuiteResult

HELP = "run scenarios as tests, in parallel, and report the failures"
DESCRIPTION = """Run each scenario with each seed as one test. Print one line per test, the details of failures, and a
summary. A test fails if an expectation fails, a step cannot be executed, an invariant is violated, or its timeline
differs from the stored one (NAME.timeline next to NAME.yaml). In a directory and its
subdirectories, all files of kind Scenario are run. The exit code is 1 if a test fails, 2 if a file is invalid (then
nothing is run), and 130 after Ctrl-C."""

FORMATS = ("text", "json", "github")
EXIT_INTERRUPTED = 130


def configure(parser: argparse.ArgumentParser) -> None:
    what = "a scenario, a directory of scenarios, or the name of a bundled one; scenarios: all that are bundled"
    parser.add_argument("paths", nargs="+", metavar="PATH", help=what)
    parser.add_argument(
        "--seeds",
        type=_seeds,
        metavar="LIST",
        help="run each scenario with all of these seeds: 1..50, 7, 1,4,10..12; default: its own seed",
    )
    parser.add_argument(
        "-k",
        dest="words",
        action="append",
        default=[],
        metavar="WORD",
        help="only scenarios with this word in their path or name; may be given several times",
    )
    add_executor(parser)
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the results to FILE as JUnit XML")
    parser.add_argument(
        "-o",
        "--output",
        type=options.one_of(FORMATS),
        default="text",
        metavar="|".join(FORMATS),
        help="text, one JSON object, or text with annotations for GitHub Actions",
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="rewrite the stored timelines that exist, and write one for each file named on the command line",
    )
    parser.add_argument(
        "--timeout",
        type=options.duration,
        metavar="DURATION",
        help="stop a test that takes longer in real time; default: 5m",
    )
    parser.add_argument(
        "--allow-host",
        action="store_true",
        help="allow scenarios to use the directories, plugins, URLs and clusters of this machine that they name",
    )
    runtime_flags.add_private(parser)


def _seeds(text: str) -> tuple[int, ...]:
    from kubesim.testing.cases import parse_seeds

    try:
        return parse_seeds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def execute(args: argparse.Namespace) -> int:
    from kubesim.testing.cases import collect

    settings = {"allow_host": args.allow_host, "from_flags": kubelet_flags.allowed_fields(args)}
    found = collect(args.paths, args.seeds or (), args.words, **settings)
    if found.problems:
        return _refuse(args, found)
    if not found.cases:
        raise UsageError(f"no scenario has {' or '.join(map(repr, args.words))} in its path or name")
    _check_junit(args.junit)
    cases = found.cases if args.shard is None else args.shard.of(found.cases)
    chosen = runtime_flags.chosen(args)
    run = _run(args, [case.with_runtime(*chosen) for case in cases])
    if args.junit is not None:
        from kubesim.testing.junit import junit_xml

        args.junit.write_text(junit_xml(run), encoding="utf-8")
    return EXIT_INTERRUPTED if run.interrupted else 0 if run.ok else 1


def _refuse(args: argparse.Namespace, found: Collected) -> int:
    """Print the errors of all files; nothing runs."""
    from kubesim.cli.testing.reports import annotation
    from kubesim.errors import InputError

    for error in found.problems:
        if args.output == "github" and isinstance(error, InputError):
            print(
                annotation(
                    error.source,
                    error.line or 1,
                    "not a scenario",
                    ": ".join(filter(None, (error.field, error.problem))),
                )
            )
        warn(f"error: {error}")
    return 2


def _check_junit(path: Path | None) -> None:
    """Check before the run that the JUnit file can be written."""
    if path is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        except OSError as error:
            raise UsageError(f"--junit {path}: {error.strerror}") from None


def _run(args: argparse.Namespace, cases: list[ScenarioCase]) -> SuiteResult:
    from functools import partial

    from kubesim.cli.run import terminated_as_interrupted
    from kubesim.cli.testing.reports import make_report
    from kubesim.clock.stopwatch import Stopwatch
    from kubesim.testing.playing import play_case
    from kubesim.testing.processes import run_cases
    from kubesim.testing.results import SuiteResult

    limit_s = (args.timeout or 300_000_000) / 1_000_000
    executor = make_executor(args, most=len(cases), limit_s=limit_s)
    report = make_report(args.output, len(cases), [case.file for case in cases])
    watch, done, interrupted = Stopwatch(), {}, False
    reported: list[CaseResult] = []
    with terminated_as_interrupted():
        try:
            for number, result in run_cases(executor, cases, partial(play_case, update=args.update)):
                done[number] = result
                report.progress(len(done), result)
                while len(reported) in done:  # in the order of the cases, not of completion
                    reported.append(done[len(reported)])
                    report.result(reported[-1])
        except KeyboardInterrupt:
            interrupted = True
            for number in sorted(done)[len(reported) :]:
                report.result(done[number])
        finally:
            executor.close()
    results = [done[number] for number in sorted(done)]
    run = SuiteResult(results, len(cases), watch.seconds(), executor.jobs, interrupted)
    report.end(run)
    return run
