"""Terminal output of a test run."""

from __future__ import annotations

from io import StringIO

from kubesim.cli.testing.reports import ProgressBar, TextTestReport, annotation
from kubesim.testing.results import CaseResult, SuiteResult


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_needs_a_terminal() -> None:
    terminal, pipe = Terminal(), StringIO()
    for out in (terminal, pipe):
        ProgressBar(4, out).draw(2, "a.yaml\x1b")
    assert terminal.getvalue() == "\r\x1b[K[###############               ] 2/4 a.yaml\\x1b"
    assert pipe.getvalue() == ""


def test_control_characters_in_names_are_escaped() -> None:
    out = StringIO()
    report = TextTestReport(out, ProgressBar(1, StringIO()), ["a\x1b.yaml"])
    crashed = CaseResult("a\x1b.yaml", "a", 0, problem="bad \x1b[31m")
    report.result(crashed)
    report.end(SuiteResult([crashed], 1, 0.0, 1))
    assert "\x1b" not in out.getvalue()
    assert "1 could not be run in 0.0 s on 1 process" in out.getvalue()


def test_an_annotation_is_escaped() -> None:
    line = annotation("a,b:c.yaml", 3, "50%", "first\nsecond: 100%, really")
    assert line == "::error file=a%2Cb%3Ac.yaml,line=3,title=50%25::first%0Asecond: 100%25, really"
