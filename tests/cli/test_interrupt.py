"""A signal ends a run with its result so far."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from kubesim.app import run_scenario
from kubesim.scenario.ending.result import RunInterrupted
from kubesim.scenario.load.loader import load_scenario
from kubesim.trace import MemorySink
from kubesim.trace.records import Record
from tests.support.processes import start

PROBES_FOR_30_DAYS = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: days}
spec:
  duration: 720h
  expect:
  - {pod: web, phase: Running, by: 20s}
  - {pod: web, phase: Succeeded}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: busybox
    command: [sh, -c, "touch /tmp/ok; sleep 100000000"]
    livenessProbe: {exec: {command: [cat, /tmp/ok]}, periodSeconds: 1}
"""


@pytest.fixture
def days(tmp_path: Path) -> str:
    path = tmp_path / "days.yaml"
    path.write_text(PROBES_FOR_30_DAYS)
    return str(path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_summary_says_what_is_known(days: str, number: signal.Signals) -> None:
    with start("run", days) as process:
        assert process.stdout is not None
        shown = ""
        while "liveness is now success" not in shown:
            shown = process.stdout.readline()
        process.send_signal(number)
        out = process.stdout.read()
        assert process.stderr is not None
        err = process.stderr.read()
    assert (process.returncode, err) == (130, "")
    *_, pod, expectation, last = out.splitlines()
    assert pod == "web: Running"
    assert expectation == "expectation not evaluated: pod web must have phase Succeeded"
    assert last.startswith("days, seed 0: interrupted after ")
    assert "1 of 1 expectations met" in last


def test_json_is_complete(days: str, tmp_path: Path) -> None:
    log = tmp_path / "kubelet.log"
    with start("run", "-o", "json", "--log", str(log), days) as process:
        assert process.stdout is not None
        head = "".join(process.stdout.readline() for _ in range(100))
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
    assert process.returncode == 130
    [run] = json.loads(head + out)["runs"]
    assert run["interrupted"] is True
    assert run["expectations"] == {
        "met": ["pod web must have phase Running by 20s"],
        "failed": [],
        "open": ["pod web must have phase Succeeded"],
    }
    assert [record["seq"] for record in run["records"]] == list(range(1, len(run["records"]) + 1))
    assert log.read_text().endswith("\n")


class _Interrupting(MemorySink):
    """Sends the signal when so much has been recorded."""

    def record(self, record: Record) -> None:
        super().record(record)
        if len(self.records) == 200:
            signal.raise_signal(signal.SIGINT)


def test_in_python_the_interrupt_has_the_result(days: str) -> None:
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(RunInterrupted) as stopped:
            run_scenario(load_scenario(days), sinks=(_Interrupting(),))
    finally:
        signal.signal(signal.SIGINT, former)
    result = stopped.value.result
    assert result.interrupted
    assert result.records >= 200
    assert result.expectations_open == ("pod web must have phase Succeeded",)


def test_progress_is_reported_while_time_continues(days: str) -> None:
    moments: list[int] = []
    run_scenario(load_scenario(days), until=3600 * 1_000_000, on_progress=moments.append)
    assert moments == sorted(moments)
    assert moments[-1] <= 3600 * 1_000_000
    assert len(moments) > 2
