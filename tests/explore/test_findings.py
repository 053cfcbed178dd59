"""What counts as a finding, the scenario that is written for it, and its explanation."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

from kubesim.app import run_scenario
from kubesim.cli.explore.report import write_findings
from kubesim.cli.main import main
from kubesim.errors import Deadlock
from kubesim.explore.search.exploration import ExploreResult
from kubesim.scenario.faults.interceptor import Interceptor
from tests.support.searches import found, search, subject_of

pytestmark = pytest.mark.violates_invariants

# A node that reboots between CreateContainer and StartContainer leaves a pod behind that never runs: its container has
# a record, so with restartPolicy Never the kubelet makes no other sandbox (computePodActions).
ONCE = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: once}
spec:
  duration: 20s
  images: [{name: "*", present: true}]
  expect: [{pod: once, condition: Ready, by: 10s}]
---
apiVersion: v1
kind: Pod
metadata: {name: once}
spec:
  restartPolicy: Never
  containers: [{name: main, image: busybox, command: [sleep, "5"]}]
---
apiVersion: v1
kind: Pod
metadata: {name: other}
spec:
  containers: [{name: main, image: nginx}]
"""
INIT = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers: [{name: migrate, image: busybox, command: [sleep, "3"]}]
  containers: [{name: main, image: nginx}]
"""


@pytest.fixture(scope="module")
def once() -> ExploreResult:
    return search(subject_of(ONCE), 60, ("reboot",))


@pytest.fixture(scope="module")
def init() -> ExploreResult:
    return search(subject_of(INIT), 40, ("reboot",))


def test_a_pod_that_does_not_recover_after_the_faults_is_a_finding(once: ExploreResult) -> None:
    [finding] = found(once, "no convergence")
    assert finding.title == "no convergence: reboot after CreateContainer of once:main"
    assert finding.problem.text.endswith("must be ready, finished or gone within 15m0s, but it is Pending")


def test_an_expectation_that_fails_is_a_finding(once: ExploreResult) -> None:
    [finding] = found(once, "expectation")
    assert finding.problem.text == "pod once must have condition Ready True, but Ready is False at the end"


def test_what_happens_without_faults_is_no_finding_if_it_is_only_waiting() -> None:
    waits = INIT.replace('command: [sleep, "3"]', 'command: [sleep, "100000"]')
    assert not search(subject_of(waits), 8, ("reboot",)).findings


def test_a_crash_of_kubesim_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> NoReturn:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(Interceptor, "start_crash", fail)
    findings = search(subject_of(INIT), 8, ("reboot",)).findings
    assert findings
    for finding in findings:
        assert finding.problem.rule.startswith("ZeroDivisionError in ")
        assert finding.problem.text.startswith("planted (scenario/faults/")


def test_a_deadlock_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def waits_forever(scenario: Any, **options: Any) -> Any:
        if scenario.spec.faults:
            raise Deadlock("deadlock: main waits for a channel")
        return run_scenario(scenario, **options)

    monkeypatch.setattr("kubesim.explore.run.run_scenario", waits_forever)
    [finding] = search(subject_of(INIT), 8, ("reboot",)).findings
    assert finding.problem.rule == "deadlock"


def test_a_problem_is_counted_once_by_its_rule(init: ExploreResult) -> None:
    assert len(init.findings) == 1
    assert init.findings[0].count >= 1


def test_a_finding_is_reduced_to_what_it_needs(once: ExploreResult) -> None:
    [finding] = found(once, "no convergence")
    scenario, *manifests = finding.run.subject.documents()
    assert [manifest["metadata"]["name"] for manifest in manifests] == ["once"]
    assert not scenario["spec"].get("images")


def test_one_command_reproduces_each_written_scenario(
    once: ExploreResult, init: ExploreResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for result, folder in ((once, "once"), (init, "init")):
        for finding, path in zip(result.findings, write_findings(result, tmp_path / folder), strict=True):
            assert main(["run", str(path)]) == 1
            output = "".join(capsys.readouterr())
            rule = finding.problem.rule.removeprefix("invariant ")
            said = {"no convergence": "must be ready, finished or gone", "expectation": "must have condition Ready"}
            assert said.get(rule, f"VIOLATED: {rule}") in output


def test_a_written_scenario_is_small_and_says_what_is_wrong(init: ExploreResult, tmp_path: Path) -> None:
    [path] = write_findings(init, tmp_path)
    text = path.read_text()
    assert text.splitlines()[:4] == [
        "# Found by kubesim explore in story: invariant init-order: reboot after CreateContainer of web:main.",
        "# invariant init-order: container main started before init container migrate had succeeded in its sandbox, at",
        f"# {text.splitlines()[2][2:]}",
        "# Reproduce it: kubesim run 1-invariant-init-order.yaml",
    ]
    scenario, pod = yaml.safe_load_all(text)
    assert scenario["spec"]["faults"] == [
        {
            "operation": "runtime.CreateContainer",
            "node": "node-1",
            "pod": "default/web",
            "container": "main",
            "times": 1,
            "crash": {"what": "node", "downFor": "30s"},
            "moment": "after",
        }
    ]
    assert pod["spec"]["containers"] == [{"name": "main", "image": "nginx"}]


def test_the_explanation_has_both_traces_at_the_first_difference(init: ExploreResult, tmp_path: Path) -> None:
    [path] = write_findings(init, tmp_path)
    lines = path.with_suffix(".txt").read_text().splitlines()
    difference = next(n for n, line in enumerate(lines) if line.startswith("First difference: at "))
    assert lines[difference + 1].strip().startswith("without ")
    assert any("with " in line and "crash of the node" in line for line in lines[difference:])
    assert any("migrate starts as" in line for line in lines[:difference])
