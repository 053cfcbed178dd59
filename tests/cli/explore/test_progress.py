"""The progress line of a search: on a terminal only, and removed at the end."""

from __future__ import annotations

import io

from kubesim.cli.explore.report import ProgressLine
from kubesim.explore.search.exploration import Budget, SearchProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_line_shows_the_budget_the_rate_and_the_findings() -> None:
    terminal = Terminal()
    line = ProgressLine(terminal)
    line.show(SearchProgress(128, 150, 66, 1, Budget(runs=1000), seconds=10.0))
    assert terminal.getvalue() == "\r\x1b[K128/1000 runs, 15/s, 66 rules, 1 finding"
    line.clear()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_a_time_counts_down() -> None:
    terminal = Terminal()
    ProgressLine(terminal).show(SearchProgress(20, 20, 66, 2, Budget(seconds=60.0), seconds=10.0))
    assert terminal.getvalue().endswith("20 runs, 2/s, 66 rules, 2 findings, 50 s left")


def test_the_line_never_exceeds_the_budget() -> None:
    """Within a round, runs for shrinking count, too."""
    terminal = Terminal()
    ProgressLine(terminal).show(SearchProgress(104, 104, 66, 0, Budget(runs=100), seconds=10.0))
    assert "100/100 runs" in terminal.getvalue()


def test_a_file_gets_nothing() -> None:
    file = io.StringIO()
    line = ProgressLine(file)
    line.show(SearchProgress(1, 1, 1, 0, Budget(runs=1), seconds=1.0))
    line.clear()
    assert file.getvalue() == ""
