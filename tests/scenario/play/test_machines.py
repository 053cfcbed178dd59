"""Steps that switch machines and components off and on, also while another step keeps them down."""

from __future__ import annotations

import pytest

from kubesim.app import run_scenario
from kubesim.scenario.load.loader import parse_scenario

SCENARIO = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: machines}}
spec: {{duration: 60s, steps: [{steps}]}}
"""
REBOOT = "{at: 10s, reboot: {what: node, downFor: 5s}}"


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        (f"{REBOOT}, {REBOOT}", "step at 10s: reboot: node node-1 is powered off"),
        (f"{REBOOT}, {{at: 12s, start: kubelet}}", "step at 12s: start: node node-1 is powered off"),
        (f"{REBOOT}, {{at: 12s, start: runtime}}", "step at 12s: start: node node-1 is powered off"),
        (f"{{at: 8s, restart: {{what: kubelet, downFor: 3s}}}}, {REBOOT}",
         "step at 8s: restart: node node-1 is powered off"),
        (f"{{at: 8s, upgrade: {{kubelet: v1.37, downFor: 10s}}}}, {REBOOT}",
         "step at 8s: upgrade: the kubelet of node node-1 is running already"),
    ],
)  # fmt: skip
def test_a_step_that_another_step_makes_impossible_fails(steps: str, problem: str) -> None:
    result = run_scenario(parse_scenario(SCENARIO.format(steps=steps), "machines.yaml"))
    assert [f"{failure.text}: {failure.why}" for failure in result.failures] == [problem]


def test_a_node_that_is_off_can_be_disconnected() -> None:
    steps = f"{REBOOT}, {{at: 12s, stop: apiserver}}, {{at: 13s, start: apiserver}}"
    assert run_scenario(parse_scenario(SCENARIO.format(steps=steps), "machines.yaml")).ok
