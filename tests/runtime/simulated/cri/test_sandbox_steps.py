"""The steps of RunPodSandbox: as details of the trace, and with faults."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.app import run_scenario
from kubesim.errors import KubesimError
from kubesim.runtime.simulated.cri.sandbox_steps import BY_NAME, STEPS, undone
from kubesim.runtime.simulated.cri.start_up import START_UP
from kubesim.scenario.ending.result import RunResult
from kubesim.scenario.load.loader import parse_scenario
from kubesim.trace import HashSink, MemorySink
from kubesim.trace.records import ContainerEvent, CriCall, EventRecorded, RuntimeStep

SCENARIO = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: x}}
spec:
  duration: 30s
  images: [{{name: "*", present: true}}]
  steps: [{{at: 20s, restart: runtime}}]
  nodes: [{{name: node-1, sandboxFaults: [{faults}]}}]
---
apiVersion: v1
kind: Pod
metadata: {{name: web}}
spec:
  hostNetwork: {host}
  containers: [{{name: main, image: "nginx:1"}}]
"""


def run(faults: str = "", *, details: bool = True, host: bool = False) -> tuple[RunResult, MemorySink]:
    sink = MemorySink(details=details)
    scenario = parse_scenario(SCENARIO.format(faults=faults, host=str(host).lower()), "x.yaml")
    return run_scenario(scenario, sinks=(sink, HashSink())), sink


def of_kind(sink: MemorySink, kind: type[Any]) -> list[Any]:
    return [record for record in sink.records if isinstance(record, kind)]


def steps(sink: MemorySink) -> list[str]:
    """Those of sandboxes."""
    reported = of_kind(sink, RuntimeStep)
    of_sandboxes = [record for record in reported if record.runtime == "containerd" and record.during != "CRI plugin"]
    return [f"{record.during}: {record.step}" for record in of_sandboxes]


def start_ups(sink: MemorySink) -> list[tuple[int, str]]:
    reported = of_kind(sink, RuntimeStep)
    return [(record.t // 1_000_000, record.step) for record in reported if record.during == "CRI plugin"]


def messages(sink: MemorySink) -> list[str]:
    return [each.message for each in of_kind(sink, EventRecorded) if each.reason == "FailedCreatePodSandBox"]


def test_every_step_is_reported_in_containerds_order() -> None:
    _, sink = run()
    reported = [f"{step.during}: {step.text}" for step in STEPS]
    assert steps(sink) == [*reported, "RunPodSandbox: watch for the sandbox' exit"]
    sent = [record.type.removesuffix("_EVENT") for record in of_kind(sink, ContainerEvent)]
    assert sent[:2] == ["CONTAINER_CREATED", "CONTAINER_STARTED"]


def test_the_start_of_the_cri_plugin_is_reported_also_after_a_restart() -> None:
    _, sink = run()
    assert start_ups(sink) == [(moment, step) for moment in (0, 22) for step in START_UP]


def test_a_pod_on_the_hosts_network_gets_no_network() -> None:
    _, sink = run(host=True)
    assert not [text for text in steps(sink) if "network" in text]


def test_recording_the_steps_does_not_change_the_trace() -> None:
    (watched, detailed), (unwatched, plain) = run(), run(details=False)
    assert watched.trace_hash == unwatched.trace_hash
    assert watched.records == unwatched.records
    assert not of_kind(plain, RuntimeStep)
    assert not of_kind(plain, ContainerEvent)
    assert [each for each in detailed.records if not isinstance(each, RuntimeStep | ContainerEvent)] == plain.records


def test_a_fault_has_the_error_text_of_its_callers() -> None:
    result, sink = run("{step: task, error: no shim, times: 1}")
    [message] = messages(sink)
    before = "Failed to create pod sandbox: rpc error: code = Unknown desc = "
    assert message.startswith(f'{before}failed to start sandbox "')
    assert message.endswith('": failed to create containerd task: no shim')
    assert result.phases == {"default/web": "Running"}


def test_created_resources_are_removed_in_reverse_order() -> None:
    _, sink = run("{step: files, error: no room, times: 1}")
    failed = steps(sink).index(f"Controller.Start: {BY_NAME['files'].text}")
    assert steps(sink)[failed + 1 :][:8] == [
        "Controller.Start: delete the container and its snapshot",
        "Controller.Start: remove the volatile directory",
        "Controller.Start: remove the root directory",
        "RunPodSandbox: tear down the network",
        "RunPodSandbox: remove the network namespace",
        "RunPodSandbox: delete the metadata",
        "RunPodSandbox: delete the lease",
        "RunPodSandbox: release the name",
    ]


def test_a_sandbox_that_cannot_be_removed_stays_and_the_next_has_another_attempt_number() -> None:
    _, sink = run("{step: start, error: refused, times: 1, cleanUpError: busy}")
    calls = [(each.call, each.args.get("attempt")) for each in of_kind(sink, CriCall) if "PodSandbox" in each.call]
    assert calls == [("RunPodSandbox", 0), ("StopPodSandbox", None), ("RunPodSandbox", 1)]
    kept = list(undone(BY_NAME["start"], STEPS, kept=True))
    assert [step.undo for step in kept] == ["delete the lease"]


def test_a_started_sandbox_is_shut_down_and_not_reverted() -> None:
    _, sink = run("{step: nri, error: refused, times: 1}")
    assert messages(sink)[0].endswith("desc = NRI RunPodSandbox failed: refused")
    assert "RunPodSandbox: shut down the sandbox" in steps(sink)
    assert "Controller.Start: kill and delete the task" not in steps(sink)


def test_a_fault_of_another_pod_does_not_occur() -> None:
    result, sink = run("{step: spec, error: refused, pod: 'db-*'}")
    assert not messages(sink)
    assert result.phases == {"default/web": "Running"}


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("{step: pause, error: x}", "'pause' is not a step of RunPodSandbox: name, lease, runtime"),
        ("{step: image, error: x, cleanUpError: busy}", "nothing exists yet before step image; use stateDirectory"),
    ],
)
def test_impossible_faults(fault: str, problem: str) -> None:
    with pytest.raises(KubesimError, match=problem):
        run(fault)
