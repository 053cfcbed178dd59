"""A scenario and a seed give the same trace hash: repeatedly, in another process, and with or without idle ticks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kubesim.app import run_scenario
from kubesim.scenario.ending.result import RunResult
from kubesim.scenario.load.loader import load_scenario, parse_scenario
from kubesim.trace import HashSink
from tests.support.soak import LONG, rounds
from tests.support.ticks import ticks

pytestmark = LONG

ROOT = Path(__file__).parent.parent
SCENARIOS = sorted((ROOT / "scenarios").glob("*.yaml"))
SCRIPT = """
import sys
from kubesim.app import run_scenario
from kubesim.scenario.load.loader import load_scenario
from kubesim.trace import HashSink
for path in sys.argv[1:]:
    print(run_scenario(load_scenario(path), seed=7, sinks=(HashSink(),)).trace_hash)
"""


def run(path: Path, seed: int, *, every_tick: bool = False) -> RunResult:
    with ticks(every_tick=every_tick):
        return run_scenario(load_scenario(str(path)), seed=seed, sinks=(HashSink(),))


@pytest.mark.parametrize("name", ["hello-pod", "two-containers"])
def test_fifty_runs_have_one_hash(name: str) -> None:
    path = ROOT / "scenarios" / f"{name}.yaml"
    assert len({run(path, 7).trace_hash for _ in range(50)}) == 1


def test_other_processes_with_other_hash_seeds_have_the_same_hashes() -> None:
    here = [run(path, 7).trace_hash for path in SCENARIOS]
    for hash_seed in ("0", "1", "4242"):
        answer = subprocess.run(
            [sys.executable, "-c", SCRIPT, *map(str, SCENARIOS)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert answer.stdout.split() == here


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_another_seed_gives_another_hash(path: Path) -> None:
    first = run(path, 7).trace_hash
    assert any(run(path, seed).trace_hash != first for seed in range(10))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_seed_ends_in_the_same_phases(path: Path) -> None:
    phases = [run(path, seed).phases for seed in range(10)]
    assert all(other == phases[0] for other in phases)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_executing_every_idle_tick_changes_nothing(path: Path) -> None:
    for seed in range(3):
        assert run(path, seed, every_tick=True).trace_hash == run(path, seed).trace_hash


# While the runtime is down or its list calls hang, the sync loop is blocked, and skipped ticks become due.
IN_TROUBLE = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: trouble}}
spec:
  images: [{{name: "*", present: true}}]
  kubeletConfiguration: {{runtimeRequestTimeout: {timeout}}}
  duration: 7m
  steps:
    - {{at: 30s, {trouble}}}
    - at: 60s
      apply:
        {{apiVersion: v1, kind: Pod, metadata: {{name: late}}, spec: {{containers: [{{name: main, image: nginx}}]}}}}
    - {{at: 70s, delete: {{pod: steady}}}}
    - {{at: 100s, kill: {{pod: web, container: main}}}}
---
{{apiVersion: v1, kind: Pod, metadata: {{name: web}}, spec: {{containers: [{{name: main, image: nginx}}]}}}}
---
{{apiVersion: v1, kind: Pod, metadata: {{name: steady}}, spec: {{containers: [{{name: main, image: nginx}}]}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: crash}}
spec: {{containers: [{{name: main, image: busybox, command: [sh, -c, "sleep 5; exit 1"]}}]}}
---
apiVersion: v1
kind: Pod
metadata: {{name: probed}}
spec:
  activeDeadlineSeconds: 90
  containers:
    - name: main
      image: busybox
      command: [sh, -c, "touch /ok; sleep 50; rm /ok; sleep 1000"]
      livenessProbe: {{exec: {{command: [cat, /ok]}}, periodSeconds: 7}}
"""


@pytest.mark.parametrize(
    ("trouble", "timeout"),
    [
        ("hang: {for: 3s}", "2m"),
        ("hang: {for: 45s}", "20s"),
        ("hang: {for: 2m30s}", "2m"),
        ("hang: {for: 4m}", "2m"),
        ("restart: {what: runtime, downFor: 70s}", "2m"),
        ("restart: {what: runtime, containers: gone, downFor: 40s}", "2m"),
    ],
)
def test_skipping_idle_ticks_changes_nothing_while_the_loop_is_blocked(trouble: str, timeout: str) -> None:
    scenario = parse_scenario(IN_TROUBLE.format(trouble=trouble, timeout=timeout), "trouble.yaml")
    for seed in range(rounds(20)):
        hashes = []
        for every in (False, True):
            with ticks(every_tick=every):
                hashes.append(run_scenario(scenario, seed=seed, sinks=(HashSink(),)).trace_hash)
        assert hashes[0] == hashes[1], f"seed {seed}"
