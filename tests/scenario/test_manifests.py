"""Test manifests with one feature each: every file loads and runs without an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.app import run_scenario
from kubesim.scenario.ending.result import RunResult
from kubesim.scenario.load.loader import load_scenario
from kubesim.scenario.load.objects import apply_order, shown, without_effect
from kubesim.trace import MemorySink
from kubesim.trace.records import Note

FILES = sorted((Path(__file__).parent / "manifests").iterdir())

ONLY_STORED = {
    "autoscaler": ["HorizontalPodAutoscaler/web"],
    "cluster-custom": ["CustomResourceDefinition/zones.example.com", "Zone/north"],
    "custom-resource": ["Backup/hourly", "CustomResourceDefinition/backups.example.com"],
    "custom-service": ["Service/web"],
    "endpoints-by-hand": ["Endpoints/outside"],
    "ingress": ["Ingress/web"],
    "network-policy": ["NetworkPolicy/deny-all"],
    "pod-template": ["PodTemplate/shape"],
    "rbac": ["ClusterRole/example:reader", "RoleBinding/reader"],
    "webhook": ["ValidatingWebhookConfiguration/guard.example.com"],
}


def play(name: str) -> tuple[RunResult, MemorySink]:
    sink = MemorySink()
    [path] = [path for path in FILES if path.name == name]
    return run_scenario(load_scenario(str(path)), until=20 * SECOND, sinks=(sink,)), sink


def test_there_are_enough_manifests() -> None:
    assert len(FILES) >= 30


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_manifest_runs(path: Path) -> None:
    scenario, sink = load_scenario(str(path)), MemorySink()
    result = run_scenario(scenario, until=20 * SECOND, sinks=(sink,))
    assert result.expectations_failed == ()
    stored = ONLY_STORED.get(path.stem, []) if path.suffix == ".yaml" else []
    assert without_effect(scenario.spec.objects) == stored
    notes = [record.text for record in sink.records if isinstance(record, Note) and record.text.startswith("stored")]
    assert notes == ([f"stored, no effect here: {', '.join(stored)}"] if stored else [])


def test_nested_lists_are_expanded() -> None:
    names = [shown(item) for item in apply_order(load_scenario(str(FILES[0].parent / "list.yaml")).spec.objects)]
    assert names == ["ConfigMap/first", "ConfigMap/second"]


def test_items_of_a_typed_list_get_its_kind() -> None:
    result, _ = play("pod-list.yaml")
    assert result.outcomes == {"default/one": "Running", "default/two": "Running"}


def test_a_gated_pod_waits() -> None:
    result, _ = play("gated-pod.yaml")
    assert result.outcomes == {"default/gated": "Pending: Scheduling is blocked due to non-empty scheduling gates"}


def test_references_of_a_pod_may_follow_later_in_the_file() -> None:
    assert play("priority-class-last.yaml")[0].outcomes == {"default/urgent": "Running"}
    assert play("namespaces.yaml")[0].outcomes == {"team/app": "Running"}
