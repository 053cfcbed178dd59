"""What a terminal shows of a test run."""

from __future__ import annotations

from io import StringIO

from kubesim.cli.testing.reports import ProgressBar, TextTestReport, annotation
from kubesim.testing.results import CaseResult, SuiteResult


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_on_a_terminal_only() -> None:
    terminal, pipe = Terminal(), StringIO()
    for out in (terminal, pipe):
        ProgressBar(4, out).draw(2, "a.yaml\x1b")
    assert terminal.getvalue() == "\r\x1b[K[###############               ] 2/4 a.yaml\\x1b"
    assert pipe.getvalue() == ""


def test_names_cannot_drive_a_terminal() -> None:
    out = StringIO()
    report = TextTestReport(out, ProgressBar(1, StringIO()), ["a\x1b.yaml"])
    crashed = CaseResult("a\x1b.yaml", "a", 0, problem="bad \x1b[31m")
    report.result(crashed)
    report.end(SuiteResult([crashed], 1, 0.0, 1))
    assert "\x1b" not in out.getvalue()
    assert "1 could not be run in 0.0 s on 1 process" in out.getvalue()


def test_an_annotation_escapes_what_would_end_it() -> None:
    line = annotation("a,b:c.yaml", 3, "50%", "first\nsecond: 100%, really")
    assert line == "::error file=a%2Cb%3Ac.yaml,line=3,title=50%25::first%0Asecond: 100%25, really"
