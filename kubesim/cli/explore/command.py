"""`kubesim explore`: searches for faults that break a scenario, or many scenarios, on one machine or many."""

from __future__ import annotations

import argparse
from pathlib import Path

from kubesim.cli.executor_flags import add_executor, positive
from kubesim.cli.flags import options
from kubesim.errors import UsageError

HELP = "search for faults that break a scenario: at every point of its trace, alone and combined"
DESCRIPTION = """Run a scenario once, then repeatedly with faults at the points of its trace: before and after each
operation of the runtime, the network, images, volumes, the API server and the disk. First each fault alone, then pairs
and random combinations. A finding is a violated invariant, a failed expectation, a pod that never
recovers, a deadlock, or a crash of kubesim. Each one is reduced to the fewest faults and the smallest scenario, and
written as a file that `kubesim run` reproduces. With --all, scenarios, versions and seeds are drawn, too. `kubesim
explore merge DIR...` merges the results of shards. Exit code: 0 nothing found, 1 something found, 130
interrupted."""

FORMATS = ("text", "json", "jsonl")
EXIT_INTERRUPTED = 130
DEFAULT_BUDGET = "1000"
MERGE = "merge"


def configure(parser: argparse.ArgumentParser) -> None:
    what = "a scenario, manifests, or the name of a bundled scenario; or: merge DIR..."
    parser.add_argument("files", nargs="*", metavar="FILE", help=what)
    parser.add_argument("--all", type=Path, metavar="DIR", help="draw from all scenarios in DIR, again and again")
    parser.add_argument(
        "--budget",
        type=budget,
        metavar="RUNS|DURATION",
        help=f"how many runs, or how long: 200, 10m; default: {DEFAULT_BUDGET}",
    )
    parser.add_argument(
        "--faults", type=_names, metavar="NAME,...", help="only these faults; an unknown name lists them all"
    )
    parser.add_argument(
        "--invariants",
        type=_names,
        metavar="NAME,...",
        help="check only these, including convergence and expectations; an unknown name lists all",
    )
    options.add_profile(parser)
    options.add_feature_gates(parser)
    options.add_seed(parser)
    parser.add_argument("--output", metavar="DIR", type=Path, help="where results are written; default: explore-NAME")
    parser.add_argument(
        "-o", dest="format", type=options.one_of(FORMATS), default="text", metavar="|".join(FORMATS),
        help="text, one JSON object, or the lines that merge reads",
    )  # fmt: skip
    parser.add_argument(
        "--show-missing", action="store_true", help="list the decision rules that no run reached, before the findings"
    )
    parser.add_argument(
        "--database", metavar="DIR", help="keep random combinations that found something, and try them first next time"
    )
    parser.add_argument("--exit-zero", action="store_true", help="exit with 0 even if something was found")
    add_executor(parser)
    job = parser.add_argument_group("on a Kubernetes cluster")
    job.add_argument(
        "--print-job", action="store_true", help="print a Job that explores FILE in --completions shards, for kubectl"
    )
    job.add_argument("--completions", type=positive, metavar="N", help="shards of the Job; default: 10")
    job.add_argument("--parallelism", type=positive, metavar="N", help="pods at the same time; default: all")
    job.add_argument("--image", metavar="IMAGE", help="the image with kubesim; default: kubesim:VERSION")
    job.add_argument(
        "--claim", metavar="NAME", help="a PersistentVolumeClaim for the results; default: the log of each pod"
    )


def budget(text: str) -> tuple[int | None, float | None]:
    """The argparse type of a budget: a number of runs, or seconds."""
    if text.isascii() and text.isdigit():
        return positive(text), None
    return None, options.duration(text) / 1_000_000


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _check_database(args: argparse.Namespace) -> None:
    """A search with a database depends on the searches before it, on this machine."""
    others = {"--all": args.all, "--shard": args.shard, "--print-job": args.print_job, MERGE: args.files[:1] == [MERGE]}
    others["--executor ray"] = args.executor == "ray"
    wrong = [name for name, given in others.items() if given]
    if args.database is not None and wrong:
        raise UsageError(f"--database {args.database} is for one search on this machine: remove it, or {wrong[0]}")


def execute(args: argparse.Namespace) -> int:
    code = _execute(args)
    return 0 if args.exit_zero and code == 1 else code


def _execute(args: argparse.Namespace) -> int:
    if not args.print_job:
        for flag in ("completions", "parallelism", "image", "claim"):
            if getattr(args, flag) is not None:
                raise UsageError(f"--{flag} is for --print-job")
    _check_database(args)
    if args.all is not None:
        if args.files:
            raise UsageError(f"--all and {args.files[0]}: give a directory or a file")
        from kubesim.cli.explore.campaigns import run_campaign

        return run_campaign(args)
    if args.files[:1] == [MERGE]:
        from kubesim.cli.explore.merging import merge_results

        return merge_results(args, args.files[1:])
    if len(args.files) != 1:
        found = f"{len(args.files)} files" if args.files else "no file"
        raise UsageError(f"{found}: give one FILE, --all DIR, or merge DIR... (see kubesim explore --help)")
    if args.print_job:
        from kubesim.cli.explore.job import print_job

        return print_job(args)
    from kubesim.cli.explore.search import search_file

    return search_file(args)
