"""Mistakes in expectations that must not pass: each file is played, and is an error (exit 2) or a failure (exit 1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.cli.main import main
from tests.support.expected_pods import EXPECTED_PODS

HEAD = "{apiVersion: kubesim.dev/v1alpha1, kind: Scenario, metadata: {name: s}, spec: {duration: 60s, "
CUSTOM = "; custom: true allows other names"
OTHERS = "others are written cni ADD, api patch pods/status"
END = "(spec.duration is 1m0s)"


def play(path: Path, expect: str, steps: str = "") -> int:
    file = path / "s.yaml"
    images = 'images: [{name: "*", present: true}],\n'
    file.write_text(f"{HEAD}{images}steps: [{steps}],\nexpect: [\n{expect}]}}}}\n{EXPECTED_PODS}")
    return main(["run", "-q", str(file)])


@pytest.mark.parametrize(
    ("expect", "problem"),
    [
        (
            "{pod: web, event: Kiling, never: true}",
            f"event: unknown Event reason Kiling; did you mean Killing?{CUSTOM}",
        ),
        (
            "{pod: web, event: killing, never: true}",
            f"event: unknown Event reason killing; did you mean Killing?{CUSTOM}",
        ),
        (
            "{pod: wbe, phase: Failed, never: true}",
            "pod: nothing in this scenario creates pod wbe; did you mean web?",
        ),
        (
            "{pod: other/web, phase: Failed, never: true}",
            "pod: nothing in this scenario creates pod other/web; did you mean web?",
        ),
        (
            "{pod: shops-*, phase: Failed, never: true}",
            "pod: nothing in this scenario creates pod shops-*; did you mean shop-*?",
        ),
        (
            "{pod: shop, condition: Ready}",
            "pod: nothing in this scenario creates pod shop; did you mean shop-*?",
        ),
        (
            "{pod: web, container: mian, restartCount: 1, never: true}",
            "container: pod web has no container mian; did you mean main?",
        ),
        (
            "{pod: web, condition: Redy=False, never: true}",
            f"condition: unknown condition of a Pod Redy; did you mean Ready?{CUSTOM}",
        ),
        (
            "{node: node-1, condition: MemoryPresure, never: true}",
            f"condition: unknown condition of a Node MemoryPresure; did you mean MemoryPressure?{CUSTOM}",
        ),
        (
            "{node: node-2, condition: Ready=False, never: true}",
            "node: nothing in this scenario creates node node-2; did you mean node-1?",
        ),
        (
            "{object: Deployment/shpo, condition: Available=False, never: true}",
            "object: nothing in this scenario creates Deployment shpo; did you mean shop?",
        ),
        (
            "{pod: web, waiting: CrashLoopBackoff, never: true}",
            f"waiting: unknown reason to wait CrashLoopBackoff; did you mean CrashLoopBackOff?{CUSTOM}",
        ),
        (
            "{pod: web, state: terminated, reason: OOMKiled, never: true}",
            f"reason: unknown reason OOMKiled; did you mean OOMKilled?{CUSTOM}",
        ),
        (
            "{object: Deployment/shop, field: status.readyReplica, equals: 0}",
            "field: there is no field readyReplica; did you mean readyReplicas?",
        ),
        (
            "{pod: web, field: 'status.conditions[typ=Ready].status', equals: 'False', never: true}",
            "field: there is no field typ; did you mean type?",
        ),
        (
            "{pod: web, field: status.conditions.type, equals: Ready, never: true}",
            "field: type: a list needs a position, a filter or *: [0], [type=Ready], [*]",
        ),
        (
            '{object: Deployment/shop, field: status.readyReplicas, equals: "3", never: true}',
            "field: the field holds a whole number: it never equals '3'",
        ),
        (
            "{pod: web, field: status.podIP, atLeast: 3, never: true}",
            "field: the field holds text: atLeast and atMost need a number",
        ),
        ("{pod: web, phase: Failed, never: true, by: 2m}", f"by: is after the end of the run {END}"),
        ("{pod: web, phase: Failed, never: true, at: 61s}", f"at: is after the end of the run {END}"),
        ("{pod: web, phase: Running, within: 70s}", f"within: is after the end of the run {END}"),
        (
            "{pod: web, phase: Failed, never: true, between: [50s, 90s]}",
            f"between: ends after the end of the run {END}",
        ),
        (
            "{pod: web, call: RunPodSandBox, count: 2, never: true}",
            f"call: unknown call RunPodSandBox; did you mean RunPodSandbox?; {OTHERS}",
        ),
        ("{pod: web, call: api patch pod/status, never: true}", "call: unknown resource pod; did you mean pods?"),
        (
            "{pod: web, order: [{event: Pulled}, {event: Startd}]}",
            f"order[1].event: unknown Event reason Startd; did you mean Started?{CUSTOM}",
        ),
    ],
)  # fmt: skip
def test_names_and_times_that_the_file_refutes(
    expect: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play(tmp_path, expect) == 2
    assert capsys.readouterr().err == f"kubesim: error: {tmp_path / 's.yaml'}:4: spec.expect[0].{problem}\n"


@pytest.mark.parametrize(
    ("expect", "problem"),
    [
        ("{pod: web, phase: Running, message: x}", "message has no effect here: it belongs to event,"),
        ("{pod: web, condition: Ready, container: main}", "container has no effect here"),
        ("{pod: web, phase: Running, count: 2}", "count has no effect on phase of one object"),
        ("{pod: web, phase: Running, equals: 3}", "equals has no effect here: it belongs to field"),
        ("{pod: web, event: Killing, always: true}", "event happens at a moment"),
        ("{pod: web, phase: Running, of: create}", "of has no effect without within"),
        ("{pod: web, phase: Running, between: [20s, 10s]}", "between ends before it begins"),
        ("{pod: web, phase: Running, by: 10s, at: 20s}", "give one of at, by, between and within"),
        ("{pod: web, phase: Failed, always: true, never: true}", "give one of always, never and eventually"),
        ("{pod: web, restartCount: 0, never: true}", "never needs a number that is not reached"),
        ("{pod: web, restartCount: {atLeast: 3, atMost: 1}}", "atLeast is greater than atMost"),
        ("{pod: web, exitCode: 300}", "input should be less than or equal to 255"),
        ("{pod: web, exitCode: 3, state: running}", "only a container in state terminated has an exit code"),
        ("{object: Deployment/shop, endpoints: 2}", "endpoints is a question about a Service"),
    ],
)
def test_parts_that_would_be_ignored(
    expect: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play(tmp_path, expect) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("expect", "seen"),
    [
        ("{pod: crash, restartCount: 1}", "there were 2 restarts at"),
        ("{pod: crash, restartCount: {atMost: 1}}", "there were 2 restarts at"),
        ("{pod: web, event: Started, count: 2}", "the Event was emitted once at the end"),
        ("{pod: shop-zzz-zzz, phase: Failed, never: true}", "no such pod was seen at the end"),
        ("{pod: later, gone: true, never: true}", "no such pod was seen at the end"),
        ("{pod: 'shop-x*', phase: Failed, never: true}", "no such pod was seen at the end"),
        ("{pod: stuck, restartCount: 1, never: true}", "its containers have no status"),
        ("{pod: stuck, log: panic, never: true}", "no such line was written, and its containers never started"),
        ("{pod: web, call: cni ADD, never: true}", "no CNI plugin was called"),
        ("{pod: later, phase: Pending, always: true}", "no such pod was seen at the end"),
        ("{pod: crash, state: terminated, exitCode: 0}", "main is "),
        ("{pod: web, phase: Running, between: [30s, 40s]}", "already"),
        ("{pod: web, phase: Running, within: 5s, of: delete}", "its deletion was not seen at the end"),
    ],
)
def test_what_was_not_there_is_not_as_expected(
    expect: str, seen: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {%s containers: [{name: main, image: nginx}]}}"
    stuck = f"{{at: 1s, apply: {pod % ('stuck', 'nodeName: nowhere,')}}}"
    never = f"{{at: 20s, patch: {{pod: web, patch: {{metadata: {{labels: {{a: b}}}}}}}}}}, {stuck}"
    custom = "custom: true, " if "later" in expect else ""
    assert play(tmp_path, expect.replace("{pod: later", f"{{{custom}pod: later"), never) == 1
    assert seen in capsys.readouterr().out


@pytest.mark.parametrize(
    ("step", "code", "said"),
    [
        ("{at: 60s, delete: {pod: web}}", 2, "spec.steps[0].at: is not before the end of the run (spec.duration)"),
        ("{at: 5s, exec: {pod: web, command: ['false']}}", 1, "exec 'false' ended with 1 (expected: exitCode 0)"),
        ("{at: 5s, exec: {pod: web, command: ['false'], exitCode: 1}}", 0, ""),
        ("{at: 5s, exec: {pod: web, command: ['true'], exitCode: 1}}", 1, "(expected: exitCode 1)"),
        ("{at: 5s, exec: {pod: web, command: [sleep, '100']}}", 1, "the command has not ended at the end of the run"),
    ],
)
def test_steps(step: str, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert play(tmp_path, "", step) == code
    reported = capsys.readouterr()
    assert said in reported.out + reported.err


def test_names_of_your_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = (
        "{pod: web, event: Painted, custom: true, never: true}, {pod: web, condition: a.b/C, custom: true, never: true}"
    )
    assert play(tmp_path, own) == 0


def test_a_cut_run_does_not_say_that_something_never_happened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(f"{HEAD}expect: [{{pod: web, phase: Failed, never: true, by: 50s}}]}}}}\n{EXPECTED_PODS}")
    assert main(["run", "-q", "--until", "20s", str(file)]) == 0
    assert "expectation not evaluated: pod web must never have phase Failed by 50s" in capsys.readouterr().out
