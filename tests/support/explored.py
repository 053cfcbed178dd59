"""Scenarios for tests of `kubesim explore`: small ones with and without a bug, and its command line in this process."""

from __future__ import annotations

from pathlib import Path

from kubesim.cli.main import main

# Kubelet v1.36 skips init containers if the node reboots between CreateContainer and StartContainer of the main one.
TWO_INITS = """\
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: two-inits}
spec:
  duration: 200s
  images:
    - {name: "busybox:*", present: true}
---
apiVersion: v1
kind: Pod
metadata: {name: app}
spec:
  initContainers:
    - {name: fetch, image: "busybox:1.36", command: [sh, -c, sleep 2]}
    - {name: migrate, image: "busybox:1.36", command: [sh, -c, sleep 1]}
  containers:
    - {name: main, image: "busybox:1.36", command: [sh, -c, sleep 100000]}
"""
HARMLESS = """\
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: harmless}
spec:
  duration: 30s
  images:
    - {name: "busybox:*", present: true}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - {name: main, image: "busybox:1.36", command: [sh, -c, sleep 100000]}
"""


def write_two_inits(folder: Path) -> Path:
    return _write(folder / "two-inits.yaml", TWO_INITS)


def write_harmless(folder: Path) -> Path:
    return _write(folder / "harmless.yaml", HARMLESS)


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def explore(*words: str | Path) -> int:
    """`kubesim explore WORDS` in this process; its exit code."""
    return run_kubesim("explore", *map(str, words))


def run_kubesim(*words: str) -> int:
    """`kubesim WORDS` in this process; its exit code."""
    return main(words)
