"""JUnit XML, parsed by an independent reader."""

from __future__ import annotations

from pathlib import Path

from junitparser import Error, JUnitXml
from junitparser import Failure as JUnitFailure

from kubesim.scenario.ending.failure import Failure
from kubesim.testing.junit import junit_xml
from kubesim.testing.results import CaseResult, SuiteResult

FAILURE = Failure(
    "expectation", "pod web must have phase Running", "it is <Pending> & \x1b[31mred", "a.yaml", 12, log=("bye",)
)


def test_suites_cases_failures_and_errors(tmp_path: Path) -> None:
    results = [
        CaseResult("a.yaml", "a", 1, seconds=0.5),
        CaseResult("a.yaml", "a", 2, seconds=0.25, failures=(FAILURE, FAILURE)),
        CaseResult("b.yaml", "b", 0, problem="the process that ran it was killed by SIGKILL"),
    ]
    file = tmp_path / "results.xml"
    file.write_text(junit_xml(SuiteResult(results, 3, 1.5, 2)))
    read = JUnitXml.fromfile(str(file))
    assert (read.tests, read.failures, read.errors, read.time) == (3, 1, 1, 1.5)
    first, second = list(read)
    assert (first.name, first.tests, first.failures, first.time) == ("a.yaml", 2, 1, 0.75)
    passed, failed = list(first)
    assert (passed.name, passed.classname, passed.time, passed.is_passed) == ("a (seed 1)", "a.yaml", 0.5, True)
    assert [type(result) for result in failed.result] == [JUnitFailure, JUnitFailure]
    assert failed.result[0].message == "pod web must have phase Running, but it is <Pending> & \\x1b[31mred"
    assert failed.result[0].text.splitlines()[-1] == "  bye"
    assert failed._elem.attrib["line"] == "12"
    [crashed] = list(second)
    assert isinstance(crashed.result[0], Error)
    assert crashed.result[0].message == "the process that ran it was killed by SIGKILL"
