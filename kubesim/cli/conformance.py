"""`kubesim conformance PATH…`: replays recorded decisions of the real kubelet and compares."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubesim.cli.flags import options
from kubesim.cli.output.terminal import say
from kubesim.errors import UsageError
from kubesim.golang.json import printable_json

if TYPE_CHECKING:
    from kubesim.conformance.results import CorpusResult

HELP = "replay recorded decisions of the real kubelet and compare the answers"
DESCRIPTION = """Run every corpus (NAME.jsonl or NAME.jsonl.gz) and every story (NAME.json, NAME.json.gz) found in the
given files and directories. Each case is replayed and compared with the recorded answer, if there is one. Stories of a
real node form the corpus traces, stories of the real controllers and scheduler form the corpus workloads. A story is
replayed with several seeds (1 to 20, workloads 1 to 10) until one reproduces it, unless a seed is given. Exits with 1
if any case fails."""

SHOWN = 3  # failures shown per corpus
SHOWN_DIFFERENCES = 6  # lines shown per failure


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a corpus, a story, or a directory of them")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this corpus; may be given several times")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--show", type=options.whole_number, metavar="N", help=f"failures to show for each corpus (default: {SHOWN})"
    )
    shown.add_argument("--all-failures", action="store_true", help="show every failure")
    parser.add_argument(
        "--json", action="store_true", help="print the results as JSON; all failures unless --show is given"
    )
    emit = "write kubesim's answers to DIR/NAME.jsonl, those of stories to DIR/NAME.json"
    parser.add_argument("--emit", type=Path, metavar="DIR", help=emit)
    options.add_seed(parser)


def execute(args: argparse.Namespace) -> int:
    from kubesim.cli.progress.corpora import Observer
    from kubesim.conformance.frame import is_known
    from kubesim.conformance.runner import find_corpora, run_corpus
    from kubesim.conformance.stories.story_files import STORIES

    found = _by_name(find_corpora(args.paths))
    if not found:
        raise UsageError(f"no corpora (NAME.jsonl or NAME.jsonl.gz) in {', '.join(map(str, args.paths))}")
    _check_only(args.only, set(found))
    chosen = {name: paths for name, paths in found.items() if not args.only or name in args.only}
    seed = options.seed(args)
    results: list[CorpusResult] = []
    with Observer(args.emit, sys.stderr) as observer:
        for name, paths in chosen.items():
            if name in STORIES:
                from kubesim.conformance.stories.story_runner import (
                    run_stories,  # needs a whole node; other corpora need less
                )

                results.append(run_stories(paths, name, seed=seed, watcher=observer))
            elif is_known(name):
                results += [run_corpus(path, seed=seed or 0, watcher=observer) for path in paths]
    unknown = sorted(name for name in chosen if name not in STORIES and not is_known(name))
    limit = None if args.all_failures else args.show
    if args.json:
        print(printable_json(as_json(results, unknown, limit)))
    else:
        _print(results, unknown, SHOWN if limit is None and not args.all_failures else limit)
    return 1 if any(result.failed for result in results) else 0


def _by_name(paths: list[Path]) -> dict[str, list[Path]]:
    """The files of each corpus."""
    from kubesim.conformance.frame import corpus_name
    from kubesim.conformance.stories.story_files import STORY_SUFFIXES, story_corpus

    named: dict[str, list[Path]] = {}
    for path in paths:
        name = story_corpus(path) if path.name.endswith(STORY_SUFFIXES) else corpus_name(path)
        named.setdefault(name, []).append(path)
    return named


def _check_only(wanted: list[str] | None, names: set[str]) -> None:
    for name in wanted or ():
        if name not in names:
            raise UsageError(f"--only {name}: is not a corpus here; the corpora are {', '.join(sorted(names))}")


def as_json(results: list[CorpusResult], unknown: list[str], limit: int | None) -> dict[str, Any]:
    corpora = []
    for result in results:
        failures = [
            {"case": failure.case, "expected": failure.expected, "actual": failure.actual}
            for failure in result.failures[:limit]
        ]
        entry: dict[str, Any] = {"name": result.name, "cases": result.cases, "passed": result.passed}
        entry |= {"failed": result.failed, "failures": failures}
        if result.not_judged:
            entry["notJudged"] = result.not_judged
        if result.not_runnable:
            entry["notRunnable"] = [{"case": case, "why": why} for case, why in result.not_runnable.items()]
        corpora.append(entry)
    return {"corpora": corpora} | ({"notKnown": unknown} if unknown else {})


def _print(results: list[CorpusResult], unknown: list[str], limit: int | None) -> None:
    for result in results:
        for failure in result.failures[:limit]:
            say(failure.case)
            for line in failure.differences[:SHOWN_DIFFERENCES]:
                say(f"    {line}")
            if len(failure.differences) > SHOWN_DIFFERENCES:
                print(f"    ... and {len(failure.differences) - SHOWN_DIFFERENCES} more differences")
        hidden = 0 if limit is None else result.failed - limit
        if limit and hidden > 0:
            print(f"... and {hidden} more failures of {result.name} (--all-failures shows them)")
    if any(result.failed for result in results) and limit != 0:
        print()
    _print_table(results)
    for name in unknown:
        say(f"{name}: not known here")
    for result in results:
        for case, why in result.not_runnable.items():
            say(f"{case}: not runnable here: {why}")


def _print_table(results: list[CorpusResult]) -> None:
    rows = [(r.name, r.cases, r.passed, r.failed, r.seconds, r.not_judged, len(r.not_runnable)) for r in results]
    if len(rows) > 1:
        rows.append(("total", *(sum(column) for column in list(zip(*rows, strict=True))[1:])))
    width = max((len(row[0]) for row in rows), default=6)
    print(f"{'corpus':<{width}}  {'cases':>6}  {'passed':>6}  {'failed':>6}  {'seconds':>7}")
    for name, cases, passed, failed, seconds, not_judged, not_runnable in rows:
        note = f"  ({not_judged} without an answer: not judged)" if not_judged else ""
        note += f"  ({not_runnable} not runnable here)" if not_runnable else ""
        print(f"{name:<{width}}  {cases:>6}  {passed:>6}  {failed:>6}  {seconds:>7.2f}{note}")
