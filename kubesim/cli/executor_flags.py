"""Flags for commands that run many tasks: where the tasks run, and which share of them."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from kubesim.cli.flags import options
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.executors.executor import Executor
    from kubesim.executors.shard import Shard

EXECUTORS = ("processes", "ray")


def add_executor(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--jobs", type=positive, metavar="N", help="parallel processes; default: one per core")
    parser.add_argument(
        "--executor",
        type=options.one_of(EXECUTORS),
        default="processes",
        metavar="|".join(EXECUTORS),
        help="processes of this machine, or the Ray cluster of RAY_ADDRESS (needs kubesim[ray]); default: processes",
    )
    parser.add_argument(
        "--shard",
        type=shard,
        metavar="I/N",
        help="run only share I of N, from 1/N to N/N; auto and auto/N read I from the environment of CI or of a Job",
    )


def positive(text: str) -> int:
    """The argparse type of a count: 1, 2, ..."""
    number = options.whole_number(text)
    if not number:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def shard(text: str) -> Shard:
    """The argparse type of a shard."""
    from kubesim.executors.shard import parse_shard

    try:
        return parse_shard(text, os.environ)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def make_executor(args: argparse.Namespace, *, most: int | None = None, limit_s: float | None = None) -> Executor:
    """The executor of the flags, for at most `most` tasks; on this machine, `limit_s` seconds are the limit of each."""
    if args.executor == "ray":
        if args.jobs is not None:
            raise UsageError("--jobs has no effect with --executor ray: the cluster has a worker for each of its CPUs")
        from kubesim.executors.ray_cluster import RayCluster

        return RayCluster()
    from kubesim.executors.processes import ProcessPool
    from kubesim.executors.same_process import SameProcess

    jobs = args.jobs or os.cpu_count() or 1
    jobs = jobs if most is None else max(1, min(jobs, most))
    return ProcessPool(jobs, limit_s) if jobs > 1 or limit_s is not None else SameProcess()
