"""The scheduler starts with the first unscheduled pod; without it, a rule assigns the node."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.played import Played, pod

MODULE = "kubesim.cluster.scheduling.scheduler"


PROGRAM = f"""
import json, sys
from kubesim.app import run_scenario
from kubesim.scenario.load.loader import parse_scenario
run_scenario(parse_scenario(sys.argv[1], "x"))
print("{MODULE}" in sys.modules)
"""


@pytest.mark.parametrize(("scheduler", "expected"), [(None, "False"), ("on", "True")])
def test_a_run_without_unscheduled_pods_does_not_import_the_scheduler(scheduler: str | None, expected: str) -> None:
    spec = {"scheduler": scheduler, "objects": [pod("web")], "duration": "2s"}
    head = {"apiVersion": "kubesim.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "x"}}
    command = [sys.executable, "-c", PROGRAM, json.dumps({**head, "spec": spec})]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == expected


def test_without_a_scheduler_a_gated_pod_is_bound_when_its_gates_are_removed() -> None:
    played = Played(
        {"at": "5s", "patch": {"pod": "web", "patch": {"spec": {"schedulingGates": None}}, "type": "merge"}},
        objects=[pod("web", schedulingGates=[{"name": "example.com/wait"}])],
        scheduler="off",
        duration="20s",
        expect=[
            {"pod": "web", "phase": "Running", "by": "4s", "never": True},
            {"pod": "web", "phase": "Running", "by": "10s"},
        ],
    )
    assert played.result.ok, played.result.expectations_failed
