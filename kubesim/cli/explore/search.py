"""`kubesim explore FILE`: one search, or one shard of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kubesim.cli.executor_flags import make_executor
from kubesim.cli.explore.command import DEFAULT_BUDGET, EXIT_INTERRUPTED, budget
from kubesim.cli.flags import options
from kubesim.cli.output.terminal import say
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.explore.search.exploration import Budget, ExploreResult, Settings
    from kubesim.explore.subject import ExploreSubject


def search_file(args: argparse.Namespace) -> int:
    from kubesim.cli.explore.report import ProgressLine, print_result, write_findings
    from kubesim.cli.explore.result_files import check_output, write_lines
    from kubesim.cli.run import terminated_as_interrupted
    from kubesim.explore.search.exploration import Exploration

    check_installed()
    check_show_missing(args)
    subject, settings = subject_of(args, args.files[0]), settings_of(args)
    directory = args.output or Path(f"explore-{subject.name}")
    check_output(directory if args.output else None)
    executor, line = make_executor(args), ProgressLine(sys.stderr)
    exploration, interrupted = Exploration(subject, settings, executor, line.show), False
    with terminated_as_interrupted():
        try:
            exploration.explore()
        except KeyboardInterrupt:
            interrupted = True
        finally:
            line.clear()
            executor.close()
    result = exploration.result()
    result.interrupted = interrupted
    if args.format == "jsonl" and args.output is None:
        print_lines(result)
        return exit_code(result)
    if result.findings or args.output is not None or args.shard is not None:
        write_lines(result, directory)
    is_share = settings.shard[1] > 1
    files = write_findings(result, directory / f"shard-{args.shard.number}" if is_share else directory)
    if args.format == "jsonl":
        print_lines(result)
    else:
        print_result(result, files, args.format, show_missing=args.show_missing)
        if args.format == "text":
            say(next_step(result, files, directory))
    return exit_code(result)


def next_step(result: ExploreResult, files: Sequence[Path], directory: Path) -> str:
    """The last line of the output: what to type next."""
    index, count = result.settings.shard
    if count > 1:
        return f"this was shard {index + 1}/{count}; when all are done: kubesim explore merge {directory}"
    if files:
        return f"next: kubesim run {files[0]}; the explanation is in {files[0].with_suffix('.txt')}"
    if result.runs < result.singles:
        return f"{result.runs} of {result.singles} single faults were tried: --budget {result.singles} tries them all"
    more = f"--budget {2 * result.runs} tries more combinations; " if result.singles else ""
    return f"all {result.singles} single faults were tried; {more}--show-missing lists the rules never reached"


def print_lines(result: ExploreResult) -> None:
    from kubesim.explore.results.lines import lines_of

    for line in lines_of(result):
        print(line)


def exit_code(result: ExploreResult) -> int:
    return EXIT_INTERRUPTED if result.interrupted else 1 if result.findings else 0


def check_show_missing(args: argparse.Namespace) -> None:
    if args.show_missing and args.format != "text":
        raise UsageError(f"--show-missing has no effect with -o {args.format}: remove it; -o json lists those rules")


def check_installed() -> None:
    from importlib.util import find_spec

    if find_spec("hypothesis") is None:
        raise UsageError("kubesim explore needs hypothesis: pip install 'kubesim[explore]'")


def subject_of(args: argparse.Namespace, file: str) -> ExploreSubject:
    from kubesim.explore.subject import ExploreSubject
    from kubesim.shipped import scenario_file

    if file == "-":
        raise UsageError("each process reads the file: save standard input in a file, and give that")
    gates = options.feature_gates(args) or {}
    return ExploreSubject.of_file(
        scenario_file(file),
        profile=options.profile(args),
        gates=tuple(sorted(gates.items())),
        seed=options.seed(args),
        checked=checks_of(args),
    )


def settings_of(args: argparse.Namespace) -> Settings:
    from kubesim.explore.search.exploration import Settings

    shard = (args.shard.index, args.shard.count) if args.shard is not None else (0, 1)
    seed, database = options.seed(args) or 0, args.database or ""
    return Settings(effects=effects_of(args), budget=budget_of(args), seed=seed, shard=shard, database=database)


def checks_of(args: argparse.Namespace) -> tuple[str, ...]:
    from kubesim.explore.subject import CHECKS

    return _known("--invariants", args.invariants, CHECKS) if args.invariants else CHECKS


def budget_of(args: argparse.Namespace) -> Budget:
    from kubesim.explore.search.exploration import Budget

    return Budget(*(args.budget or budget(DEFAULT_BUDGET)))


def effects_of(args: argparse.Namespace) -> tuple[str, ...]:
    from kubesim.explore.choice import EFFECTS, GROUPS, effects_named

    return effects_named(_known("--faults", args.faults, (*EFFECTS, *GROUPS)) if args.faults else tuple(EFFECTS))


def _known(flag: str, given: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [name for name in given if name not in names]
    if unknown:
        raise UsageError(f"{flag}: there is no {unknown[0]!r}; the names are {', '.join(names)}")
    return given
