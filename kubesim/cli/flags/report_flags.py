"""`kubesim run --report FILE.html`: writes the run as a page with every decision, and the cluster at any time."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.cli.pictures.report import ReportedRun
    from kubesim.cluster.saved.lines import RunHeader
    from kubesim.kubelet.server import Pages, Serving
    from kubesim.scenario.ending.result import RunResult
    from kubesim.scenario.language.document import Scenario
    from kubesim.trace import Sink

HELP = "write one HTML page there that shows every decision, the state around it and the cluster at that moment"


def add(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    parser.add_argument("--report", metavar="FILE.html", help=HELP)


def check(args: argparse.Namespace, scenarios: Sequence[tuple[str, Scenario]]) -> None:
    if args.report is None:
        return
    if len(scenarios) > 1:
        raise UsageError("--report is the page of one run: give one scenario, without a matrix")
    check_file(args.report)


def check_file(path: str) -> None:
    """Reject a file that cannot be written before anything runs."""
    try:
        with open(path, "a", encoding="utf-8"):
            pass
    except (OSError, ValueError) as error:
        raise UsageError(f"--report {path}: {getattr(error, 'strerror', None) or error}") from None


class ReportingRun:
    """The report of a run, if requested."""

    def __init__(self, path: str | None, header: RunHeader) -> None:
        self._path, self._header = path, header
        self._run: ReportedRun | None = None
        if path is not None:
            from kubesim.cli.pictures.report import ReportedRun

            self._run = ReportedRun(header)

    def sinks(self) -> tuple[Sink, ...]:
        return () if self._run is None else self._run.sinks()

    def pages(self) -> Pages | None:
        """The pages to serve during the run."""
        if self._run is None or self._path is None:
            return None
        from kubesim.cli.pictures.live_report import LiveReport
        from kubesim.cli.pictures.report import title_of

        return LiveReport(self._run, title_of(self._header), self._path)

    def finish(self, result: RunResult) -> None:
        if self._run is None or self._path is None:
            return
        from kubesim.cli.pictures.report import write_report

        write_report(self._path, self._run, self._header, result)

    def finish_attached(self, lines: Sequence[str]) -> None:
        """Write the report of a run beside a real kubelet, with these summary lines."""
        if self._run is None or self._path is None:
            return
        from kubesim.cli.pictures.report import write_attached_report

        write_attached_report(self._path, self._run, self._header, lines)


def serving(address: tuple[str, int] | None, pages: Pages | None) -> Serving | None:
    """The server of --serve; with --report it also serves the page during the run."""
    if address is None:
        return None
    from kubesim.kubelet.server import Serving

    def print_address(at: str) -> None:
        report = "" if pages is None else f", the report on {at}{pages.path}"
        print(f"kubesim: serving on {at}{report}", file=sys.stderr, flush=True)

    return Serving(*address, print_address, pages)
