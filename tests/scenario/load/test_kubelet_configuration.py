"""The kubelet's configuration in a run: effects of its fields, and precedence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from kubesim.api.node import Node
from kubesim.api.timestamps import SECOND
from kubesim.app import Simulation
from kubesim.clock import run_virtual
from kubesim.concurrency import TaskSet
from kubesim.errors import UsageError
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.load.kubelet_configuration import KubeletConfiguration, merged
from kubesim.scenario.load.loader import parse_scenario
from kubesim.scenario.load.overlay import make_overlay
from tests.support.played import Played, pod

MI = 1 << 20
FILE = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
"""
SCENARIO = """\
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  kubeletConfiguration:
"""


def node_of(configuration: dict[str, Any], **item: Any) -> Node:
    """The node that its kubelet registers."""
    spec = {"kubeletConfiguration": configuration, "nodes": [{"name": "n", **item}]}
    scenario = Scenario.model_validate({"metadata": {"name": "s"}, "spec": spec})

    async def main() -> Node:
        async with TaskSet() as tasks:
            found = Simulation(scenario, 0, tasks).store.find("Node", "", "n")
            assert isinstance(found, Node)
            return found

    return run_virtual(main)


# -- what is played -----------------------------------------------------------------------------------------------


def test_the_number_of_pods_on_a_node() -> None:
    assert node_of({}).status.capacity["pods"] == "110"
    assert node_of({"maxPods": 0}).status.capacity["pods"] == "110"
    assert node_of({"maxPods": 20, "podsPerCore": 4}, capacity={"cpu": "2"}).status.capacity["pods"] == "8"
    assert node_of({"maxPods": 20, "podsPerCore": 4}, capacity={"cpu": "8"}).status.capacity["pods"] == "20"


def test_reserved_resources_are_not_allocatable() -> None:
    configuration = {"kubeReserved": {"cpu": "500m", "memory": "1Gi"}, "systemReserved": {"cpu": "500m"}}
    node = node_of(configuration, capacity={"cpu": "4", "memory": "4Gi"})
    assert (node.status.capacity["cpu"], node.status.allocatable["cpu"]) == ("4", "3")
    assert node.status.allocatable["memory"] == "2972Mi"  # 100Mi: the hard eviction threshold
    assert node_of({"kubeReserved": {"memory": "16Gi"}, "evictionHard": {}}).status.allocatable["memory"] == "0"
    named = {"reservedSystemCPUs": "0-1,5", "kubeReserved": {"cpu": "7"}}
    assert node_of(named, capacity={"cpu": "8"}).status.allocatable["cpu"] == "5"


def test_a_pod_that_needs_reserved_resources_is_rejected() -> None:
    big = pod("big")
    big["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "7"}}
    assert Played(objects=[big]).result.phases == {"default/big": "Running"}
    played = Played(objects=[big], kubeletConfiguration={"kubeReserved": {"cpu": "2"}})
    assert played.result.phases == {"default/big": "Failed"}
    assert "OutOfcpu" in played.events("big")


def test_taints_and_provider_of_the_node() -> None:
    taint = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
    node = node_of(
        {"registerWithTaints": [taint], "providerID": "kind://n"}, taints=[{"key": "a", "effect": "NoSchedule"}]
    )
    assert [t.key for t in node.spec.taints] == ["a", "dedicated"]
    assert node.spec.provider_id == "kind://n"
    assert "providerID" not in node_of({}).to_json()["spec"]


def test_pod_addresses_are_from_the_pod_cidr_of_a_single_node() -> None:
    spec: dict[str, Any] = {"objects": [pod("a")], "kubeletConfiguration": {"podCIDR": "192.168.7.0/24"}}
    reported = [str(record.to_json()) for record in Played(**spec).records]
    assert any("192.168.7.2" in text for text in reported)
    assert not any("192.168.7.2" in str(record.to_json()) for record in Played(objects=[pod("a")]).records)


def test_pulls_beyond_the_registry_rate_fail() -> None:
    pods = [pod(f"p{n}", image=f"img:{n}") for n in range(4)]
    images = [{"name": "img:*", "pullTime": "10ms"}]
    limited = {"registryPullQPS": 1, "registryBurst": 2}
    assert "Failed" not in Played(objects=pods, images=images).events()
    assert "Failed" in Played(objects=pods, images=images, kubeletConfiguration=limited).events()
    unlimited = {**limited, "registryPullQPS": 0}
    assert "Failed" not in Played(objects=pods, images=images, kubeletConfiguration=unlimited).events()


@pytest.mark.parametrize(
    ("configuration", "side_by_side"),
    [
        ({}, 1),
        ({"serializeImagePulls": False}, 3),
        ({"serializeImagePulls": False, "maxParallelImagePulls": 2}, 2),
        ({"maxParallelImagePulls": 2}, 2),
        ({"maxParallelImagePulls": 1}, 1),
    ],
)
def test_the_number_of_parallel_image_pulls(configuration: dict[str, Any], side_by_side: int) -> None:
    pods = [pod(f"p{n}", image=f"img:{n}") for n in range(3)]
    images = [{"name": "img:*", "pullTime": "10s"}]
    played = Played(objects=pods, images=images, kubeletConfiguration=configuration)
    under_way = most = 0
    for record in played.records:
        reported = record.to_json()
        if reported.get("call") == "PullImage":
            under_way += 1 if record.KIND == "cri.call" else -1
            most = max(most, under_way)
    assert most == side_by_side


def test_events_are_written_at_the_configured_rate() -> None:
    pods = [pod(f"p{n}") for n in range(30)]
    slow = {"eventRecordQPS": 1, "eventBurst": 1}
    spec: dict[str, Any] = {"objects": pods, "duration": "20s"}
    assert Played(**spec).result.events > 2 * Played(kubeletConfiguration=slow, **spec).result.events


def test_the_node_status_is_reported_with_the_configured_frequency() -> None:
    """The kubelet detects memory pressure within ten seconds and reports it with the next update."""

    def reported_after(configuration: dict[str, Any]) -> float:
        step = {"at": "60s", "pressure": {"memory.available": "10Mi"}}
        played = Played(step, kubeletConfiguration=configuration, duration="400s")
        [write, *_] = [r.t for r in played.records if r.to_json().get("resource") == "nodes/status"]
        return write / SECOND - 60

    assert reported_after({}) < 25
    assert reported_after({"nodeStatusUpdateFrequency": "300s"}) > 25


def test_preloaded_images_can_be_verified() -> None:
    spec: dict[str, Any] = {"objects": [pod("a", image="img:1")], "images": [{"name": "img:1", "present": True}]}
    assert "PullImage" not in Played(**spec).calls("a")
    always = {"imagePullCredentialsVerificationPolicy": "AlwaysVerify"}
    assert "PullImage" in Played(kubeletConfiguration=always, **spec).calls("a")


# -- what overrides what ----------------------------------------------------------------------------------------


def test_a_merge_replaces_named_fields_and_keeps_others() -> None:
    base = {
        "maxPods": 5,
        "evictionHard": {"memory.available": "1Gi", "nodefs.available": "5%"},
        "clusterDNS": ["a", "b"],
    }
    patch = {"evictionHard": {"memory.available": "2Gi"}, "clusterDNS": ["c"], "maxPods": None}
    assert merged(base, patch) == {
        "evictionHard": {"memory.available": "2Gi", "nodefs.available": "5%"},
        "clusterDNS": ["c"],
    }


def test_flags_override_the_scenario_which_overrides_the_file(tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(
        FILE
        + "maxPods: 10\nsyncFrequency: 10s\npodsPerCore: 1\nevictionHard: {memory.available: 1Gi, pid.available: 5%}\n"
    )
    overlay = make_overlay(str(file), {"max-pods": ["30"], "eviction-hard": ["nodefs.available<7%"]})
    text = SCENARIO + "    {maxPods: 20, syncFrequency: 20s, evictionHard: {memory.available: 2Gi}}\n"
    values = parse_scenario(text, "s.yaml", None, overlay).spec.kubelet_configuration.values
    assert (values["maxPods"], values["syncFrequency"], values["podsPerCore"]) == (30, 20 * SECOND, 1)
    assert values["evictionHard"] == {"nodefs.available": "7%"}, "a flag replaces the whole map"
    without_flags = parse_scenario(text, "s.yaml", None, make_overlay(str(file))).spec.kubelet_configuration.values
    assert without_flags["evictionHard"] == {"memory.available": "2Gi", "pid.available": "5%"}
    assert without_flags["fileCheckFrequency"] == 20 * SECOND


def test_plain_manifests_use_the_file_too(tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(FILE + "maxPods: 10\n")
    objects = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
    scenario = parse_scenario(objects, "c.yaml", None, make_overlay(str(file)))
    assert scenario.spec.kubelet_configuration.values["maxPods"] == 10


def test_gates_of_the_file_apply_unless_overridden(tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(
        FILE + "featureGates: {MemoryQoS: true, CRIListStreaming: true, KubeletCrashLoopBackOffMax: false}\n"
    )
    text = SCENARIO.replace("  kubeletConfiguration:\n", "  featureGates: {MemoryQoS: false}\n")
    gates = parse_scenario(text, "s.yaml", {"CRIListStreaming": False}, make_overlay(str(file))).gates
    assert not gates.enabled("MemoryQoS")
    assert not gates.enabled("CRIListStreaming")
    assert not gates.enabled("KubeletCrashLoopBackOffMax")


def test_a_static_pod_path_is_relative_to_its_file(tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(FILE + "staticPodPath: manifests\n")
    scenario = parse_scenario(SCENARIO + "    {}\n", "s.yaml", None, make_overlay(str(file)))
    assert scenario.spec.kubelet_configuration.values["staticPodPath"] == str(tmp_path / "manifests")


def test_jitter_is_for_scenarios_only(tmp_path: Path) -> None:
    assert not parse_scenario(SCENARIO + "    {jitter: false}\n", "s.yaml").spec.kubelet_configuration.jitter
    file = tmp_path / "kubelet.yaml"
    file.write_text(FILE + "jitter: false\n")
    with pytest.raises(UsageError, match=r"kubelet.yaml:3: jitter: unknown field"):
        make_overlay(str(file))


def test_fields_without_effect_are_reported() -> None:
    given = {"hairpinMode": "none", "authentication": {"anonymous": {"enabled": False}}, "maxPods": 5, "port": 0}
    assert KubeletConfiguration(given).without_effect() == ["authentication", "hairpinMode"]


# -- errors have the position where they were made
# ----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "FILE:1: apiVersion: must be kubelet.config.k8s.io/v1beta1"),
        ("[]", "FILE:1: apiVersion: must be kubelet.config.k8s.io/v1beta1"),
        ("apiVersion: v1\nkind: Pod\n", "FILE:1: apiVersion: must be kubelet.config.k8s.io/v1beta1"),
        (FILE + "maxPods: many\n", "FILE:3: maxPods: must be a whole number, not 'many'"),
        (FILE + "\nmaxPod: 5\n", "FILE:4: maxPod: unknown field; did you mean maxPods?"),
        (
            FILE + "logging:\n  options:\n    text: {splitStream: 3}\n",
            "FILE:5: logging.options.text.splitStream: must be",
        ),
        (FILE + "---\n" + FILE, "FILE:4: a second document; a file has one KubeletConfiguration"),
        (FILE + "maxPods: [\n", "FILE:4: malformed YAML"),
    ],
)
def test_an_unreadable_file(text: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(text or "null: 1\n")
    with pytest.raises(UsageError) as found:
        make_overlay(str(file))
    assert str(found.value).replace(str(file), "FILE").startswith(expected)


def problem(scenario: str, file: str, flags: dict[str, list[str]], tmp_path: Path) -> str:
    path = tmp_path / "kubelet.yaml"
    path.write_text(FILE + file)
    with pytest.raises(UsageError) as found:
        parse_scenario(SCENARIO + scenario, "s.yaml", None, make_overlay(str(path), flags))
    return str(found.value).replace(str(path), "FILE")


def test_a_violated_rule_is_reported_for_its_field(tmp_path: Path) -> None:
    low = "imageGCLowThresholdPercent: must be less than imageGCHighThresholdPercent (85) (--image-gc-low-threshold)"
    assert problem("    {}\n", "imageGCLowThresholdPercent: 90\n", {}, tmp_path) == f"FILE:3: {low}"
    own = problem("    imageGCLowThresholdPercent: 90\n", "", {}, tmp_path)
    assert own == f"s.yaml:6: spec.kubeletConfiguration.{low}"
    flag = problem("    {}\n", "", {"image-gc-low-threshold": ["90"]}, tmp_path)
    assert flag == "--image-gc-low-threshold: must be less than imageGCHighThresholdPercent (85)"
    gate = problem("    {}\n", "featureGates: {NoSuch: true}\n", {}, tmp_path)
    assert gate.startswith("FILE:3: featureGates: unknown feature gate 'NoSuch'")


def test_an_error_in_one_source_may_be_corrected_by_another(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.yaml"
    path.write_text(FILE + "imageGCLowThresholdPercent: 90\n")
    text = SCENARIO + "    imageGCHighThresholdPercent: 95\n"
    values = parse_scenario(text, "s.yaml", None, make_overlay(str(path))).spec.kubelet_configuration.values
    assert (values["imageGCLowThresholdPercent"], values["imageGCHighThresholdPercent"]) == (90, 95)


def test_a_threshold_is_reported_by_its_field(tmp_path: Path) -> None:
    text = "    evictionSoft: {memory.available: 1Gi}\n"
    assert problem(text, "", {}, tmp_path).startswith(
        "s.yaml:6: spec.kubeletConfiguration.evictionSoft.memory.available: grace period must be specified"
    )


# -- machines on which no kubelet would start ---------------------------------------------------------------------


def unstartable(configuration: dict[str, Any], **item: Any) -> str:
    with pytest.raises(ValidationError) as error:
        node_of(configuration, **item)
    return error.value.errors()[0]["msg"]


def test_a_kubelet_that_reserves_more_than_the_node_has_does_not_start() -> None:
    assert unstartable({"kubeReserved": {"memory": "1Ti"}}, capacity={"memory": "1Gi"}) == (
        "invalid Node Allocatable configuration. "
        'Resource "memory" has a reservation of 1048676Mi but capacity of 1Gi. Expected capacity >= reservation.'
    )
    assert "capacity of 99Mi" in unstartable({}, capacity={"memory": "99Mi"})


def test_swap_must_be_allowed() -> None:
    assert unstartable({}, swap="1Gi") == (
        "running with swap on is not supported, please disable swap or set --fail-swap-on flag to false"
    )
    assert node_of({}, swap=0).status.node_info.get("swap") is None
    assert node_of({"failSwapOn": False}, swap="1Gi").status.node_info["swap"] == {"capacity": 1 << 30}


def test_thresholds_reduce_allocatable_whether_or_not_pods_are_limited() -> None:
    given = {"evictionHard": {"memory.available": "10%"}, "mergeDefaultEvictionSettings": True}
    node = node_of(given, capacity={"memory": "1000Mi", "ephemeral-storage": "1000Mi"})
    assert node.status.allocatable["memory"] == str(1000 * MI - int(1000 * MI * 0.10000000149011612))
    assert node.status.allocatable["ephemeral-storage"] == str(1000 * MI - int(1000 * MI * 0.10000000149011612))
    replaced = node_of({"evictionHard": {"memory.available": "24Mi"}}, capacity={"memory": "1Gi"})
    assert replaced.status.allocatable["memory"] == "1000Mi"
    assert replaced.status.allocatable["ephemeral-storage"] == replaced.status.capacity["ephemeral-storage"]
    unlimited = node_of({"enforceNodeAllocatable": ["none"]}, capacity={"memory": "1Gi"})
    assert unlimited.status.allocatable["memory"] == "924Mi"
