"""The file of a saved run: its content, and reading it when it is truncated."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesim.cli.main import main
from kubesim.cli.views.saved_lines import is_saved_run, read_saved_lines
from kubesim.cluster.saved.reader import read_history
from kubesim.errors import InputError
from tests.support.saved_runs import header, lines_of

SECRET = """
apiVersion: v1
kind: Secret
metadata:
  name: door
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"key":"open-sesame"}}'
stringData: {key: open-sesame}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: busybox:1.36
    env: [{name: KEY, valueFrom: {secretKeyRef: {name: door, key: key}}}]
    command: [sh, -c, "sleep 1"]
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of a crash loop, plain and compressed."""
    path = tmp_path_factory.mktemp("saved")
    for name in ("run.jsonl", "run.jsonl.gz"):
        assert main(["run", "-q", "--until", "30s", "scenarios/crashloop.yaml", "--save", str(path / name)]) in (0, 1)
    return path / "run.jsonl"


def test_it_has_a_header_the_trace_the_changes_and_an_end(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(saved)
    assert lines[0]["type"] == "run"
    assert {name: lines[0][name] for name in ("scenario", "seed", "profile", "nodes")} == {
        "scenario": "crashloop", "seed": 0, "profile": "v1.36", "nodes": ["node-1"],
    }  # fmt: skip
    assert lines[-1]["type"] == "end"
    assert lines[-1]["t"] == 30.0
    assert {line["type"] for line in lines if "seq" not in line} == {"run", "ADDED", "MODIFIED", "end"}
    capsys.readouterr()
    main(["run", "-o", "jsonl", "--until", "30s", "scenarios/crashloop.yaml"])
    printed = [line for line in capsys.readouterr().out.splitlines() if '"seq"' in line]
    assert [line for line in saved.read_text().splitlines() if line.startswith('{"seq"')] == printed


def test_saving_does_not_change_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "-q", "scenarios/hello-pod.yaml"])
    plain = capsys.readouterr().out
    main(["run", "-q", "scenarios/hello-pod.yaml", "--save", str(tmp_path / "a")])
    assert capsys.readouterr().out == plain
    assert lines_of(tmp_path / "a")[-1]["hash"].startswith(plain.split("trace ")[1].strip())


def test_a_compressed_file_has_the_same_lines_and_is_private(saved: Path) -> None:
    packed = saved.with_name("run.jsonl.gz")
    assert gzip.decompress(packed.read_bytes()) == saved.read_bytes()
    assert packed.stat().st_mode & 0o077 == 0
    assert is_saved_run(str(saved))
    assert is_saved_run(str(packed))
    assert not is_saved_run("scenarios/crashloop.yaml")
    assert not is_saved_run("no such file")


def test_the_data_of_secrets_is_not_saved(tmp_path: Path) -> None:
    (tmp_path / "door.yaml").write_text(SECRET)
    assert main(["run", "-q", str(tmp_path / "door.yaml"), "--save", str(tmp_path / "run.jsonl")]) == 0
    text = (tmp_path / "run.jsonl").read_text()
    assert "open-sesame" not in text
    assert "b3Blbi1zZXNhbWU" not in text
    objects = [
        line["object"] for line in lines_of(tmp_path / "run.jsonl") if line.get("type") == "ADDED" and "seq" not in line
    ]
    [secret] = [obj for obj in objects if obj["kind"] == "Secret"]
    assert secret["data"] == {"key": "REDACTED"}


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
@settings(max_examples=30, deadline=None)
@given(part=st.floats(0, 1))
def test_a_truncated_file_can_be_read(saved: Path, name: str, part: float) -> None:
    data = saved.with_name(name).read_bytes()
    cut = saved.with_name(f"cut-{name}")
    cut.write_bytes(data[: int(len(data) * part)])
    whole = saved.read_text().splitlines()
    lines = read_saved_lines(str(cut))
    assert lines == whole[: len(lines)]
    if not lines:
        with pytest.raises(InputError):
            read_history(lines, "cut")
        return
    history = read_history(lines, "cut")
    assert history.is_whole == (len(lines) == len(whole))
    assert history.header == read_history(whole, "whole").header


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[]", "is no line of a saved run"),
        ("{", "2"),
        ('{"type": "CHANGED"}', "must be one of ADDED, MODIFIED, DELETED"),
        ('{"type": "ADDED", "t": 0, "object": {}}', "not an object with a name"),
        ('{"type": "ADDED", "t": 0, "object": {"metadata": {"name": "x"}}}', "has no kind"),
        ('{"type": "ADDED", "t": -1, "object": {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x"}}}',
         "seconds"),
        ('{"type": "end", "t": "soon"}', "must be seconds since the start"),
        ('{"seq": 1, "t": null}', "must be seconds since the start"),
    ],
)  # fmt: skip
def test_an_invalid_line_is_named(line: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read_history([header().line(), line], "run.jsonl")
    assert "run.jsonl:2" in str(caught.value)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "line", ['{"type": "run"}', '{"seq": 1}', json.dumps({"type": "run", "nodes": [], "start": "x"})]
)
def test_a_file_without_a_header_is_not_a_saved_run(line: str) -> None:
    with pytest.raises(InputError):
        read_history([line], "run.jsonl")
