"""`kubesim run`: output formats, verbosity, precedence of settings, and exit codes."""

from __future__ import annotations

import io
import json
import signal
from pathlib import Path

import pytest

from kubesim.cli.main import main
from kubesim.trace.records import KINDS
from tests.support.fakes.terminal import Terminal
from tests.support.processes import start

POD = """
apiVersion: v1
kind: Pod
metadata: {name: hello}
spec:
  restartPolicy: Never
  containers:
  - {name: main, image: "busybox:1", command: [sh, -c, "sleep 2; exit 3"]}
"""
SCENARIO = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: wish}
spec:
  seed: 5
  expect: [{pod: hello, phase: Succeeded}]
---
"""


@pytest.fixture
def pod(tmp_path: Path) -> str:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    return str(path)


@pytest.fixture
def wish(tmp_path: Path) -> str:
    """A scenario with an expectation that fails."""
    path = tmp_path / "wish.yaml"
    path.write_text(SCENARIO + POD)
    return str(path)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a wide terminal, so that no expected text is wrapped."""
    monkeypatch.setenv("COLUMNS", "160")


def out(capsys: pytest.CaptureFixture[str]) -> str:
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def test_the_timeline_shows_the_whole_lifecycle(pod: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", pod]) == 0
    said = out(capsys)
    for expected in (
        "ADD from source api",
        "config → HandlePodAdditions",
        "UpdatePod(create)",
        "┌ SyncPod",
        "create sandbox, start main — no sandbox exists yet",
        "RunPodSandbox",
        "StartContainer",
        "Started: Container started",
        "pleg → HandlePodSyncs",
        "Pending → Running",
        "main: running → terminated/3/Error",
        "SyncTerminatedPod",
        "no steps: pods are deleted 30 s after everything is idle",
        "hello: deleted at 32.6 s, last phase Failed",
    ):
        assert expected in said, expected
    assert "\x1b" not in said


def test_quiet_is_shorter_and_verbose_is_complete(pod: str, capsys: pytest.CaptureFixture[str]) -> None:
    lengths = []
    for flags in (["-q"], [], ["-v"]):
        assert main(["run", *flags, pod]) == 0
        lengths.append(len(out(capsys).splitlines()))
    assert lengths[0] < lengths[1] < lengths[2]
    main(["run", "-q", pod])
    parts = {line[10:18].strip() for line in out(capsys).splitlines()[1:-3] if line[10:18].strip()}
    assert parts == {"api", "event", "status"}


def test_json_lines_are_records(pod: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-o", "jsonl", pod]) == 0
    records = [json.loads(line) for line in out(capsys).splitlines()]
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    assert {record["kind"] for record in records} <= {kind.KIND for kind in KINDS}
    known = {record["seq"] for record in records}
    assert all(record["cause"] in known and record["cause"] < record["seq"] for record in records if "cause" in record)
    assert any(record["kind"] == "actions" and record["why"] for record in records)


def test_json_is_one_object_with_the_outcome(pod: str, wish: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-o", "json", pod, wish]) == 1
    first, second = json.loads(out(capsys))["runs"]
    assert first["file"] == pod
    assert first["phases"] == {"default/hello": "Failed"}
    assert first["records"][0]["seq"] == 1
    assert second["scenario"] == "wish"
    assert len(second["expectations"]["failed"]) == 1


def test_a_failed_expectation_is_reported_and_exits_with_1(wish: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-q", wish]) == 1
    assert f"FAILED: {wish}:7: pod hello must have phase Succeeded" in out(capsys)


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return out(capsys).splitlines()[-1]


def test_flags_override_the_environment_which_overrides_the_scenario(
    wish: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["run", wish])
    assert "wish, seed 5:" in last_line(capsys)
    monkeypatch.setenv("KUBESIM_SEED", "6")
    main(["run", wish])
    assert "wish, seed 6:" in last_line(capsys)
    main(["run", "--seed", "7", wish])
    assert "wish, seed 7:" in last_line(capsys)
    monkeypatch.setenv("KUBESIM_UNTIL", "2s")
    main(["run", wish])
    assert ": 2s on the node" in last_line(capsys)
    monkeypatch.setenv("KUBESIM_OUTPUT", "jsonl")
    main(["run", wish])
    assert json.loads(last_line(capsys))["t"] <= 2


def test_the_same_seed_gives_the_same_output(pod: str, capsys: pytest.CaptureFixture[str]) -> None:
    runs = []
    for seed in ("3", "3", "4"):
        main(["run", "-v", "--seed", seed, pod])
        runs.append(out(capsys))
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_manifests_can_come_from_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(POD.encode())))
    assert main(["run", "-q", "-"]) == 0
    assert "hello: deleted at 32.6 s, last phase Failed" in out(capsys)


def test_speed_changes_only_the_pace(pod: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", pod])
    at_once = out(capsys)
    main(["run", "--speed", "100000", pod])
    assert out(capsys) == at_once


def test_feature_gates_from_flag_environment_and_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "gated.yaml"
    path.write_text(SCENARIO.replace("seed: 5", "featureGates: {PodReadyToStartContainersCondition: false}") + POD)

    def shows_the_condition(*flags: str) -> bool:
        main(["run", *flags, str(path)])
        return "PodReadyToStartContainers=" in out(capsys)

    assert not shows_the_condition()
    monkeypatch.setenv("KUBESIM_FEATURE_GATES", "PodReadyToStartContainersCondition=t")
    assert shows_the_condition()
    assert not shows_the_condition("--feature-gates", "PodReadyToStartContainersCondition=false,EventedPLEG=0")


def test_colours_need_a_terminal_and_can_be_disabled(pod: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for no_color, coloured in (("", True), ("1", False)):
        monkeypatch.setenv("NO_COLOR", no_color)
        screen = Terminal()
        monkeypatch.setattr("sys.stdout", screen)
        main(["run", pod])
        assert ("\x1b[" in screen.getvalue()) == coloured


def test_on_a_terminal_a_timeline_refers_to_the_glossary(pod: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for words, referring in (((), True), (("-q",), False)):
        screen = Terminal()
        monkeypatch.setattr("sys.stdout", screen)
        main(["run", pod, *words])
        last = screen.getvalue().splitlines()[-1]
        assert last.startswith("terms: ") == referring
        if referring:
            assert Path(last.removeprefix("terms: ")).read_text().startswith("# Glossary\n")


def test_a_closed_pipe_is_not_an_error(pod: str) -> None:
    with start("run", "-v", "--speed", "2", pod) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_an_interrupt_exits_silently_with_130(pod: str) -> None:
    with start("run", "-v", "--speed", "0.01", pod) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it runs
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert (process.returncode, said) == (130, "")
