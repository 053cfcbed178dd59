"""`kubesim run` with several files, objects without effect, and container output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubesim.cli.main import main

POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  restartPolicy: Never
  containers:
  - {name: main, image: "busybox:1", command: [sh, -c, %s]}
"""
ROLE = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader}\n"
NODES = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: wish}
spec:
  nodes: [{name: left}, {name: right}]
  duration: 10s
  expect: [{pod: "hel*", phase: Failed}]
---
"""
MANY = "\"for n in 1 2 3 4 5 6 7 8 9 10 11 12 13; do echo line $n; done; printf 'a\\\\033b' >&2\""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pod.yaml").write_text(POD % ("hello", MANY))
    (tmp_path / "role.yaml").write_text(ROLE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


def test_a_directory_is_one_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-q", "-f", "."]) == 0
    said = capsys.readouterr()
    assert said.err == "kubesim: stored, no effect here: ClusterRole/reader\n"
    assert "hello: deleted at" in said.out
    assert "ClusterRole/reader" in said.out
    assert said.out.count("seed 0") == 1


def test_objects_without_effect_are_noted_in_the_trace(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-o", "jsonl", "-f", "pod.yaml", "-f", "role.yaml"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    notes = [record["text"] for record in records if record["kind"] == "note"]
    assert notes.count("stored, no effect here: ClusterRole/reader") == 1


def test_strict_rejects_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--strict", "-f", "."]) == 2
    assert "role.yaml:2: kind: ClusterRole/reader has no effect here" in capsys.readouterr().err


def test_no_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run"]) == 2
    assert "give a FILE, or -f" in capsys.readouterr().err


def test_logs_are_printed_after_the_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--logs", "pod.yaml"], ["pod.yaml", "--logs", "hel*:main"], ["pod.yaml", "--logs", "hello"]):
        assert main(["run", "-q", *arguments]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[-2:] == ["[pod/hello/main] line 13", "[pod/hello/main] a\\x1bb"]
    assert main(["run", "-q", "pod.yaml", "--logs", "absent"]) == 0
    assert capsys.readouterr().err == "kubesim: no output of absent\n"


def test_the_timeline_folds_and_escapes_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "pod.yaml"]) == 0
    log = [line for line in capsys.readouterr().out.splitlines() if " log " in line]
    assert [line.split("hello:main")[1].strip() for line in log] == [
        *(f"line {n}" for n in range(1, 11)), "... 4 more lines",
    ]  # fmt: skip


def test_records_contain_every_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-o", "jsonl", "pod.yaml"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    log = [(record["stream"], record["text"]) for record in records if record["kind"] == "log"]
    assert log[0] == ("stdout", "line 1")
    assert log[-1] == ("stderr", "a\x1bb")
    assert len(log) == 14


def test_a_failed_expectation_prints_the_last_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "nodes.yaml").write_text(NODES + POD % ("hello", MANY))
    assert main(["run", "-q", "nodes.yaml"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any("nodes.yaml:" in line and "pod hel* must have phase Failed, but the" in line for line in lines)
    assert [line for line in lines if line.startswith("  [pod/")] == [
        *(f"  [pod/hello/main] line {n}" for n in range(10, 14)), "  [pod/hello/main] a\\x1bb",
    ]  # fmt: skip


def test_with_several_nodes_every_line_names_its_node(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "nodes.yaml").write_text(NODES + POD % ("hello", '"echo hi"'))
    main(["run", "nodes.yaml"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["TIME", "PART", "NODE", "POD"]
    (node,) = {line.split()[1] for line in lines if line.split()[:1] == ["log"]}
    assert node in ("left", "right")


def test_until_keeps_the_pods(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "server.yaml").write_text(POD % ("server", '"sleep 1000"'))
    assert main(["run", "-q", "--until", "2m", "server.yaml"]) == 0
    said = capsys.readouterr().out
    assert "server: Running" in said
    assert "2m0s on the node" in said


def test_fields_without_effect_are_reported_on_stderr_and_in_json(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tty.yaml").write_text(
        (folder / "pod.yaml").read_text().replace("  containers:", "  hostIPC: true\n  containers:")
    )
    assert main(["run", "-o", "json", "tty.yaml", "tty.yaml"]) == 0
    said = capsys.readouterr()
    line = "without effect here: spec.hostIPC (pod default/hello)"
    assert said.err == f"kubesim: {line}\n"
    assert [run["withoutEffect"] for run in json.loads(said.out)["runs"]] == [[line], [line]]
