"""Whole runs through the composition root: what a user's manifest comes to."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.app import run_scenario
from kubesim.clock.stopwatch import Stopwatch
from kubesim.runtime.simulated.runtime import SimulatedRuntime
from kubesim.scenario.ending.result import RunResult
from kubesim.scenario.load.loader import parse_scenario
from kubesim.trace import HashSink, MemorySink
from kubesim.trace.records import ApiWrite, CriCall, EventRecorded, Note

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  restartPolicy: %s
  terminationGracePeriodSeconds: 4
  containers:
  - {name: main, image: "%s", command: %s}
"""
SCENARIO = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: tale}\nspec: %s\n---\n"


def play(text: str, **options: Any) -> tuple[RunResult, MemorySink]:
    sink = MemorySink()
    result = run_scenario(parse_scenario(text, "tale.yaml"), sinks=(sink,), **options)
    return result, sink


def pod(command: str = "[]", *, image: str = "busybox:1", restart: str = "Always") -> str:
    return POD % (restart, image, command)


def last_status(sink: MemorySink) -> dict[str, Any]:
    writes = [record for record in sink.records if isinstance(record, ApiWrite) and record.resource == "pods/status"]
    return dict(writes[-1].summary)


def test_a_plain_manifest_lives_and_is_deleted() -> None:
    result, sink = play(pod(image="nginx"))
    calls = [record.call for record in sink.records if isinstance(record, CriCall)]
    assert calls == ["RunPodSandbox", "PullImage", "CreateContainer", "StartContainer", "StopContainer",
                     "StopPodSandbox", "RemoveContainer"]  # fmt: skip
    reasons = [record.reason for record in sink.records if isinstance(record, EventRecorded)]
    assert reasons == ["Pulling", "Pulled", "Created", "Started", "Killing"]
    assert result.phases == {"default/web": "Succeeded"}
    assert result.events == 5
    assert 33 * SECOND < result.duration < 45 * SECOND
    assert result.records == len(sink.records)


def test_time_begins_with_the_first_object() -> None:
    _, sink = play(pod())
    first = sink.records[0]
    assert (first.seq, first.t, first.KIND) == (1, 0, "api.write")


def test_everything_has_a_cause_that_leads_back_to_the_user() -> None:
    _, sink = play(pod("[sleep, '100']"))
    started = next(r for r in sink.records if isinstance(r, EventRecorded) and r.reason == "Started")
    kinds = []
    record: Any = started
    while record.cause is not None:
        record = sink.records[record.cause - 1]
        kinds.append(record.KIND)
    assert kinds == ["sync.begin", "worker.update", "handler", "loop.select", "config.update", "source.snapshot",
                     "api.write"]  # fmt: skip


def test_a_program_that_ignores_term_is_killed_after_its_grace_period() -> None:
    _, sink = play(pod("[sleep, '100000']"))
    stop = next(r for r in sink.records if isinstance(r, CriCall) and r.call == "StopContainer")
    assert stop.args["timeout"] == 4
    assert "terminated/137/Error" in str(last_status(sink))


def test_what_is_not_known_is_a_server_and_the_trace_says_so() -> None:
    _, sink = play(pod(image="example.com/shop/frontend:3"))
    notes = [record.text for record in sink.records if isinstance(record, Note) and "server" in record.text]
    assert notes == ["frontend is not simulated: it runs as a server until it is stopped"]


def test_a_pod_that_ends_by_itself_ends_in_the_same_phase_for_every_seed() -> None:
    for seed in range(5):
        assert play(pod("[sh, -c, 'exit 3']", restart="Never"), seed=seed)[0].phases == {"default/web": "Failed"}


def test_until_ends_the_run_early() -> None:
    result, _ = play(pod(), until=5 * SECOND)
    assert result.duration == 5 * SECOND
    assert result.phases == {"default/web": "Running"}


def test_a_failed_expectation_is_in_the_result() -> None:
    result, _ = play(SCENARIO % "{duration: 5s, expect: [{pod: web, phase: Failed, by: 3s}]}" + pod("[sleep, '9']"))
    assert not result.ok
    assert result.expectations_failed == ("pod web must have phase Failed by 3s, but the phase is Running at 3s",)


def test_pods_go_to_the_first_node_unless_they_name_another() -> None:
    nodes = SCENARIO % "{duration: 5s, nodes: [{name: a}, {name: b}]}"
    other = pod().replace("{name: web}", "{name: other}").replace("spec:", "spec:\n  nodeName: b")
    _, sink = play(nodes + pod() + "---" + other)
    placed = {record.pod: record.node for record in sink.records if isinstance(record, EventRecorded)}
    assert placed == {"default/web": "a", "default/other": "b"}


def test_a_node_takes_no_more_pods_than_it_may() -> None:
    text = SCENARIO % "{duration: 5s, kubeletConfiguration: {maxPods: 1}}" + pod()
    result, sink = play(text + "---" + pod().replace("{name: web}", "{name: extra}"))
    assert result.phases == {"default/web": "Running", "default/extra": "Failed"}
    assert "OutOfpods" in [record.reason for record in sink.records if isinstance(record, EventRecorded)]


def test_a_run_without_sinks_is_the_same_run() -> None:
    scenario = parse_scenario(pod(), "tale.yaml")
    silent, received = run_scenario(scenario), run_scenario(scenario, sinks=(HashSink(),))
    assert (silent.duration, silent.phases, silent.events) == (received.duration, received.phases, received.events)
    assert (silent.records, silent.trace_hash) == (0, None)
    assert received.trace_hash


def test_an_error_in_a_callback_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """asyncio would only log what a timer's callback raises, and the run would continue as if nothing had happened."""

    def broken(self: SimulatedRuntime, container: object, exit: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(SimulatedRuntime, "_exited", broken)
    with pytest.raises(ValueError, match="a bug"):
        play(pod("[sh, -c, 'sleep 1; exit 1']"))


def test_speed_paces_the_run_against_the_wall() -> None:
    watch = Stopwatch()
    result, _ = play(pod(), until=SECOND, speed=10.0)
    assert result.duration == SECOND
    assert watch.seconds() > 0.09
