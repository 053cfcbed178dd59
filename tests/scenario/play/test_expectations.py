"""Questions and forms in a played scenario: which expectations are met, which fail, and what is said about them."""

from __future__ import annotations

import pytest

from kubesim.app import run_scenario
from kubesim.scenario.ending.result import RunResult
from kubesim.scenario.load.loader import parse_scenario
from kubesim.trace import MemorySink
from tests.support.expected_pods import EXPECTED_PODS

SCENARIO = """\
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: questions}
spec:
  duration: 60s
  images: [{name: "*", present: true}]
  steps:
  - {at: 30s, delete: {pod: web}}
  expect: [%s]
%s---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: shop}, ports: [{port: 80}]}
"""


def play(*expect: str, traced: bool = False) -> RunResult:
    sinks = (MemorySink(),) if traced else ()
    return run_scenario(parse_scenario(SCENARIO % (",\n  ".join(expect), EXPECTED_PODS), "q.yaml"), sinks=sinks)


MET = (
    # questions
    "{pod: web, phase: Running}",
    "{pod: web, condition: PodScheduled}",
    "{pod: web, condition: ContainersReady=False, by: 40s}",
    "{pod: web, state: terminated, reason: Completed, exitCode: 0}",
    "{pod: crash, container: main, state: waiting}",
    "{pod: crash, exitCode: 3, by: 20s}",
    "{pod: crash, waiting: CrashLoopBackOff, message: back-off 10s}",
    "{pod: crash, restartCount: 3}",
    "{pod: crash, restartCount: {atLeast: 2}, by: 20s}",
    "{pod: crash, restartCount: {atLeast: 2, atMost: 4}}",
    "{pod: crash, event: BackOff, container: main, count: {atLeast: 3}}",
    "{pod: web, event: Started, count: 1}",
    "{pod: web, event: Started, message: {matches: '^Container s'}}",
    "{pod: web, log: hello, count: 1}",
    "{pod: crash, log: {equals: ouch}, count: {atLeast: 3}}",
    "{pod: web, call: RunPodSandbox, count: 1}",
    "{call: RunPodSandbox, count: 4}",
    "{node: node-1, call: StartContainer, count: {atLeast: 4}}",
    "{pod: web, call: api delete pods, count: 2}",
    "{pod: web, field: status.podIP, matches: '^10[.]'}",
    "{object: Deployment/shop, field: status.readyReplicas, atLeast: 2, atMost: 2}",
    "{object: Deployment/shop, condition: Available}",
    "{object: Deployment/shop, ready: 2, by: 20s}",
    "{object: Service/shop, endpoints: 2, by: 20s}",
    "{object: 'EndpointSlice/shop-*', field: 'endpoints[*].conditions.ready', equals: true}",
    "{object: 'ReplicaSet/shop-*', event: SuccessfulCreate, count: 2}",
    "{pod: 'shop-*', condition: Ready, count: 2, by: 20s}",
    "{pod: 'shop-*', restartCount: 1, never: true}",
    "{pod: web, gone: true, by: 40s}",
    "{pod: web, exists: true, at: 20s}",
    "{node: node-1, condition: Ready, always: true}",
    # forms
    "{pod: web, phase: Running, eventually: true}",
    "{pod: web, phase: Running, at: 10s}",
    "{pod: web, phase: Running, at: 40s, never: true}",
    "{pod: web, phase: Running, always: true, between: [5s, 29s]}",
    "{pod: web, event: Killing, between: [29s, 31s]}",
    "{pod: web, event: Killing, never: true, by: 29s}",
    "{pod: crash, event: Started, between: [10s, 50s], count: 2}",
    "{pod: crash, restartCount: {atMost: 3}, always: true}",
    "{pod: crash, restartCount: 2, by: 30s}",
    "{pod: crash, restartCount: 4, never: true}",
    "{pod: web, condition: Ready, within: 20s}",
    "{pod: web, condition: Ready, within: 20s, of: create}",
    "{pod: web, event: Killing, within: 1s, of: delete}",
    "{pod: web, gone: true, within: 1s, of: {event: Killing}}",
    "{pod: web, gone: true, within: 20s, of: {pod: crash, restartCount: 2}}",
    "{pod: web, order: [{event: Pulled}, {event: Started}, {phase: Running}, {event: Killing}, {gone: true}]}",
    "{order: [{pod: crash, restartCount: 1}, {pod: web, gone: true}, {pod: crash, restartCount: 3}], by: 50s}",
)

FAILED = {
    "{pod: web, phase: Failed}": "must have phase Failed, but the phase is Succeeded, and the pod is gone at the end",
    "{pod: crash, exitCode: 4, by: 3s}": "crash must be terminated with exit code 4 by 3s, but main is running at 3s",
    "{pod: crash, restartCount: 2}": "pod crash must have 2 restarts, but there were 3 restarts at 47.",
    "{pod: crash, restartCount: 4}": "pod crash must have 4 restarts, but there were 3 restarts at the end",
    "{pod: crash, restartCount: 3, never: true}": "crash must never have 3 restarts, but there were 3 restarts at 47.",
    "{pod: web, log: bye}": "pod web must have a log line with 'bye', but no such line was written at the end",
    "{pod: web, log: hello, never: true}": "never have a log line with 'hello', but such a line was written once at",
    "{pod: web, call: RunPodSandbox, count: 2}": "call RunPodSandbox 2 times, but the call was made once at the end",
    "{object: Service/shop, endpoints: 3}": "shop must have 3 ready endpoints, but 2 endpoints are ready at the end",
    "{object: Deployment/shop, ready: 3}": "Deployment/shop must have 3 ready, but 2 ready at the end",
    "{pod: 'shop-*', condition: Ready, count: 3}": "of 3 objects, but it is true of 2 of 2 objects at the end",
    "{pod: web, phase: Running, at: 40s}": "at 40s, but the phase is Succeeded, and the pod is gone at 40s",
    "{pod: web, phase: Running, at: 10s, never: true}": "Running at 10s, but the phase is Running at 10s",
    "{pod: web, phase: Running, always: true}": "must always have phase Running, but the phase is Pending at",
    "{pod: web, phase: Running, always: true, between: [5s, 40s]}": "the phase is Succeeded at 30.",
    "{pod: web, phase: Running, between: [5s, 40s]}": "between 5s and 40s, but the phase is Running already at 633ms",
    "{pod: crash, event: Started, between: [10s, 50s], count: 3}": "the Event was emitted 2 times at 50s",
    "{pod: web, gone: true, within: 100ms, of: delete}": "within 100ms of its deletion, but it still exists at 30.1s",
    "{pod: web, gone: true, within: 9s, of: {event: BackOff}}": "Event BackOff was not seen at the end",
    "{pod: web, order: [{gone: true}, {event: Killing}]}": "Event Killing: at 30.005s, gone: at 30.2",
    "{pod: web, order: [{event: Started}, {event: BackOff}]}": "Event BackOff: never",
}


def test_expectations_that_are_met() -> None:
    result = play(*MET)
    assert result.expectations_failed == ()
    assert len(result.expectations_met) == len(MET)


def test_expectations_that_fail() -> None:
    by_line = {failure.line: failure.lines()[0] for failure in play(*FAILED).failures}
    assert sorted(by_line) == list(range(9, 9 + len(FAILED)))
    said = [by_line[line] for line in sorted(by_line)]
    assert [(words, part) for words, part in zip(said, FAILED.values(), strict=True) if part not in words] == []


def test_judging_changes_nothing_of_the_run() -> None:
    plain, judged = play(), play(*MET, *FAILED)
    assert (plain.outcomes, plain.events) == (judged.outcomes, judged.events)


@pytest.mark.parametrize(
    ("expect", "closest"),
    [
        ("{pod: crash, event: BackOff, message: pulling, by: 20s}", "Event BackOff: Back-off restarting failed"),
        ("{pod: web, event: Kiling, custom: true}", "Event Killing: Stopping container main"),
        ("{pod: crash, waiting: CrashLoopBackOff, by: 10s}", "it was true at 17.0"),
        ("{pod: wbe, custom: true, phase: Running}", "Pod web was seen"),
    ],
)
def test_what_came_closest(expect: str, closest: str) -> None:
    (failure,) = play(expect).failures
    assert failure.closest.startswith(closest)


def test_a_failure_shows_the_last_records_and_the_log() -> None:
    (failure,) = play("{pod: crash, phase: Failed, by: 10s}", traced=True).failures
    assert (failure.pod, failure.at, failure.line) == ("default/crash", 10_000_001, 9)
    assert 2 < len(failure.records) < 7
    assert failure.records[0].split()[0][0].isdigit(), "the first line says when"
    assert "ContainerRemoved" in failure.records[-1]
    assert failure.log[-1] == "[pod/crash/main] ouch"
    (untraced,) = play("{pod: crash, phase: Failed, by: 10s}").failures
    assert untraced.records == ()
