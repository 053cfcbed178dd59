"""The output of `kubesim explore`: findings with their explanation, and the table of rules."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from kubesim.cli.output.terminal import safe, say
from kubesim.cli.progress.corpora import CLEAR
from kubesim.errors import UsageError
from kubesim.explore.rules.decisions import DecisionCoverage, coverage_of

if TYPE_CHECKING:
    from kubesim.explore.search.exploration import ExploreResult, SearchProgress
    from kubesim.explore.search.finding import Finding


class ProgressLine:
    """The progress of the search, on a terminal."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal if terminal.isatty() else None

    def show(self, progress: SearchProgress) -> None:
        if self._terminal is None:
            return
        budget = progress.budget
        of = f"/{budget.runs}" if budget.runs is not None else ""
        left = f", {max(0, budget.seconds - progress.seconds):.0f} s left" if budget.seconds is not None else ""
        rate = progress.played / progress.seconds if progress.seconds else 0.0
        found = f"{progress.findings} finding{'' if progress.findings == 1 else 's'}"
        runs = progress.runs if budget.runs is None else min(progress.runs, budget.runs)
        text = f"{runs}{of} runs, {rate:.0f}/s, {progress.rules} rules, {found}{left}"
        self._terminal.write(f"{CLEAR}{safe(text)}")
        self._terminal.flush()

    def clear(self) -> None:
        if self._terminal is not None:
            self._terminal.write(CLEAR)
            self._terminal.flush()


def write_findings(result: ExploreResult, directory: Path) -> list[Path]:
    """Write a scenario and an explanation for each finding."""
    return [write_finding(finding, directory, number) for number, finding in enumerate(result.findings, start=1)]


def write_finding(finding: Finding, directory: Path, number: int) -> Path:
    from kubesim.explore.scenario_file import file_name, file_text

    path = directory / file_name(finding, number)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text(file_text(finding, path.name), encoding="utf-8")
        path.with_suffix(".txt").write_text("\n".join(explanation(finding)) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--output {directory}: {error.strerror}") from None
    return path


def explanation(finding: Finding) -> Iterator[str]:
    """The violated rule, and the run compared with that of the scenario without faults."""
    from kubesim.cli.diff_runs import Side, difference_of, play
    from kubesim.cli.output.difference import page

    problem, run = finding.problem, finding.run
    yield finding.title
    yield f"{problem.rule}: {problem.text}"
    yield from (f"  {line}" for line in problem.story)
    if not finding.choices:
        return
    yield ""
    sides = [("without", ()), ("with", finding.choices)]
    try:
        played = [
            play(run.subject.played(choices), Side(label, None, run.subject.seed, None), None)
            for label, choices in sides
        ]
    except Exception as error:  # the finding itself: the run does not reach its end
        yield f"The run with the faults ends with {type(error).__name__}: {error}"
        return
    yield from page(difference_of(run.subject.name, *played))


def print_result(result: ExploreResult, files: Sequence[Path], format: str, *, show_missing: bool = False) -> None:
    if format == "json":
        print(json.dumps(as_json(result, files), indent=2))
        return
    say(*coverage_table(coverage_of(result.rules), show_missing=show_missing), "", *_lines(result, files))


def _lines(result: ExploreResult, files: Sequence[Path]) -> Iterator[str]:
    for number, (finding, path) in enumerate(zip(result.findings, files, strict=True), start=1):
        yield f"{number}. {finding.title}"
        yield f"   {finding.problem.text}"
        times = f"in {finding.count} run{'' if finding.count == 1 else 's'}"
        yield f"   {times}; kubesim run {path}"
        yield from (f"   {line}" if line else "" for line in what_happened(path))
        yield ""
    yield summary(result)


def what_happened(path: Path) -> Iterator[str]:
    """The stored explanation of a finding, without its title and the differences."""
    lines = path.with_suffix(".txt").read_text(encoding="utf-8").splitlines()[2:]
    yield from takewhile(lambda line: not line.startswith("Consequences"), lines)


def coverage_table(groups: Sequence[DecisionCoverage], *, show_missing: bool) -> Iterator[str]:
    """How many rules of each decision were reached; with `show_missing` also each rule that was not."""
    width = max(len(group.group) for group in groups)
    if show_missing:
        yield "Decision rules never reached:"
        yield from (f"  {group.group:{width}}  {rule}" for group in groups for rule in group.never)
    yield "Decision rules reached:"
    for group in groups:
        yield f"  {group.group:{width}}  {group.count - len(group.never):3} of {group.count}"


def summary(result: ExploreResult) -> str:
    found = len(result.findings)
    rate = (result.runs + result.shrinking) / result.seconds if result.seconds else 0.0
    what = f"{found} finding{'' if found == 1 else 's'}" if found else "nothing found"
    more = f" and {result.shrinking} to shrink" if result.shrinking else ""
    twice = f"{result.played_twice} played twice" if result.played_twice else "none played twice"
    ended = "interrupted: " if result.interrupted else ""
    speed = f"{result.seconds:.0f} s, {rate:.0f} runs/s"
    return f"{ended}{what}; {result.runs} runs{more} in {speed}; {len(result.rules)} rules reached; {twice}"


def as_json(result: ExploreResult, files: Sequence[Path]) -> dict[str, Any]:
    findings = [{**finding.to_json(), "file": str(path)} for finding, path in zip(result.findings, files, strict=True)]
    return {
        "scenario": result.subject.name,
        "profile": result.subject.scenario().spec.profile,
        "runs": result.runs,
        "shrinking": result.shrinking,
        "playedTwice": result.played_twice,
        "singles": result.singles,
        "lost": result.lost,
        "seconds": round(result.seconds, 3),
        "jobs": result.jobs,
        "interrupted": result.interrupted,
        "findings": findings,
        "rules": result.rules,
        "neverReached": {group.group: list(group.never) for group in coverage_of(result.rules)},
        "growth": [list(each) for each in result.growth],
    }
