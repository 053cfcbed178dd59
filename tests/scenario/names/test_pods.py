"""Object names that a scenario can create: pods of workloads, static pods, objects of controllers."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.scenario.language.document import Spec
from kubesim.scenario.names.check import expectation_problems


def workload(kind: str, name: str, **more: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "main"}], "initContainers": [{"name": "first"}]}}
    spec = {"jobTemplate": {"spec": {"template": template}}} if kind == "CronJob" else {"template": template}
    version = "batch/v1" if kind in ("Job", "CronJob") else "apps/v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **more}, "spec": spec}


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [{"name": "main"}]}}
RUNTIME_CLASS = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "kata"},
    "handler": "kata",
}
OBJECTS = [
    workload("Deployment", "shop"), workload("StatefulSet", "db"), workload("DaemonSet", "agent"),
    workload("Job", "once"), workload("CronJob", "nightly"), workload("ReplicaSet", "old", namespace="shop"), POD,
    {"apiVersion": "v1", "kind": "List", "items": [{**POD, "metadata": {"generateName": "copy-"}}, RUNTIME_CLASS]},
]  # fmt: skip
NODES = [{"name": "a"}, {"name": "b"}]


def problems(expect: dict[str, Any], **more: Any) -> list[str]:
    spec = Spec.model_validate({"nodes": NODES, "objects": OBJECTS, "expect": [expect], **more})
    return [problem.text for problem in expectation_problems(spec)]


@pytest.mark.parametrize(
    "name",
    [
        "web", "shop-5d4f-x2v", "shop-*", "sh*", "*", "db-0", "db-12", "agent-abcde", "once-x2v", "once-0-x2v",
        "nightly-29-abcde", "shop/old-abcde", "copy-x2v", "static-a", "static-b",
    ],
)  # fmt: skip
def test_possible_pods(name: str) -> None:
    static = {"file": {"manifests": {"s.yaml": {**POD, "metadata": {"name": "static"}}}}}
    assert problems({"pod": name, "phase": "Running"}, sources=static) == []


@pytest.mark.parametrize(
    "name", ["wbe", "shop", "shop-x", "shop-X-y", "db-a", "db", "old-abcde", "shop/web", "webs-*", "static", "static-c"]
)
def test_impossible_pods(name: str) -> None:
    static = {"file": {"manifests": {"s.yaml": {**POD, "metadata": {"name": "static"}}}}}
    (problem,) = problems({"pod": name, "phase": "Running"}, sources=static)
    assert problem.startswith(f"nothing in this scenario creates pod {name}")


def test_objects_created_by_steps() -> None:
    steps = [
        {"at": "1s", "apply": {**POD, "metadata": {"name": "later"}}},
        {"at": "2s", "writeStaticPod": {"file": "x", "node": "b", "manifest": POD}},
        {"at": "3s", "patch": {"pod": "web", "patch": {"spec": {"ephemeralContainers": [{"name": "debugger"}]}}}},
    ]
    assert problems({"pod": "later", "phase": "Running"}, steps=steps) == []
    assert problems({"pod": "web-b", "phase": "Running"}, steps=steps) == []
    assert problems({"pod": "web-a", "phase": "Running"}, steps=steps) != []
    assert problems({"pod": "web", "container": "debugger", "state": "running"}, steps=steps) == []
    assert problems({"pod": "web", "container": "debuger", "state": "running"}, steps=steps) != []


@pytest.mark.parametrize("name", ["shop-*", "shop-a-b", "db-0", "nightly-1-abc"])
def test_containers_of_workloads(name: str) -> None:
    assert problems({"pod": name, "container": "first", "exitCode": 0}) == []
    (problem,) = problems({"pod": name, "container": "frist", "exitCode": 0})
    assert problem == f"pod {name} has no container frist; did you mean first?"


def test_names_known_only_at_run_time_are_not_checked() -> None:
    text = {"file": {"manifests": {"s.yaml": "kind: Pod"}}}
    assert problems({"pod": "any", "container": "thing", "exitCode": 0}, sources=text) == []


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("ReplicaSet/shop-5d4f", True), ("ReplicaSet/shops-5d4f", False), ("Job/nightly-29", True), ("Job/once", True),
        ("Job/twice", False), ("Node/a", True), ("Node/c", False), ("Service/kubernetes", True),
        ("Service/kubernete", False), ("RuntimeClass/kata", True), ("RuntimeClass/katta", False),
        ("ConfigMap/anything", False), ("ConfigMap/kube-root-ca.crt", True), ("ConfigMap/shop/kube-root-ca.crt", True),
        ("Namespace/shop", True), ("Namespace/shops", False), ("PriorityClass/system-node-critical", True),
        ("Lease/anything", True), ("Widget.example.com/blue", False), ("ServiceAccount/default", True),
        ("ServiceAccount/robot", False), ("PersistentVolumeClaim/data-db-0", True),
    ],
)  # fmt: skip
def test_other_objects(name: str, known: bool) -> None:
    assert (problems({"object": name, "exists": True}) == []) is known
