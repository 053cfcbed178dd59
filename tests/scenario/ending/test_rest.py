"""When a workload is idle, and the final states of pods and workloads in words."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import Pod, PodCondition, PodSpec, PodStatus
from kubesim.api.schema.types import model_of
from kubesim.scenario.ending.outcome import pod_outcome, workload_counts
from kubesim.scenario.ending.rest import is_idle

COMPLETE = [{"type": "Complete", "status": "True"}]


def made(kind: str, spec: dict[str, Any], status: dict[str, Any]) -> Any:
    model = model_of(kind)
    assert model is not None
    metadata = {"name": "web", "namespace": "default", "generation": 2}
    return model.from_json({"kind": kind, "metadata": metadata, "spec": spec, "status": status})


def counts(number: int, **more: Any) -> dict[str, Any]:
    return {"observedGeneration": 2, "replicas": number, "readyReplicas": number, "updatedReplicas": number, **more}


@pytest.mark.parametrize(
    ("kind", "spec", "status", "idle"),
    [
        ("Deployment", {"replicas": 2}, counts(2), True),
        ("Deployment", {"replicas": 2}, counts(2, observedGeneration=1), False),
        ("Deployment", {"replicas": 2}, counts(2, readyReplicas=1), False),
        ("Deployment", {"replicas": 2}, counts(2, updatedReplicas=1), False),
        ("Deployment", {"replicas": 2, "paused": True}, counts(2, updatedReplicas=1), True),
        ("ReplicaSet", {"replicas": 0}, {"observedGeneration": 2}, True),
        ("StatefulSet", {"replicas": 3}, counts(2), False),
        ("DaemonSet", {}, {"observedGeneration": 2, "desiredNumberScheduled": 1, "numberReady": 1,
                           "updatedNumberScheduled": 1}, True),
        ("DaemonSet", {}, {"observedGeneration": 2, "desiredNumberScheduled": 1}, False),
        ("Job", {}, {"active": 1}, False),
        ("Job", {}, {"active": 1, "ready": 1}, True),
        ("Job", {}, {"succeeded": 1, "conditions": COMPLETE}, True),
        ("Job", {"suspend": True}, {}, True),
        ("CronJob", {"schedule": "* * * * *"}, {}, False),
    ],
)  # fmt: skip
def test_idle_workloads(kind: str, spec: dict[str, Any], status: dict[str, Any], idle: bool) -> None:
    assert is_idle(made(kind, spec, status)) == idle


@pytest.mark.parametrize(
    ("kind", "spec", "status", "expected"),
    [
        ("Deployment", {"replicas": 3}, counts(2, availableReplicas=1), "2/3 ready, 2 up-to-date, 1 available"),
        ("StatefulSet", {"replicas": 3}, counts(1), "1/3 ready"),
        ("Job", {"completions": 2}, {"succeeded": 1, "failed": 1}, "Running, 1/2 completions, 1 failed"),
        ("Job", {"completions": 1}, {"succeeded": 1, "conditions": COMPLETE}, "Complete, 1/1 completions"),
        ("CronJob", {}, {}, "0 active, not scheduled yet"),
    ],
)
def test_counts(kind: str, spec: dict[str, Any], status: dict[str, Any], expected: str) -> None:
    assert workload_counts(made(kind, spec, status)) == expected


def pod(phase: str, node: str = "node-1", **status: Any) -> Pod:
    return Pod(
        kind="Pod",
        metadata=ObjectMeta(name="web"),
        spec=PodSpec(node_name=node),
        status=PodStatus(phase=phase, **status),
    )


def test_final_states_of_a_pod() -> None:
    nodes = ("node-1",)
    unscheduled = PodCondition(type="PodScheduled", status="False", message="0/1 nodes are available")
    assert pod_outcome(pod("Running"), None, nodes) == "Running"
    assert pod_outcome(pod("Running"), 42_060_000, nodes) == "deleted at 42.1 s, last phase Running"
    assert (
        pod_outcome(pod("Failed", reason="OutOfcpu", message="too much"), None, nodes) == "Failed: OutOfcpu: too much"
    )
    assert pod_outcome(pod("Pending", "node-9"), None, nodes) == "Pending: there is no node node-9"
    assert pod_outcome(pod("Pending", "", conditions=(unscheduled,)), None, nodes) == "Pending: 0/1 nodes are available"
