"""A user error is one line on stderr with its position, and exit code 2; never a traceback."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from kubesim.cli.main import main

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: hello}\nspec:\n  containers:\n  - {name: web, image: nginx}\n"
SCENARIO = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec:\n"

BAD_FILES = {
    "malformed YAML": ("metadata: [1,\nkind: }\n", r":2: malformed YAML"),
    "not a mapping": ("- 1\n- 2\n", r":1: "),
    "wrong kind": ("apiVersion: v1\nkind: Banana\n", r":2: kind: .*Banana"),
    "unknown scenario field": (SCENARIO + "  sede: 1\n", r":5: spec\.sede: unknown field"),
    "unknown pod field": (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  containers:\n  - name: web\n    imagee: nginx\n",
        r":7: spec\.containers\[0\]\.imagee: unknown field; did you mean image\?",
    ),
    "wrong type": (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  containers: 5\n",
        r":5: spec\.containers: ",
    ),
    "a pod the API refuses": (POD.replace("name: web", "name: WEB"), r"spec\.containers\[0\]\.name: "),
    "bad duration": (SCENARIO + "  duration: soon\n", r":5: spec\.duration: .*duration"),
    "unknown feature gate": (SCENARIO + "  featureGates: {PodLevelResource: true}\n", r"PodLevelResources"),
    "empty": ("", r": it is empty"),
    "an alias bomb": (
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
        r"",
    ),
    "deep nesting": ("[" * 100_000, r""),
}


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The error line, after checking that there is no other output and that the exit code is 2."""
    assert main(list(arguments)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch(r"kubesim: error: .+\n", said.err), said.err
    return said.err.removeprefix("kubesim: error: ").rstrip("\n")


@pytest.mark.parametrize("name", BAD_FILES)
def test_invalid_content_is_reported_with_file_line_and_field(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, expected = BAD_FILES[name]
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    said = complaint(capsys, "run", str(path))
    assert said.startswith(str(path))
    assert re.search(expected, said), said


def test_files_that_are_not_scenarios(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint(capsys, "run", str(tmp_path / "none.yaml")) == f"{tmp_path}/none.yaml: no such file"
    assert complaint(capsys, "run", str(tmp_path)).startswith(f"{tmp_path}: is a directory")
    (tmp_path / "hello-pod.yaml").touch()
    wrong = str(tmp_path / "helo-pod.yaml")
    assert complaint(capsys, "run", wrong) == f"{wrong}: no such file; did you mean {tmp_path}/hello-pod.yaml?"
    big = tmp_path / "big.yaml"
    big.write_bytes(b"# long\n" * (10 << 20) + POD.encode())
    assert "larger than" in complaint(capsys, "run", str(big))
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"kind: \xff\xfe\n")
    assert ":1: is not UTF-8 text" in complaint(capsys, "run", str(binary))


def test_an_invalid_file_is_reported_before_anything_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.yaml").write_text(POD)
    (tmp_path / "bad.yaml").write_text("kind: [")
    assert "bad.yaml" in complaint(capsys, "run", str(tmp_path / "good.yaml"), str(tmp_path / "bad.yaml"))


def test_standard_input_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"kind: [\n")))
    assert complaint(capsys, "run", "-").startswith("standard input:")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "COMMAND"),
        (["fly"], "invalid choice: 'fly'"),
        (["run"], "FILE"),
        (["run", "x.yaml", "--sed", "1"], "unknown flag --sed; did you mean --seed?"),
        (["run", "x.yaml", "--seed", "many"], "--seed: not a whole number: 'many'"),
        (["run", "x.yaml", "--seed", "-1"], "--seed"),
        (["run", "x.yaml", "--until", "tomorrow"], "--until: 'tomorrow' is not a duration"),
        (["run", "x.yaml", "--until", "0"], "--until: must be longer than 0"),
        (["run", "x.yaml", "--speed", "0"], "--speed: must be greater than 0"),
        (["run", "x.yaml", "--feature-gates", "EventedPLEG"], "--feature-gates: missing bool value for EventedPLEG"),
        (["run", "x.yaml", "--feature-gates", "EventedPLEG=on"], "invalid value of EventedPLEG: 'on'"),
        (["run", "x.yaml", "-o", "xml"], "must be one of text, jsonl, json, svg, mermaid, perfetto, not 'xml'"),
        (["run", "x.yaml", "-v", "-q"], "not allowed with"),
        (["conformance", "nowhere"], "nowhere: no such file or directory"),
    ],
)
def test_usage_errors(arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert expected in complaint(capsys, *arguments)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("KUBESIM_SEED", "x"),
        ("KUBESIM_UNTIL", "x"),
        ("KUBESIM_SPEED", "x"),
        ("KUBESIM_OUTPUT", "x"),
        ("KUBESIM_FEATURE_GATES", "x"),
    ],
)
def test_an_invalid_environment_variable_is_named(
    variable: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    monkeypatch.setenv(variable, value)
    assert complaint(capsys, "run", str(tmp_path / "pod.yaml")).startswith(f"{variable}: ")


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        ("EventedPleg=true", "unknown feature gate 'EventedPleg'; did you mean 'EventedPLEG'?"),
        ("SidecarContainers=false", "cannot set feature gate SidecarContainers to false, feature is locked to true"),
    ],
)
def test_gates_with_which_a_kubelet_does_not_start(
    gates: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    assert complaint(capsys, "run", "--feature-gates", gates, str(tmp_path / "pod.yaml")) == expected


def test_conformance_without_corpora(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint(capsys, "conformance", str(tmp_path)).startswith("no corpora")
    (tmp_path / "pod_phase.jsonl").write_text('{"case": "a"')
    assert "pod_phase.jsonl:1: not JSON" in complaint(capsys, "conformance", str(tmp_path))
    assert "--only pleg: is not a corpus here" in complaint(capsys, "conformance", str(tmp_path), "--only", "pleg")
