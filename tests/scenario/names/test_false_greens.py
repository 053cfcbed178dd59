"""Errors in expectations that must not pass: each file is run, and is an error (exit 2) or a failure (exit 1)."""

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
        (
            "{object: Deployment/shop, event: Killing, never: true}",
            f"event: unknown Event about a Deployment: Killing{CUSTOM}",
        ),
        (
            "{pod: web, event: NodeReady, never: true}",
            f"event: unknown Event about a Pod: NodeReady; did you mean NodeNotReady?{CUSTOM}",
        ),
        (
            "{pod: web, event: OutOfMemory, never: true}",
            f"event: unknown Event reason OutOfMemory{CUSTOM}",
        ),
        (
            "{object: Service/shop, condition: Ready=False, never: true, custom: false}",
            "object: nothing in this scenario creates Service shop; there can be kubernetes",
        ),
        (
            "{object: ConfigMap/settings, exists: true, never: true}",
            "object: nothing in this scenario creates ConfigMap settings; there can be kube-root-ca.crt",
        ),
        (
            "{object: Widget.example.com/blue, exists: true, never: true}",
            "object: nothing in this scenario creates Widget.example.com blue",
        ),
        (
            "{object: ConfigMap/kube-root-ca.crt, condition: Ready=False, never: true}",
            f"condition: unknown condition of a ConfigMap Ready{CUSTOM}",
        ),
        (
            "{pod: web, field: status.phase, equals: failed, never: true}",
            "field: it never equals 'failed'; did you mean Failed?",
        ),
        (
            "{pod: web, field: status.phase, matches: '^fail', never: true}",
            "field: '^fail' never matches; its values are Pending, Running, Succeeded, Failed, Unknown",
        ),
        (
            "{pod: web, field: 'status.containerStatuses[name=mian].restartCount', equals: 0}",
            "field: pod web has no container mian; did you mean main?",
        ),
        (
            "{pod: web, field: 'status.conditions[type=Redy].reason', equals: ''}",
            f"field: unknown condition of a Pod Redy; did you mean Ready?{CUSTOM}",
        ),
        (
            "{pod: web, field: status., equals: '', never: true}",
            "field: must be a path, such as status.conditions[type=Ready].reason",
        ),
        (
            "{pod: web, field: 'status.phase]', equals: Failed, never: true}",
            "field: must be a path, such as status.conditions[type=Ready].reason",
        ),
        (
            "{pod: web, field: status.phse, equals: 3, never: true, custom: true}",
            "field: there is no field phse; did you mean phase?",
        ),
        (
            "{pod: web, call: RunPodSandBox, never: true, custom: true}",
            f"call: unknown call RunPodSandBox; did you mean RunPodSandbox?; {OTHERS}",
        ),
        (
            "{call: StopContainer, container: mian, never: true}",
            "container: no pod has a container mian; did you mean main?",
        ),
        (
            "{pod: web, call: api patch pods/statuses, never: true}",
            "call: pods have no statuses; did you mean status?",
        ),
        (
            "{pod: web, call: api delete nodes, never: true}",
            "call: a Pod is no part of a call about nodes: leave the target out",
        ),
        (
            "{call: api create events, never: true}",
            "call: calls to create events are not counted; ask for an event, or for the object: exists, field",
        ),
    ],
)  # fmt: skip
def test_names_and_times_that_contradict_the_file(
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
        ("{pod: web, event: Killing, always: true}", "event is an occurrence"),
        ("{pod: web, phase: Running, of: create}", "of has no effect without within"),
        ("{pod: web, phase: Running, between: [20s, 10s]}", "between ends before it begins"),
        ("{pod: web, phase: Running, by: 10s, at: 20s}", "give one of at, by, between and within"),
        ("{pod: web, phase: Failed, always: true, never: true}", "give one of always, never and eventually"),
        ("{pod: web, restartCount: 0, never: true}", "never needs a number that is not reached"),
        ("{pod: web, restartCount: {atLeast: 3, atMost: 1}}", "atLeast is greater than atMost"),
        ("{pod: web, exitCode: 300}", "input should be less than or equal to 255"),
        ("{pod: web, exitCode: 3, state: running}", "only a container in state terminated has an exit code"),
        ("{pod: web, restartCount: {atLeast: 0}}", "atLeast: 0 is true of every number"),
        ("{pod: web, log: ''}", "string should have at least 1 character"),
        ("{pod: web, container: '', exitCode: 1, never: true}", "string should have at least 1 character"),
        ("{pod: web, state: running, reason: OOMKilled, never: true}", "a container in state running has no reason"),
        ("{pod: web, state: running, message: panic, never: true}", "a container in state running has no reason"),
        ("{pod: web, exists: true, always: true}", "an existing object always exists"),
        ("{pod: web, field: spec.priority, atLeast: 5, atMost: 1, never: true}", "atLeast is greater than atMost"),
        ("{pod: web, order: [{event: Pulled}, {event: Pulled}]}", "order has the same question twice"),
        ("{pod: web, order: [{event: Pulled, count: 0}, {event: Started}]}", "0 is true before anything happens"),
        ("{pod: web, order: [{restartCount: 0}, {event: Started}]}", "0 is true before anything happens"),
        ("{pod: web, condition: Ready, within: 50s, of: {condition: Ready}}", "of is the same question"),
        ("{pod: web, phase: Failed, never: true, by: 0s}", "input should be greater than 0"),
        ("{object: Deployment/shop, call: RunPodSandbox, never: true}", "a call is about a pod or a node"),
        ("{object: Deployment/shop, endpoints: 2}", "endpoints is a question about a Service"),
    ],
)
def test_ignored_parts(expect: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
        ("{pod: web, field: 'status.containerStatuses[5].restartCount', equals: 0}", "is not set at the end"),
        ("{pod: web, field: 'status.containerStatuses[5].restartCount', atLeast: 1, never: true}", "is not set at the"),
        (
            "{pod: web, field: 'metadata.labels[ap]', equals: shop, never: true}",
            "metadata.labels[ap] is not set at the",
        ),
        ("{object: Deployment/shop, field: status.readyReplicas, equals: 0}", "status.readyReplicas is 2 at the end"),
        ("{object: Deployment/shop, ready: 0}", "2 ready at the end"),
        ("{pod: 'shop-*', phase: Running, count: 0}", "it is true of 2 of 2 objects at the end"),
        ("{pod: 'shop-*', condition: Ready, count: {atMost: 1}, by: 40s}", "it is true of 2 of 2 objects at 40s"),
        ("{pod: crash, restartCount: 2, always: true}", "at 0s"),
        ("{pod: web, phase: Running, between: [30s, 40s]}", "already"),
        ("{pod: web, phase: Running, within: 5s, of: delete}", "its deletion was not seen at the end"),
    ],
)
def test_an_object_that_never_existed_fails(
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
        (
            "{at: 5s, scale: {pod: web, replicas: 1}}",
            2,
            "pod has no replicas; kinds with replicas are Deployment, ReplicaSet,",
        ),
        ("{at: 5s, clockJump: 0s}", 2, "clockJump: must not be 0"),
        ("{at: 5s, cordon: node-7}", 2, "spec.steps[0].cordon: there is no node node-7"),
        ("{at: 5s, hang: {call: StartContainer, pod: wbe, for: 5s}}", 1, "no operation of the run hung"),
        ("{at: 5s, hang: {call: StartContainer, pod: web, for: 5s}}", 1, "no operation of the run hung"),
        ("{at: 0s, hang: {call: StartContainer, pod: web, for: 5s}}", 0, ""),
        ("{when: {after: StartContainer, pod: web}, hang: {call: PatchPodStatus, for: 5s}}", 0, ""),
        ("{at: 5s, exec: {pod: web, command: [sleep, '100']}}", 1, "the command has not ended at the end of the run"),
    ],
)
def test_steps(step: str, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert play(tmp_path, "", step) == code
    reported = capsys.readouterr()
    assert said in reported.out + reported.err


@pytest.mark.parametrize(
    ("part", "code", "said"),
    [
        (
            "behaviours: [{pod: wbe, exitCode: 1}]",
            2,
            "spec.behaviours[0].pod: nothing in this scenario creates pod wbe",
        ),
        ("behaviours: [{pod: web, container: mian, exitCode: 1}]", 2, "container: pod web has no container mian"),
        (
            "dependencies: [{name: db, pod: wbe}]",
            2,
            "spec.dependencies[0].pod: nothing in this scenario creates pod wbe",
        ),
        ("faults: [{operation: CreateContainer, pod: web, results: [ok]}]", 2, "results has only ok"),
        ("faults: [{operation: CreateContainer, pod: web, latency: 0s}]", 2, "latency has no effect: 0s is no delay"),
        ("faults: [{operation: CreateContainer, hang: true, latency: 1s}]", 2, "latency has no effect: a hanging call"),
        ("faults: [{operation: CreateContainer, latency: 1s, moment: after}]", 2, "moment has no effect here"),
        ("faults: [{operation: PatchPodStatus, error: x, code: 200}]", 2, "an HTTP status of an error: 400 to 599"),
        (
            "faults: [{operation: CreateContainer, pod: web, results: [ok, ok, error]}]",
            1,
            "the run had 1 such operations; its first result but ok comes at the 3rd",
        ),
        ("faults: [{operation: CreateContainer, pod: crash, results: [ok, error]}]", 0, ""),
    ],
)
def test_other_meaningless_parts(
    part: str, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play(tmp_path, "", f"], {part}, include: [") == code
    printed = capsys.readouterr()
    assert said in printed.out + printed.err


def test_custom_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = (
        "{pod: web, event: Painted, custom: true, never: true}, {pod: web, condition: a.b/C, custom: true, never: true}"
    )
    assert play(tmp_path, own) == 0


def test_an_interrupted_run_does_not_prove_never(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(f"{HEAD}expect: [{{pod: web, phase: Failed, never: true, by: 50s}}]}}}}\n{EXPECTED_PODS}")
    assert main(["run", "-q", "--until", "20s", str(file)]) == 0
    assert "expectation not evaluated: pod web must never have phase Failed by 50s" in capsys.readouterr().out
