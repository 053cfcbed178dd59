"""User errors: one line with object, value and remedy; never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kubesim.cli.main import main

ROOT = Path(__file__).parents[2]
HEAD = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n"
POD = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: m, image: nginx}]}}"
NO_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
ADD_FOO = "{op: add, path: /spec/foo, value: 1}"
EFFECTS = "NoSchedule, PreferNoSchedule or NoExecute"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("nodes: [{name: n1, capacity: {cpu: lots}}]", f"spec.nodes[0].capacity.cpu: {NO_QUANTITY}"),
        ("nodes: [{name: n1, capacity: {memory: -5Gi}}]", "spec.nodes[0].capacity.memory: must not be negative"),
        (
            "nodes: [{name: n1, taints: [{key: a, effect: Sometimes}]}]",
            f"spec.nodes[0].taints[0].effect: the effect of a taint must be {EFFECTS}",
        ),
        (
            "nodes: [{name: n1, taints: [{keyy: a, effect: NoSchedule}]}]",
            "spec.nodes[0].taints[0].keyy: unknown field; did you mean key?",
        ),
        ("nodes: [{name: n1, taints: [{effect: NoSchedule}]}]", "spec.nodes[0].taints[0].key: a taint needs a key"),
        (
            "steps: [{at: 1s, taint: {node: node-1, taints: [{key: a, effect: No}]}}]",
            f"spec.steps[0].taint.taints[0].effect: the effect of a taint must be {EFFECTS}",
        ),
        ('sources: {http: {url: "http://[::1"}}', "spec.sources.http.url: no usable URL: its host is malformed"),
        (
            'sources: {http: {url: "http://a:99999/"}}',
            "spec.sources.http.url: no usable URL: its port is not a number from 1 to 65535",
        ),
        ('sources: {http: {url: "http://%zz/"}}', "spec.sources.http.url: no usable URL: its host is malformed"),
        (
            'sources: {http: {url: "http://a b/"}}',
            "spec.sources.http.url: no usable URL: it has a space or a control character",
        ),
        (
            'kubeletConfiguration: {staticPodURL: "http://["}',
            (
                "spec.kubeletConfiguration.staticPodURL: 'http://[' is no usable URL: its host is malformed "
                "(--manifest-url)"
            ),
        ),
        ("nodes: [{name: n1, capacity: {pods: 1.5}}]", "spec.nodes[0].capacity: pods: must be a whole number"),
        (
            f"{{objects: [{POD}], steps: [{{at: 1s, patch: {{pod: a, patch: [{ADD_FOO}]}}}}]}}",
            "spec.steps[0].patch.patch[0].path: spec.foo: unknown field",
        ),
        (
            f"{{objects: [{POD}], steps: [{{at: 1s, patch: {{pod: a, patch: [1]}}}}]}}",
            "spec.steps[0].patch.patch: must be a mapping of fields",
        ),
        ('sources: {http: {url: "http://:80/"}}', "spec.sources.http.url: no usable URL: it has no host"),
        (
            f"{{objects: [{POD}], steps: [{{at: 1s, patch: {{pod: a, patch: {{spec: {{foo: 1}}}}}}}}]}}",
            "spec.steps[0].patch.patch.spec.foo: unknown field",
        ),
        (
            f"{{duration: 10s, objects: [{POD}], steps: [{{at: 20s, delete: {{pod: a}}}}]}}",
            "spec.steps[0].at: is not before the end of the run (spec.duration)",
        ),
    ],
)
def test_scenario_errors(spec: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(f"{HEAD}  {spec}\n")
    assert main(["run", str(file)]) == 2
    assert capsys.readouterr().err == f"kubesim: error: {file}:5: {problem}\n"


def test_a_strategic_merge_patch_may_have_directives(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    patch = "{metadata: {labels: {$patch: replace, a: b}}}"
    file.write_text(
        f"{HEAD}  {{duration: 9s, objects: [{POD}], steps: [{{at: 1s, patch: {{pod: a, patch: {patch}}}}}]}}\n"
    )
    assert main(["run", "-q", str(file)]) == 0


def test_removing_a_missing_file_fails_the_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(f"{HEAD}  {{duration: 9s, steps: [{{at: 1s, removeStaticPod: {{file: a.yaml}}}}]}}\n")
    assert main(["run", "-q", str(file)]) == 1
    assert "open /etc/kubernetes/manifests/a.yaml: no such file or directory" in capsys.readouterr().out


@pytest.mark.parametrize("grace", [99_999_999_999_999, 9_223_372_036_854_775_807])
def test_a_huge_grace_period_is_allowed(grace: int, tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    steps = f"[{{at: 1s, delete: {{pod: a, gracePeriodSeconds: {grace}}}}}]"
    file.write_text(f"{HEAD}  {{duration: 9s, objects: [{POD}], steps: {steps}}}\n")
    assert main(["run", "-q", str(file)]) == 0


def kubesim(*words: str, **given: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kubesim", *words]
    return subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False, **given)  # type: ignore[call-overload,no-any-return]


def test_a_full_disk() -> None:
    with open("/dev/full", "w") as full:
        done = kubesim("run", "hello-pod", stdout=full)
    assert (done.returncode, done.stderr) == (2, "kubesim: error: standard output: No space left on device\n")


def test_a_closed_stdout() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m kubesim run hello-pod >&-"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    remedy = "redirect it to a file or to /dev/null"
    assert (done.returncode, done.stderr) == (2, f"kubesim: error: standard output is closed: {remedy}\n")


def test_an_ascii_terminal() -> None:
    done = kubesim("run", "hello-pod", stdout=subprocess.PIPE, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "\\u2014 " in done.stdout


def test_a_binary_kubeconfig(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config"
    file.write_bytes(b"\xff\xfe")
    assert main(["attach", "--node", "n", "--kubeconfig", str(file), "--once"]) == 2
    assert capsys.readouterr().err == f"kubesim: error: {file}: not UTF-8 text; a kubeconfig is YAML\n"


@pytest.mark.parametrize("time", ["yesterday", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00+25:00"])
def test_an_invalid_time(time: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(f"{POD[:-1]}, status: {{startTime: '{time}'}}}}")
    assert main(["run", "-q", str(file)]) == 2
    problem = f"status.startTime: {time!r} is not a time such as 2026-01-02T15:04:05Z"
    assert capsys.readouterr().err == f"kubesim: error: {file}:1: {problem}\n"


def test_a_flag_with_invalid_utf8(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-q", "--allowed-unsafe-sysctls", os.fsdecode(b"\xff"), "hello-pod"]) == 2
    assert capsys.readouterr().err == "kubesim: error: --allowed-unsafe-sysctls: the value is not UTF-8 text\n"


def test_a_selector_with_invalid_utf8(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["get", "pods", "-l", os.fsdecode(b"\xff"), "hello-pod"]) == 1
    assert capsys.readouterr().err.startswith('Error from server (BadRequest): Unable to find "/v1, Resource=pods"')


def test_a_manifest_url_without_a_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-q", "--manifest-url", "http://[", "hello-pod"]) == 2
    assert (
        capsys.readouterr().err
        == "kubesim: error: --manifest-url: 'http://[' is no usable URL: its host is malformed\n"
    )


DEEP = "[" * 100_000


@pytest.mark.parametrize("answer", [DEEP, '{"ips":' * 100_000, "\\xff"])
def test_a_plugin_with_invalid_output(answer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.conflist").write_text('{"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "odd"}]}')
    (tmp_path / "answer").write_text(answer)
    plugin = tmp_path / "odd"
    plugin.write_text(f"#!/bin/sh\ncat >/dev/null\ncat {tmp_path}/answer\n")
    plugin.chmod(0o755)
    places = ["--conf-dir", str(tmp_path), "--bin-dir", str(tmp_path), "--cache-dir", str(tmp_path / "cache")]
    assert main(["cni", "add", "net", "/run/netns/none", *places]) == 1
    assert capsys.readouterr().err.startswith("kubesim: error: plugin ")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (DEEP, "exceeded max depth"),
        ('{"args": [7]}', "cannot unmarshal number into Go struct field recording.args of type [2]string"),
        ('{"binDirs": true}', "cannot unmarshal bool into Go struct field recording.binDirs of type []string"),
    ],
)
def test_a_damaged_plugin_recording(
    content: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "operation.json").write_text(content)
    assert main(["cni", "add", "--replay", str(tmp_path)]) == 2
    assert problem in capsys.readouterr().err


def test_json_has_no_control_characters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.conflist").write_text('{"cniVersion": "1.0.0", "name": "n\\u009b2J", "plugins": [{"type": "odd"}]}')
    main(["cni", "conf", "-o", "json", "--conf-dir", str(tmp_path)])
    assert "\\u009b2J" in capsys.readouterr().out


@pytest.mark.parametrize("tries", ["[1]", '"many"', DEEP])
def test_damaged_progress_of_labs(tries: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions = f'{{"q": {{"first": "a", "tries": {tries}}}}}'
    labs = f'{{"01-first-crash": {{"questions": {questions}, "task_done": false}}}}'
    (tmp_path / "labs.json").write_text(f'{{"current": "01-first-crash", "labs": {labs}}}')
    assert main(["lab", "list", "--state", str(tmp_path)]) == 2
    assert "remove it to start from scratch" in capsys.readouterr().err
