"""The output of `kubesim test`: readable lines, one JSON object, or lines with annotations for GitHub Actions."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Protocol, TextIO

from kubesim.cli.output.terminal import safe
from kubesim.cli.progress.corpora import BAR, CLEAR
from kubesim.golang.json import printable_json
from kubesim.golang.text import duration
from kubesim.testing.results import CaseResult, SuiteResult

_WORDS = {"passed": "ok", "failed": "FAILED", "error": "ERROR"}
_COLOURS = {"passed": "\x1b[32m", "failed": "\x1b[31m", "error": "\x1b[31m"}
_PLAIN = "\x1b[0m"
_WIDEST = 60  # width of the file column
_DETAIL_LINES = 60  # of one test


class CaseReport(Protocol):
    """The report of a test run. `progress` gets results as they complete, `result` in the order of the cases."""

    def progress(self, done: int, result: CaseResult) -> None: ...
    def result(self, result: CaseResult) -> None: ...
    def end(self, run: SuiteResult) -> None: ...


def make_report(output: str, cases: int, files: Sequence[str]) -> CaseReport:
    if output == "json":
        return JsonTestReport()
    bar = ProgressBar(cases, sys.stderr)
    return (GithubReport if output == "github" else TextTestReport)(sys.stdout, bar, files)


class ProgressBar:
    """A progress bar below the output, on a terminal."""

    def __init__(self, cases: int, terminal: TextIO) -> None:
        self._cases = cases
        self._terminal = terminal if terminal.isatty() else None

    def draw(self, done: int, text: str) -> None:
        if self._terminal is not None:
            bar = "#" * (BAR * done // self._cases)
            self._terminal.write(f"{CLEAR}[{bar:<{BAR}}] {done}/{self._cases} {safe(text)}")
            self._terminal.flush()

    def clear(self) -> None:
        if self._terminal is not None:
            self._terminal.write(CLEAR)
            self._terminal.flush()


class TextTestReport:
    """A line for each test, details of failures, and a summary."""

    def __init__(self, out: TextIO, bar: ProgressBar, files: Sequence[str]) -> None:
        self._out = out
        self._bar = bar
        self._width = min(max(map(len, files), default=0), _WIDEST)
        self._colour = out.isatty() and not os.environ.get("NO_COLOR")
        self._failed: list[CaseResult] = []

    def progress(self, done: int, result: CaseResult) -> None:
        self._bar.draw(done, result.file)

    def result(self, result: CaseResult) -> None:
        self._bar.clear()
        if result.status != "passed":
            self._failed.append(result)
        self._print(self._line(result))

    def _line(self, result: CaseResult) -> str:
        word = f"{_WORDS[result.status]:<6}"
        if self._colour:
            word = f"{_COLOURS[result.status]}{word}{_PLAIN}"
        span = f"{duration(result.duration // 1000 * 1000)} in {result.seconds:.2f} s"
        reported = [result.label, span]
        if result.status == "passed":
            reported += [] if result.met else ["nothing is expected"]
        else:
            reported.append(
                f"{len(result.failures)} of {result.met + len(result.failures)} failed" if result.failures else ""
            )
        reported += ["timeline written"] if result.snapshot == "written" else []
        return f"{word}  {safe(result.file):<{self._width}}  {', '.join(filter(None, reported))}"

    def _print(self, *lines: str) -> None:
        for line in lines:
            self._out.write(line + "\n")
        self._out.flush()

    def end(self, run: SuiteResult) -> None:
        self._bar.clear()
        for result in self._failed:
            self.details(result)
        self._print("", *self._summary(run))

    def details(self, result: CaseResult) -> None:
        lines = result.lines()
        more = [f"... and {len(lines) - _DETAIL_LINES} more lines"] if len(lines) > _DETAIL_LINES else []
        self._print("", safe(f"{_WORDS[result.status]} {result.file} ({result.label})"))
        self._print(*(f"  {safe(line)}" for line in [*lines[:_DETAIL_LINES], *more]), f"  again: {safe(result.again)}")

    def _summary(self, run: SuiteResult) -> list[str]:
        counts = {"passed": run.count("passed"), "failed": run.count("failed"), "could not be run": run.count("error")}
        reported = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing was run"
        if run.interrupted:
            reported = f"interrupted: {reported}, {run.cases - len(run.results)} not run"
        processes = f"{run.jobs} process{'es' if run.jobs > 1 else ''}"
        return [f"{reported} in {run.seconds:.1f} s on {processes}"]


class GithubReport(TextTestReport):
    """The text report with a GitHub annotation for each failure, shown at the line in the file."""

    def details(self, result: CaseResult) -> None:
        self._print("", safe(f"::group::{_WORDS[result.status]} {result.file} ({result.label})"))
        self._print(*(f"  {safe(line)}" for line in [*result.lines(), f"again: {result.again}"]), "::endgroup::")
        title = f"{result.scenario} ({result.label})"
        if result.problem:
            self._print(annotation(result.file, 1, title, result.problem))
        for failure in result.failures:
            self._print(annotation(failure.file or result.file, failure.line or 1, title, failure.sentence))


def annotation(file: str, line: int, title: str, text: str) -> str:
    """`::error file=…,line=…,title=…::TEXT`, with special characters escaped."""

    def value(text: str) -> str:
        return message(text).replace(":", "%3A").replace(",", "%2C")

    def message(text: str) -> str:
        return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    return f"::error file={value(file)},line={line},title={value(title)}::{message(text)}"


class JsonTestReport:
    """One JSON object, printed at the end."""

    def progress(self, done: int, result: CaseResult) -> None:
        pass

    def result(self, result: CaseResult) -> None:
        pass

    def end(self, run: SuiteResult) -> None:
        print(printable_json(run.to_json()))
