"""The step `upgrade`: a kubelet of another version takes over a node with its pods."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubesim.api.node import Node
from kubesim.app import Simulation
from kubesim.clock import run_virtual
from kubesim.concurrency import TaskSet
from kubesim.errors import InputError
from kubesim.features.releases import RELEASES
from kubesim.features.table import PROFILES
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.load.loader import parse_scenario
from kubesim.trace.records import Actions, ApiWrite, RuntimeStep
from tests.support.played import Played, pod

TWO_NODES = [{"name": "node-1"}, {"name": "node-2"}]


def scenario(**spec: Any) -> Scenario:
    document = {"apiVersion": "kubesim.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "up"}, "spec": spec}
    return parse_scenario(json.dumps(document, indent=1), "up.yaml")


def versions(**spec: Any) -> list[tuple[float, str, str]]:
    """The versions that each node reports, with times."""
    seen: list[tuple[float, str, str]] = []
    known: dict[str, str] = {}

    async def main() -> None:
        async with TaskSet() as tasks:
            simulation = Simulation(scenario(**spec), 0, tasks)

            def look(node: object) -> None:
                assert isinstance(node, Node)
                name, version = node.metadata.name, node.status.node_info["kubeletVersion"]
                if known.get(name) != version:
                    known[name] = version
                    seen.append((round(simulation.clock.elapsed() / 1e6, 1), name, version))

            for node in simulation.store.list("Node"):
                look(node)
            simulation.store.watch("Node", lambda change: look(change.object))
            await tasks.run_until(simulation.run())

    run_virtual(main)
    return seen


def reported_conditions(story: Played) -> list[dict[str, str]]:
    writes = [record for record in story.records if isinstance(record, ApiWrite) and record.is_pod_status]
    return [write.summary["conditions"] for write in writes]


def test_every_profile_has_a_release() -> None:
    assert set(PROFILES) <= set(RELEASES)
    assert all(RELEASES[profile].startswith(f"{profile}.") for profile in PROFILES)


def test_a_node_reports_the_versions_of_its_old_and_new_kubelet() -> None:
    seen = versions(profile="v1.30", duration="30s", steps=[{"at": "10s", "upgrade": {"kubelet": "v1.36"}}])
    assert [each[1:] for each in seen] == [("node-1", "v1.30.0"), ("node-1", "v1.36.4")]
    assert 12 < seen[1][0] < 13  # it is down for two seconds


def test_a_single_node_can_be_upgraded() -> None:
    step = {"at": "10s", "upgrade": {"kubelet": "v1.36", "node": "node-2", "downFor": "5s"}}
    seen = versions(profile="v1.30", duration="30s", nodes=TWO_NODES, steps=[step])
    assert [each[1:] for each in seen[2:]] == [("node-2", "v1.36.4")]
    assert 15 < seen[2][0] < 16


def test_a_plain_version_applies_to_all_nodes_and_may_be_older() -> None:
    seen = versions(duration="30s", nodes=TWO_NODES, steps=[{"at": "10s", "upgrade": "v1.30"}])
    assert sorted(each[1:] for each in seen[2:]) == [("node-1", "v1.30.0"), ("node-2", "v1.30.0")]


def test_containers_keep_running_during_the_upgrade() -> None:
    story = Played({"at": "10s", "upgrade": "v1.36"}, objects=[pod("web")], profile="v1.36")
    assert story.calls("web", after=9) == []
    assert story.result.outcomes["default/web"] == "Running"


def test_the_new_kubelet_uses_the_gates_of_its_version() -> None:
    """Before v1.30 pods have no condition PodReadyToStartContainers."""
    story = Played({"at": "10s", "upgrade": "v1.36"}, objects=[pod("web")], profile="v1.12")
    conditions = reported_conditions(story)
    reported = ["PodReadyToStartContainers" in each for each in conditions]
    assert reported == sorted(reported), "once reported, it stays"
    assert (reported[0], reported[-1]) == (False, True)


def test_configured_gates_are_kept() -> None:
    gates = {"PodReadyToStartContainersCondition": False}
    story = Played({"at": "10s", "upgrade": "v1.36"}, objects=[pod("web")], profile="v1.30", featureGates=gates)
    conditions = reported_conditions(story)
    assert not any("PodReadyToStartContainers" in each for each in conditions)


def test_a_kubelet_without_checkpoints_restores_no_pods() -> None:
    kept = pod("kept", automountServiceAccountToken=False)
    kept["metadata"]["annotations"] = {"node.kubernetes.io/bootstrap-checkpoint": "true"}
    story = Played(
        {"at": "10s", "upgrade": "v1.36"}, objects=[kept], profile="v1.12", sources={"bootstrapCheckpoint": {}}
    )
    assert "RESTORE" not in [getattr(record, "op", "") for record in story.records]


def test_a_kubelet_that_is_down_cannot_be_upgraded() -> None:
    story = Played({"at": "5s", "stop": "kubelet"}, {"at": "10s", "upgrade": "v1.36"})
    assert story.result.expectations_failed == ("step at 10s: upgrade: the kubelet of node node-1 is not running",)


def test_a_gate_missing_in_the_new_version_is_an_error_of_the_file() -> None:
    step = {"at": "10s", "upgrade": {"kubelet": "v1.12"}}
    with pytest.raises(InputError) as error:
        scenario(featureGates={"PodLevelResources": True}, steps=[step])
    text = str(error.value)
    assert text.startswith("up.yaml:")
    assert "spec.steps[0].upgrade: the kubelet v1.12 would not start: unknown feature gate 'PodLevelResources'" in text


def test_an_unknown_version_is_an_error_of_the_file() -> None:
    with pytest.raises(InputError, match=r"spec\.steps\[0\]\.upgrade.*must be 'v1\.6'"):
        scenario(steps=[{"at": "10s", "upgrade": {"kubelet": "v0.9"}}])


def test_docker_stays_and_each_change_of_the_hash_restarts_the_containers() -> None:
    """v1.12 hashes a dump of the struct, v1.30 JSON, v1.36 name and image."""
    steps = ({"at": "20s", "upgrade": "v1.30"}, {"at": "70s", "upgrade": "v1.36"}, {"at": "120s", "upgrade": "v1.37"})
    story = Played(*steps, objects=[pod("web")], profile="v1.12", duration="150s")
    decided = [record.why for record in story.records if isinstance(record, Actions) and "hash of" in record.why]
    assert len(decided) == 2
    assert all("that of another version of the kubelet" in why for why in decided)
    started = [record.t for record in story.records if isinstance(record, RuntimeStep) and "NewDocker" in record.during]
    assert set(started) == {0}, "the shim that later kubelets use continues"
    assert len(story.starts("web")) == 3


def test_docker_names_containers_after_an_upgrade() -> None:
    found = {"pod": "web", "field": "status.containerStatuses[0].containerID", "matches": "^docker://", "always": True}
    expect = [{**found, "between": ["5s", "40s"]}]
    story = Played(
        {"at": "20s", "upgrade": "v1.36"}, objects=[pod("web")], profile="v1.12", duration="60s", expect=expect
    )
    assert story.result.ok


@pytest.mark.parametrize(("old", "new"), [("v1.6", "v1.12"), ("v1.12", "v1.6"), ("v1.36", "v1.6")])
def test_a_kubelet_that_cannot_find_the_containers_is_an_error_of_the_file(old: str, new: str) -> None:
    with pytest.raises(InputError, match="do not find each other's containers"):
        scenario(profile=old, duration="1m", steps=[{"at": "10s", "upgrade": new}])
