"""The simulated RunPodSandbox of profile v1.30, whose containerd is 1.7."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.app import run_scenario
from kubesim.errors import KubesimError
from kubesim.runtime.simulated.cri.containerd_1 import STEPS, steps_of_run, undone
from kubesim.runtime.simulated.cri.start_up import START_UP_1
from kubesim.scenario.load.loader import parse_scenario
from kubesim.trace import MemorySink
from kubesim.trace.records import EventRecorded, RuntimeStep

SCENARIO = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: x}}
spec:
  profile: v1.30
  duration: 5s
  featureGates: {{UserNamespacesSupport: true}}
  images: [{{name: "*", present: true}}]
  nodes: [{{name: node-1, userNamespaces: true, sandboxFaults: [{faults}]}}]
---
apiVersion: v1
kind: Pod
metadata: {{name: web}}
spec: {{hostUsers: {host_users}, containers: [{{name: main, image: "nginx:1"}}]}}
"""


def run(faults: str = "", *, host_users: bool = True) -> list[Any]:
    sink = MemorySink(details=True)
    text = SCENARIO.format(faults=faults, host_users=str(host_users).lower())
    run_scenario(parse_scenario(text, "x.yaml"), sinks=(sink,))
    return sink.records


def steps(records: list[Any], during: str = "RunPodSandbox") -> list[str]:
    return [each.step for each in records if isinstance(each, RuntimeStep) and each.during == during]


def test_the_start_of_the_cri_plugin_has_no_sandbox_controllers() -> None:
    assert steps(run(), "CRI plugin") == list(START_UP_1)


@pytest.mark.parametrize("host_users", [True, False])
def test_with_a_user_namespace_the_network_is_set_up_after_the_task(host_users: bool) -> None:
    reported = steps(run(host_users=host_users))
    assert reported.index("create the snapshot and the container") < reported.index("set up the network")
    assert (reported.index("create the task") < reported.index("set up the network")) == (not host_users)
    assert reported.index("set up the network") < reported.index("start the task")


def test_errors_do_not_mention_a_controller() -> None:
    [message, *_] = [each.message for each in run("{step: image, error: gone}") if isinstance(each, EventRecorded)]
    assert message.endswith('desc = failed to get sandbox image "pause:3.8": gone')


@pytest.mark.parametrize(
    ("user_namespace", "kept", "expected"),
    [
        (False, False, ["task", "network", "netns", "files", "stateDirectory", "rootDirectory", "container", "name"]),
        (False, True, ["files", "stateDirectory", "rootDirectory"]),
        (True, False, ["network", "netns", "task", "files", "stateDirectory", "rootDirectory", "container", "name"]),
        (True, True, ["network", "netns", "files", "stateDirectory", "rootDirectory"]),
    ],
)
def test_steps_reverted_when_the_task_does_not_start(user_namespace: bool, kept: bool, expected: list[str]) -> None:
    order = steps_of_run(host_network=False, user_namespace=user_namespace)
    assert [step.name for step in undone(STEPS["start"], order, kept=kept)] == expected


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("{step: lease, error: x}", "step lease does not exist in containerd 1.7: use name, image, ociRuntime"),
        ("{step: spec, error: x, cleanUpError: busy}", "nothing exists yet before step spec; use rootDirectory"),
    ],
)
def test_impossible_faults(fault: str, problem: str) -> None:
    with pytest.raises(KubesimError, match=problem):
        run(fault)
