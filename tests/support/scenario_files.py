"""Scenario files for tests: one that passes, one that fails, one with errors."""

from __future__ import annotations

from pathlib import Path

POD = """\
---
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  containers:
    - {{name: main, image: "busybox:1", command: [sh, -c, "echo hello; {script}"]}}
"""
SCENARIO = """\
# A small one.
#
# Look at: the phase. It is Running.
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: {name}}}
spec:
  duration: 10s
  images:
    - {{name: "busybox:*", present: true}}
  expect:
    - {{pod: {name}, phase: {phase}, by: 5s}}
"""
EXPECTATION_LINE = 12


def scenario_text(name: str, *, phase: str = "Running", script: str = "sleep 1000") -> str:
    return (SCENARIO + POD).format(name=name, phase=phase, script=script)


def write_scenario(folder: Path, name: str, *, phase: str = "Running", script: str = "sleep 1000") -> Path:
    path = folder / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(scenario_text(name, phase=phase, script=script))
    return path
