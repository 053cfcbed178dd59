"""`kubesim explore FILE`: runs a scenario with faults at the points of its trace, and reports violated rules."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kubesim.cli.flags import options
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.executors.executor import Executor
    from kubesim.explore.search.exploration import Settings
    from kubesim.explore.subject import ExploreSubject

HELP = "search for faults that break a scenario: at every point of its trace, alone and combined"
DESCRIPTION = """Run a scenario once, then again and again with faults at the points of its trace: before and after each
operation of the runtime, the network, images, volumes, the API server and the disk. First each fault alone, then pairs
and random combinations. A finding is a violated invariant, an expectation that does not come true, a pod that never
recovers, a deadlock, or a crash of kubesim. Each one is reduced to the fewest faults and the smallest scenario, and
written as a file that `kubesim run` reproduces. Exit code: 0 nothing found, 1 something found."""

FORMATS = ("text", "json")
EXIT_INTERRUPTED = 130
DEFAULT_BUDGET = "1000"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a scenario, manifests, or the name of a bundled scenario")
    parser.add_argument(
        "--budget",
        type=_budget,
        metavar="RUNS|DURATION",
        help=f"how many runs, or how long: 200, 10m; default: {DEFAULT_BUDGET}",
    )
    parser.add_argument("--jobs", type=_positive, metavar="N", help="parallel processes; default: one per core")
    parser.add_argument(
        "--faults", type=_names, metavar="NAME,...", help="only these faults; an unknown name lists them all"
    )
    parser.add_argument(
        "--invariants",
        type=_names,
        metavar="NAME,...",
        help="check only these; convergence and expectations are names, too; an unknown name lists them all",
    )
    options.add_profile(parser)
    options.add_feature_gates(parser)
    options.add_seed(parser)
    parser.add_argument("--output", metavar="DIR", type=Path, help="where findings are written; default: explore-NAME")
    parser.add_argument(
        "-o", dest="format", type=options.one_of(FORMATS), default="text", metavar="|".join(FORMATS),
        help="text, or one JSON object",
    )  # fmt: skip


def _positive(text: str) -> int:
    number = options.whole_number(text)
    if not number:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _budget(text: str) -> tuple[int | None, float | None]:
    """The argparse type of a budget: a number of runs, or seconds."""
    if text.isascii() and text.isdigit():
        return _positive(text), None
    return None, options.duration(text) / 1_000_000


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def execute(args: argparse.Namespace) -> int:
    from kubesim.cli.explore.report import ProgressLine, print_result, write_findings
    from kubesim.cli.run import terminated_as_interrupted
    from kubesim.explore.search.exploration import Exploration

    subject, settings = subject_of(args), settings_of(args)
    directory = args.output or Path(f"explore-{subject.name}")
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
    files = write_findings(result, directory)
    print_result(result, files, args.format)
    return EXIT_INTERRUPTED if interrupted else 1 if result.findings else 0


def make_executor(args: argparse.Namespace) -> Executor:
    import os

    from kubesim.executors.processes import ProcessPool
    from kubesim.executors.same_process import SameProcess

    jobs = args.jobs or os.cpu_count() or 1
    return ProcessPool(jobs) if jobs > 1 else SameProcess()


def subject_of(args: argparse.Namespace) -> ExploreSubject:
    from kubesim.explore.subject import CHECKS, ExploreSubject
    from kubesim.shipped import scenario_file

    if args.file == "-":
        raise UsageError("each process reads the file: save standard input in a file, and give that")
    checked = _known("--invariants", args.invariants, CHECKS) if args.invariants else CHECKS
    gates = options.feature_gates(args) or {}
    return ExploreSubject.of_file(
        scenario_file(args.file),
        profile=options.profile(args),
        gates=tuple(sorted(gates.items())),
        seed=options.seed(args),
        checked=checked,
    )


def settings_of(args: argparse.Namespace) -> Settings:
    from kubesim.explore.choice import EFFECTS, GROUPS, effects_named
    from kubesim.explore.search.exploration import Budget, Settings

    faults = _known("--faults", args.faults, (*EFFECTS, *GROUPS)) if args.faults else tuple(EFFECTS)
    runs, seconds = args.budget or _budget(DEFAULT_BUDGET)
    budget = Budget(runs, seconds)
    return Settings(effects=effects_named(faults), budget=budget, seed=options.seed(args) or 0)


def _known(flag: str, given: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [name for name in given if name not in names]
    if unknown:
        raise UsageError(f"{flag}: there is no {unknown[0]!r}; the names are {', '.join(names)}")
    return given
