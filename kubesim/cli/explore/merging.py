"""`kubesim explore merge DIR...`: the results of all shards of a search, merged as if one process had produced them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kubesim.cli.output.terminal import say, warn
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.explore.results.lines import ReadResults
    from kubesim.explore.search.exploration import ExploreResult


def merge_results(args: argparse.Namespace, paths: Sequence[str]) -> int:
    from kubesim.cli.explore.report import print_result, write_findings
    from kubesim.cli.explore.result_files import check_output, read_results
    from kubesim.cli.explore.search import check_show_missing, exit_code, next_step, print_lines

    check_show_missing(args)
    if not paths:
        raise UsageError("merge: give the directories with the results of the shards: kubesim explore merge DIR...")
    result = merged_result(read_results(paths), paths)
    directory = args.output or (Path(paths[0]) if Path(paths[0]).is_dir() else Path(f"explore-{result.subject.name}"))
    check_output(args.output)
    if args.format == "jsonl":
        print_lines(result)
        return exit_code(result)
    files = write_findings(result, directory)
    print_result(result, files, args.format, show_missing=args.show_missing)
    if args.format == "text":
        say(next_step(result, files, directory))
    return exit_code(result)


def merged_result(found: ReadResults, paths: Sequence[str]) -> ExploreResult:
    """The results of one complete search."""
    from kubesim.executors.shard import Shard
    from kubesim.explore.results.merge import merge

    where = ", ".join(paths)
    if not found.complete and not found.incomplete:
        raise UsageError(f"{where}: there are no results of kubesim explore")
    if found.other_lines:
        warn(f"{where}: {found.other_lines} lines are not results; they were ignored")
    searches = {search for search, _ in (*found.complete, *found.incomplete)}
    if len(searches) > 1:
        raise UsageError(
            f"{where}: results of {len(searches)} different searches: the scenario, the flags or the version of kubesim"
            " differ; merge those of each search"
        )
    shards = {shard: result for (_, shard), result in found.complete.items()}
    counts = {shard.count for _, shard in (*found.complete, *found.incomplete)}
    if len(counts) > 1:
        raise UsageError(f"{where}: results of searches with {' and '.join(map(str, sorted(counts)))} shards")
    [count] = counts
    expected = [Shard(number, count) for number in range(1, count + 1)]
    missing = [shard.label for shard in expected if shard not in shards]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise UsageError(f"{where}: shard {', '.join(missing[:5])}{more} is missing: run it again with --shard")
    return merge([shards[shard] for shard in expected])
