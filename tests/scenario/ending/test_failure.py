"""The text of a failure, and the line it refers to."""

from __future__ import annotations

from kubesim.app import run_scenario
from kubesim.scenario.ending.failure import Failure
from kubesim.scenario.load.loader import parse_scenario

WEB = """\
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: web}
spec:
  duration: 10s
  steps:
  - at: 5s
    kill: {pod: web, container: other}
  expect:
  - {pod: web, phase: Running}
  - {pod: web, phase: Failed, by: 8s}
---
{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: main, image: nginx}]}}
"""


def test_the_lines_of_a_failure() -> None:
    failure = Failure(
        "expectation", "pod web must have phase Running", "it is Pending", "a.yaml", 7, closest="x", log=("bye",)
    )
    assert failure.lines() == ["a.yaml:7: pod web must have phase Running, but it is Pending", "  closest: x", "  bye"]
    assert Failure("step", "step at 1s: kill", "no such pod").lines() == ["step at 1s: kill: no such pod"]


def test_failures_name_the_line_of_the_step_or_expectation() -> None:
    result = run_scenario(parse_scenario(WEB, "web.yaml"))
    assert [(failure.kind, failure.where, failure.at) for failure in result.failures] == [
        ("step", "web.yaml:7: ", 5_000_000),
        ("expectation", "web.yaml:11: ", 8_000_001),
    ]
    assert result.expectations_met == ("pod web must have phase Running",)
    assert not result.ok
