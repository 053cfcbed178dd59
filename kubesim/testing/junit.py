"""Test results as JUnit XML, for continuous integration servers.

A file is a test suite, and each of its runs is a test case.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from kubesim.golang.text import printable
from kubesim.testing.results import CaseResult, SuiteResult


def junit_xml(run: SuiteResult) -> str:
    root = Element("testsuites", {"name": "kubesim", **_counts(run.results), "time": f"{run.seconds:.3f}"})
    for file, group in groupby(run.results, key=lambda result: result.file):
        results = list(group)
        seconds = sum(result.seconds for result in results)
        suite = SubElement(root, "testsuite", {"name": _text(file), **_counts(results), "time": f"{seconds:.3f}"})
        for result in results:
            _add_case(suite, result)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _counts(results: Iterable[CaseResult]) -> dict[str, str]:
    statuses = [result.status for result in results]
    counts = {"tests": len(statuses), "failures": statuses.count("failed"), "errors": statuses.count("error")}
    return {name: str(count) for name, count in {**counts, "skipped": 0}.items()}


def _add_case(suite: Element, result: CaseResult) -> None:
    line = next((failure.line for failure in result.failures if failure.file == result.file and failure.line), 1)
    case = SubElement(
        suite,
        "testcase",
        classname=_text(result.file),
        name=_text(f"{result.scenario} ({result.label})"),
        file=_text(result.file),
        line=str(line),
        time=f"{result.seconds:.3f}",
    )
    if result.problem:
        SubElement(case, "error", type="error", message=_text(result.problem)).text = _text("\n".join(result.lines()))
    for failure in result.failures:
        message = _text(failure.sentence)
        SubElement(case, "failure", type=failure.kind, message=message).text = _text("\n".join(failure.lines()))


def _text(text: str) -> str:
    """Text without control characters, which XML cannot represent."""
    return "\n".join(map(printable, text.split("\n")))
