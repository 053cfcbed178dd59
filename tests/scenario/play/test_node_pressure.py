"""Resource pressure in a scenario, and the reactions: conditions, taints, image garbage collection."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubesim.api.node import Node, NodeCondition, Taint
from kubesim.app import Simulation, run_scenario
from kubesim.clock import run_virtual
from kubesim.cluster.controllers.nodes.node_taints import with_taints
from kubesim.cluster.store.watches import WatchEvent
from kubesim.concurrency import TaskSet
from kubesim.errors import InputError
from kubesim.scenario.ending.result import RunResult
from kubesim.scenario.load.loader import parse_scenario
from kubesim.trace import MemorySink

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one"},
    "spec": {"containers": [{"name": "main", "image": "used:1", "resources": {"requests": {"memory": "1Gi"}}}]},
}


def scenario(**spec: Any) -> Any:
    images = [{"name": "used:1", "present": True}, {"name": "unused:1", "present": True, "size": 30 << 30}]
    document = {
        "apiVersion": "kubesim.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "test"},
        "spec": {"images": images, "objects": [POD], **spec},
    }
    return parse_scenario(json.dumps(document), "test")


def play(**spec: Any) -> tuple[RunResult, list[dict[str, Any]]]:
    sink = MemorySink()
    result = run_scenario(scenario(**spec), sinks=(sink,))
    return result, [record.to_json() for record in sink.records]


def node_life(**spec: Any) -> list[tuple[float, dict[str, str], list[str]]]:
    """The node's abnormal conditions and its taints, whenever they change."""
    seen: list[tuple[float, dict[str, str], list[str]]] = []

    async def main() -> None:
        async with TaskSet() as tasks:
            simulation = Simulation(scenario(**spec), 0, tasks)

            def changed(change: WatchEvent) -> None:
                node = change.object
                assert isinstance(node, Node)
                wrong = {
                    c.type: c.status for c in node.status.conditions if (c.status == "True") != (c.type == "Ready")
                }
                seen.append((simulation.clock.elapsed() / 1e6, wrong, [taint.key for taint in node.spec.taints]))

            simulation.store.watch("Node", changed)
            await tasks.run_until(simulation.run())

    run_virtual(main)
    return seen


def test_conditions_and_taints_are_set_and_removed() -> None:
    steps = [
        {"at": "60s", "pressure": {"memory.available": "50Mi"}},
        {"at": "80s", "pressure": {"memory.available": "5Gi"}},
    ]
    configuration = {"evictionPressureTransitionPeriod": "1m"}
    life = node_life(steps=steps, duration="5m", kubeletConfiguration=configuration)
    states = [(wrong, taints) for _, wrong, taints in life]
    assert states == [
        ({"MemoryPressure": "True"}, []),
        ({"MemoryPressure": "True"}, ["node.kubernetes.io/memory-pressure"]),
        ({}, ["node.kubernetes.io/memory-pressure"]),
        ({}, []),
    ]
    assert 60 < life[0][0] < 85  # ten seconds to detect, ten to report
    assert life[2][0] > 120


def test_a_machine_that_shuts_down_is_not_ready() -> None:
    steps = [{"at": "30s", "shutdown": "node"}]
    configuration = {"shutdownGracePeriod": "10s"}
    (not_ready, tainted) = node_life(steps=steps, duration="1m", kubeletConfiguration=configuration)
    assert not_ready == (30.0, {"Ready": "False"}, [])
    assert tainted[2] == ["node.kubernetes.io/not-ready"]


def test_without_a_grace_period_the_kubelet_ignores_the_shutdown() -> None:
    result, _ = play(steps=[{"at": "30s", "shutdown": "node"}], duration="1m")
    (failed,) = result.expectations_failed
    assert "has no shutdownGracePeriod" in failed


def test_unused_images_are_removed_before_a_pod_is_evicted() -> None:
    result, records = play(steps=[{"at": "3m", "pressure": {"nodefs.available": "5%"}}], duration="5m")
    assert result.phases == {"default/one": "Running"}
    assert [record for record in records if record.get("call") == "RemoveImage"]
    reported = [record["reason"] for record in records if record["kind"] == "event"]
    assert "EvictionThresholdMet" in reported
    assert "NodeHasDiskPressure" in reported
    assert "Evicted" not in reported


def test_usage_of_a_behaviour_is_measured_without_a_step() -> None:
    nodes = [{"name": "node-1", "capacity": {"memory": "4Gi"}}]
    behaviours = [{"pod": "one", "memory": "4050Mi", "onTerm": {"exitCode": 1}}]
    result, records = play(nodes=nodes, behaviours=behaviours, duration="1m")
    assert result.phases == {"default/one": "Failed"}
    (message,) = [record["message"] for record in records if record.get("reason") == "Evicted"]
    assert "available: 46Mi. Container main was using 4050Mi, request is 1Gi" in message


def test_a_separate_disk_for_images() -> None:
    nodes = [{"name": "node-1", "imageFs": "40Gi"}]
    _, records = play(nodes=nodes, steps=[{"at": "3m", "pressure": {"imagefs.available": "1Gi"}}], duration="5m")
    assert [record for record in records if record.get("call") == "RemoveImage"]
    _, records = play(nodes=nodes, steps=[{"at": "3m", "pressure": {"nodefs.available": "1Gi"}}], duration="4m")
    reported = [record["reason"] for record in records if record["kind"] == "event"]
    assert "Evicted" in reported  # the node's own disk has nothing to remove


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"steps": [{"at": "1s", "pressure": {}}]}, "give at least one signal"),
        ({"steps": [{"at": "1s", "pressure": {"memory.available": "much"}}]}, "quantities must match"),
        (
            {"steps": [{"at": "1s", "pressure": {"nodefs.available": "200%"}}]},
            "must be a percentage between 0% and 100%",
        ),
        ({"steps": [{"at": "1s", "pressure": {"memory": "1Gi"}}]}, "did you mean memory.available?"),
        ({"steps": [{"at": "1s", "pressure": {"node": "n", "memory.available": 1}}]}, "there is no node n"),
        ({"kubeletConfiguration": {"evictionHard": {"ram": "1Gi"}}}, "unsupported eviction signal ram"),
        ({"kubeletConfiguration": {"evictionSoft": {"memory.available": "1Gi"}}}, "grace period must be specified"),
        ({"kubeletConfiguration": {"imageGCLowThresholdPercent": 90}}, "must be less than"),
        ({"kubeletConfiguration": {"shutdownGracePeriodCriticalPods": "1s"}}, "must not be greater"),
        ({"kubeletConfiguration": {"containerLogMaxFiles": 1}}, "greater than 1"),
        ({"behaviours": [{"memory": "lots"}]}, "quantities must match"),
    ],
)
def test_errors(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem.replace("?", r"\?")):
        scenario(**spec)


def test_taints_of_other_clients_stay() -> None:
    own = Taint(key="dedicated", effect="NoSchedule")
    stale = Taint(key="node.kubernetes.io/disk-pressure", effect="NoSchedule")
    node = Node.from_json({"kind": "Node", "metadata": {"name": "n"}, "spec": {"unschedulable": True}})
    node = node.changed(spec=node.spec.changed(taints=(own, stale)))
    condition = NodeCondition(type="PIDPressure", status="True")
    node = node.changed(status=node.status.changed(conditions=(condition,)))
    tainted = with_taints(node, 0)
    keys = [taint.key for taint in tainted.spec.taints]
    assert keys == ["dedicated", "node.kubernetes.io/pid-pressure", "node.kubernetes.io/unschedulable"]
    assert with_taints(tainted, 1) is tainted
