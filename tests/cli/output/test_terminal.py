"""Every text view escapes control characters in external text; JSON keeps them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from kubesim.cli.main import main
from kubesim.cli.output.terminal import safe

ESC, CSI, RIGHT_TO_LEFT, BELL = "\x1b]0;owned\x07", "\x9b31m", "\u202e", "\x07"
HOSTILE = f"{ESC}{CSI}{RIGHT_TO_LEFT}{BELL}\r\b"


def scenario(folder: Path) -> str:
    value = {
        "apiVersion": "kubesim.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": f"s{HOSTILE}"},
        "spec": {
            "nodes": [{"name": "node-1", "sandboxErrors": [f"refused {HOSTILE}"]}],
            "images": [{"name": "*", "errors": [f"no {HOSTILE}"], "pullTime": "1s"}],
            "behaviours": [
                {"runFor": "1s", "exitCode": 1, "log": [f"said {HOSTILE}"], "terminationMessage": f"sorry {HOSTILE}"}
            ],
            "objects": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": "a", "annotations": {"note": HOSTILE}},
                    "spec": {
                        "containers": [
                            {"name": "main", "image": "busybox", "env": [{"name": "A", "value": HOSTILE}]},
                        ]
                    },
                },
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"key": HOSTILE}},
            ],
            "expect": [{"pod": "a", "event": "Failed", "message": f"never {HOSTILE}", "by": "10s"}],
            "duration": "40s",
        },
    }
    file = folder / "hostile.yaml"
    file.write_text(json.dumps(value))
    return str(file)


def is_harmless(text: str) -> bool:
    return all(char.isprintable() or char == "\n" or char == "\N{NO-BREAK SPACE}" for char in text)


@pytest.mark.parametrize("more", [[], ["-v"], ["-q"], ["--logs"], ["-o", "svg"], ["-o", "mermaid"]], ids=" ".join)
def test_the_timeline(more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scenario(tmp_path), *more]) == 1
    captured = capsys.readouterr()
    assert "refused" in captured.out or "-q" in more
    assert is_harmless(captured.out)
    assert is_harmless(captured.err)


def test_the_stepper(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("nwxsNNNNNNNNnnnnnnnnnnnnnnnnnnnnnnnnnnwq\n"))
    main(["run", "--step", scenario(tmp_path)])
    captured = capsys.readouterr()
    assert "#" in captured.out
    assert is_harmless(captured.out)


def test_explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    waiting = {"reason": "CrashLoopBackOff", "message": f"back-off {HOSTILE}"}
    ended = {"exitCode": 1, "reason": "Error", "message": f"sorry {HOSTILE}", "finishedAt": "2026-01-01T00:00:00Z"}
    status = {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": "main",
                "ready": False,
                "restartCount": 3,
                "image": "busybox",
                "imageID": "",
                "state": {"waiting": waiting},
                "lastState": {"terminated": ended},
            }
        ],
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default", "uid": "u"},
        "spec": {"nodeName": "n", "containers": [{"name": "main", "image": "busybox"}]},
        "status": status,
    }
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(pod))
    assert main(["explain", str(file)]) == 0
    assert is_harmless(capsys.readouterr().out)


def test_an_error_about_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / f"{CSI}{RIGHT_TO_LEFT}.yaml"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": HOSTILE, "metadata": {"name": "a"}}))
    assert main(["run", str(file)]) == 2
    assert is_harmless(capsys.readouterr().err)


def test_json_is_not_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "-o", "jsonl", scenario(tmp_path)])
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert any(record.get("text") == f"said {HOSTILE}" for record in records)


def test_line_breaks_are_kept() -> None:
    assert safe(f"one\ntwo {ESC}") == "one\ntwo \\x1b]0;owned\\a"
