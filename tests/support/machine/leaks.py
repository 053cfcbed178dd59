"""Runs of kubesim on the network of a private host, and what they leave behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.machine.cni_host import NETNS_DIR, STATE_DIR, links, output
from tests.support.machine.mounts import own_namespace_mounts
from tests.support.processes import kubesim, start


def left_over(state: str) -> dict[str, list[str]]:
    kept = [str(path.relative_to(state)) for path in Path(state).rglob("*") if path.is_file()]
    rules = [line for family in ("iptables-save", "ip6tables-save") for line in output(family).splitlines()]
    return {
        "links": [name for name in links() if name != "lo"],
        "addresses": json.loads(output("ip", "-j", "-4", "addr", "show", "scope", "global")),
        "files": sorted(str(path) for path in Path(STATE_DIR).rglob("*") if path.is_file()),
        "namespaces": os.listdir(NETNS_DIR) + own_namespace_mounts(),
        "chains": [line for line in rules if "CNI-DN-" in line or "CNI-SN-" in line or "kubesim" in line],
        "state": [
            name for name in kept if name not in ("lock", "plugins.lock", "runs.json", "net.d/10-kubesim.conflist")
        ],
    }


def lived(
    words: list[str],
    story: str,
    is_fatal: Callable[[dict[str, Any]], bool],
    pause_s: float = 0,
    by: signal.Signals = signal.SIGKILL,
) -> dict[str, Any]:
    """One run of kubesim, ended by a signal just after a given record."""
    events = []
    with start(*words, stderr=None) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(story)
        process.stdin.close()
        for line in process.stdout:
            record = json.loads(line)
            if record["kind"] == "event" and record["reason"] == "FailedCreatePodSandBox":
                events.append(record["message"])
            if is_fatal(record):
                time.sleep(pause_s)
                process.send_signal(by)
                break
        process.stdout.close()
    return {"code": process.returncode, "events": events}


STORY = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: x}
spec:
  runtime: cni
  images: [{name: "*", present: true}]
  duration: 1h
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: main, image: "nginx:1", ports: [{containerPort: 80, hostPort: 20000}]}]}
"""


def leaks(*words: str) -> tuple[int, str]:
    done = subprocess.run(kubesim("cni", "leaks", *words), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
