"""Steps on the API server: patch, scale and delete any object, and drain nodes like kubectl."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.errors import InputError
from kubesim.scenario.client.placement import is_placed_at_once
from kubesim.scenario.load.loader import parse_scenario
from kubesim.trace.records import ConfigUpdate
from tests.support.played import Played, pod

MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}
CLAIM = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
TWO = [{"name": "node-1"}, {"name": "node-2"}]


@pytest.mark.parametrize(
    ("spec", "nodes", "scheduler", "at_once"),
    [
        ({}, 1, None, True),
        ({}, 2, None, False),
        ({}, 1, "on", False),
        ({}, 2, "off", True),
        (CLAIM, 1, None, False),
        (CLAIM, 1, "off", True),
        ({"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]}, 1, None, False),
        ({"schedulingGates": [{"name": "g"}]}, 1, "off", False),
        ({"nodeName": "node-9"}, 1, None, False),
    ],
)
def test_a_pod_that_needs_no_scheduler(spec: dict[str, Any], nodes: int, scheduler: Any, at_once: bool) -> None:
    assert is_placed_at_once(spec, nodes, scheduler) == at_once


def test_several_nodes_need_the_scheduler() -> None:
    played = Played(nodes=TWO, objects=[pod("web")], duration="5s")
    assert played.result.phases == {"default/web": "Running"}
    [added] = [record.t for record in played.records if isinstance(record, ConfigUpdate) and record.op == "ADD"]
    assert added > 5_000  # the latency of the watch and of the scheduler


def test_without_a_scheduler_all_pods_go_to_the_first_node() -> None:
    played = Played(nodes=TWO, scheduler="off", objects=[pod("a"), pod("b")], duration="5s")
    assert {record.node for record in played.records if record.pod and record.node} == {"node-1"}


def test_a_pod_on_a_node_that_does_not_exist_stays_pending() -> None:
    objects = [pod("web", nodeName="node-9")]
    played = Played({"at": "2s", "exec": {"pod": "web", "command": ["true"]}}, objects=objects, duration="30s")
    assert played.result.outcomes == {"default/web": "Pending: there is no node node-9"}
    [failed] = played.result.expectations_failed
    assert "pod default/web is not running: there is no node node-9" in failed


def test_after_a_minute_a_pod_on_a_node_that_does_not_exist_is_collected() -> None:
    """The pod garbage collector deletes it."""
    played = Played(objects=[pod("web", nodeName="node-9")], duration="70s")
    [outcome] = played.result.outcomes.values()
    assert outcome.startswith("deleted at ")
    assert outcome.endswith("last phase Failed: there is no node node-9")


def test_any_object_is_patched_and_deleted() -> None:
    played = Played(
        {"at": "1s", "patch": {"object": "ConfigMap/c", "patch": {"data": {"a": "2"}}}},
        {"at": "2s", "delete": {"object": "ConfigMap/default/c"}},
        objects=[MAP],
        duration="5s",
        expect=[
            {"object": "ConfigMap/c", "field": "data.a", "equals": "2", "by": "1s"},
            {"object": "ConfigMap/c", "gone": True, "by": "2s"},
        ],
    )
    assert played.result.ok


def test_a_custom_object_is_patched_by_its_kind_and_group() -> None:
    backup = {"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": "b"}, "spec": {"every": 1}}
    name = "Backup.example.com/b"
    played = Played(
        {"at": "1s", "patch": {"object": name, "patch": {"spec": {"every": 5}}}},
        objects=[backup],
        duration="5s",
        expect=[{"object": name, "field": "spec.every", "atLeast": 5}],
    )
    assert played.result.ok


def test_scale_sets_the_replicas() -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    played = Played(
        {"at": "1s", "scale": {"object": "Deployment/web", "replicas": 3}},
        objects=[deployment],
        duration="5s",
        expect=[{"object": "Deployment/web", "field": "spec.replicas", "equals": 3, "by": "1s"}],
    )
    assert played.result.ok


def test_an_eviction_deletes_the_pod() -> None:
    played = Played(
        {"at": "5s", "evict": "web"}, objects=[pod("web")], duration="20s", expect=[{"pod": "web", "gone": True}]
    )
    assert played.result.ok


def test_an_eviction_that_should_be_rejected_fails_if_it_is_not() -> None:
    played = Played({"at": "5s", "evict": {"pod": "web", "refused": True}}, objects=[pod("web")], duration="20s")
    assert played.result.expectations_failed == ("step at 5s: evict: the eviction of pod default/web was not refused",)


def test_a_drain_cordons_and_evicts() -> None:
    played = Played(
        {"at": "5s", "drain": "node-1"},
        {"at": "30s", "apply": pod("late")},
        nodes=TWO,
        objects=[pod("web", nodeName="node-1"), pod("other", nodeName="node-2")],
        duration="40s",
        expect=[
            {"object": "Node/node-1", "field": "spec.unschedulable", "equals": True, "by": "5s"},
            {"pod": "web", "gone": True, "by": "20s"},
            {"pod": "other", "gone": True, "never": True},
            {"pod": "late", "phase": "Running"},
        ],
    )
    assert played.result.ok, played.result.expectations_failed
    assert {record.node for record in played.records if record.pod == "default/late" and record.node} == {"node-2"}


def test_taints_and_uncordon_change_the_node() -> None:
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    played = Played(
        {"at": "1s", "cordon": "node-1"},
        {"at": "2s", "uncordon": "node-1"},
        {"at": "3s", "taint": {"node": "node-1", "taints": [taint]}},
        objects=[MAP],
        duration="5s",
        expect=[
            {"object": "Node/node-1", "field": "spec.unschedulable", "equals": True, "by": "1s"},
            {"object": "Node/node-1", "field": "spec.taints[0].key", "equals": "k", "by": "4s"},
        ],
    )
    assert played.result.ok, played.result.expectations_failed


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("delete: {object: Deployment}", "7: spec.steps[0].delete.object: must be Kind/name or Kind/namespace/name"),
        ("delete: {object: Deploymnt/x}", "7: spec.steps[0].delete.object: unknown kind Deploymnt; did you mean Deplo"),
        ("scale: {object: Deployment/x}", "7: spec.steps[0].scale.replicas: is needed"),
        ("drain: {node: node-9}", "7: spec.steps[0].drain: there is no node node-9"),
        ("evict: {}", "7: spec.steps[0].evict.pod: is needed"),
    ],
)
def test_errors_name_the_field(step: str, expected: str) -> None:
    head = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: tale}\nspec:\n"
    text = head + f"  steps:\n  - at: 1s\n    {step}\n"
    with pytest.raises(InputError) as caught:
        parse_scenario(text, "f.yaml")
    assert str(caught.value).startswith(f"f.yaml:{expected}")
