"""`kubesim explain`: files and standard input, text and JSON output, one-line errors."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kubesim.cli.main import main
from tests.support.attach.pods import ago, event, pod, running, terminated, waiting

PULLS = pod(waiting("ImagePullBackOff")).to_json()
PULL_FAILED = event("Failed", 'Failed to pull image "nginx:1.27": not found', 4, 2, "main").to_json()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pod.json"


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["explain", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_a_pod_from_a_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(json.dumps(PULLS))
    assert "no image" in said(capsys, str(file))


def test_a_list_on_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    items = [PULLS, PULL_FAILED, {"kind": "Service", "metadata": {"name": "other"}}]
    stdin = io.TextIOWrapper(io.BytesIO(json.dumps({"kind": "List", "items": items}).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    reported = json.loads(said(capsys, "-", "-o", "json", "--at", ago(0)))
    assert reported["causes"][0]["next"][0]["notBefore"] == ago(-16)


def test_events_from_a_separate_file(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(json.dumps(PULLS))
    events = tmp_path / "events.json"
    events.write_text(json.dumps({"kind": "EventList", "items": [PULL_FAILED]}))
    text = said(capsys, str(file), "--events", str(events), "--at", "2026-11-16T12:00:00Z")
    assert "after failure 2" in " ".join(text.split())


def test_one_pod_of_several(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = pod(running(), metadata={"name": "db", "uid": "u2"}).to_json()
    file.write_text(json.dumps({"kind": "PodList", "items": [PULLS, other]}))
    assert said(capsys, str(file)).count("Pod shop/") == 2
    assert "Pod shop/db" in said(capsys, str(file), "shop/db")
    lines = said(capsys, str(file), "-o", "jsonl").splitlines()
    assert [json.loads(line)["pod"]["name"] for line in lines] == ["web", "db"]


def test_yaml(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: shop}\nspec: {containers: []}\n")
    assert "no node yet" in said(capsys, str(file))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "empty; expected"),
        ("{", "not JSON"),
        ('{"kind": "Service"}', "it has no Pod"),
        ('{"kind": "Pod", "spec": {"containers": 5}}', "spec.containers"),
        ('{"kind": "PodList", "items": [1]}', "items[0]"),
        ("just text", "no kind"),
        ("[1, 2]", "no kind"),
    ],
)
def test_errors_are_one_line(content: str, expected: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(content)
    assert main(["explain", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert expected in captured.err


@pytest.mark.parametrize(
    "arguments",
    [["absent.json"], ["-", "--events", "-"], ["-", "-o", "xml"], ["-", "--at", "noon"], ["-", "--references"]],
)
def test_usage_errors(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *arguments]) == 2
    assert capsys.readouterr().err.startswith("kubesim: error: ")


def test_secret_values_are_not_printed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hidden: dict[str, Any] = {"name": "main", "image": "x", "env": [{"name": "PASSWORD", "value": "hunter2"}],
                              "command": ["x", "--token=hunter2"]}  # fmt: skip
    secret = pod(terminated(1), spec={"containers": [hidden]}, metadata={"annotations": {"a": "hunter2"}},
                 status={"phase": "Running"}).to_json()  # fmt: skip
    value = {"kind": "List", "items": [secret, {"kind": "Secret", "data": {"p": "hunter2"}}]}
    file.write_text(json.dumps(value))
    assert "hunter2" not in said(capsys, str(file)) + said(capsys, str(file), "-o", "json")
