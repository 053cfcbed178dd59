"""Admission by the topology manager. Adapted from pkg/kubelet/cm/topologymanager/topology_manager_test.go,
policy_options_test.go, scope_test.go, scope_container_test.go, scope_pod_test.go and cm/admission/errors_test.go."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kubesim.api.pod import Container, Pod
from kubesim.kubelet.cm.admission import AllocationError, pod_admit_result
from kubesim.kubelet.cm.machine import NumaNode
from kubesim.kubelet.cm.topologymanager.hints import Hints, TopologyHint, is_narrower, mask_of, node_combinations
from kubesim.kubelet.cm.topologymanager.manager import (
    TopologyManager,
    affinity_error,
    new_topology_manager,
    pod_level_affinity_error,
)
from kubesim.kubelet.cm.topologymanager.policy_options import PolicyOptions, new_policy_options
from kubesim.values import part
from tests.kubelet.cm.tables import Row, gates_of, hints_of, names, outcome, pod_of, rows

TABLE = rows("topologymanager/topology_manager")
TWO = (NumaNode(0, distances=(10, 11)), NumaNode(1, distances=(11, 10)))


def of(test: str) -> list[Row]:
    return [row for row in TABLE if row["test"] == test]


@part
class Provider:
    """Provides hints, and records what was allocated; `error` makes it fail."""

    hints: Hints
    allocated: list[str]
    error: str = ""

    def topology_hints(self, pod: Pod, container: Container) -> Hints:
        return self.hints

    def pod_topology_hints(self, pod: Pod) -> Hints:
        return self.hints

    def allocate(self, pod: Pod, container: Container) -> None:
        if self.error:
            raise AllocationError(self.error)
        self.allocated.append(container.name)

    def allocate_pod(self, pod: Pod) -> None:
        self.allocated.append("the pod")


def pod_with(**spec: object) -> Pod:
    containers = [{"name": "init"}], [{"name": "main"}]
    return pod_of({"uid": "pod", "initContainers": containers[0], "containers": containers[1], **spec})


@pytest.mark.parametrize("row", of("new manager"), ids=names(of("new manager")))
def test_new_manager(row: Row) -> None:
    """TestNewManager; its messages are parts of kubesim's"""
    topology = tuple(NumaNode(node, distances=distances) for node, distances in row["topology"])
    made, problem = outcome(lambda: new_topology_manager(topology, row["policy"], "container", row["options"]))
    assert row["error"] in problem
    if not row["error"]:
        assert isinstance(made, TopologyManager)
        assert made.policy.name == row["expect"]


@pytest.mark.parametrize(
    ("scope", "problem"), [("container", ""), ("pod", ""), ("unknown", 'unknown scope: "unknown"')]
)
def test_scope(scope: str, problem: str) -> None:
    """TestManagerScope"""
    made, found = outcome(lambda: new_topology_manager((), "best-effort", scope))
    assert found == problem
    assert problem or (isinstance(made, TopologyManager) and made.scope == scope)


@pytest.mark.parametrize("scope", ["container", "pod"])
@pytest.mark.parametrize("row", of("admit"), ids=names(of("admit")))
def test_admit(row: Row, scope: str) -> None:
    """TestAdmit"""
    manager = new_topology_manager(TWO, row["policy"], scope)
    manager.providers = [Provider(hints_of(provider), []) for provider in row["providers"]]
    _, problem = outcome(lambda: manager.admit(pod_with()))
    assert problem == ("" if row["expect"] else "Resources cannot be allocated with Topology locality")


def test_the_order_of_allocation() -> None:
    """TestAddHintProvider; scope.go allocateAlignedResources: container by container, all providers for each"""
    allocated: list[str] = []
    manager = new_topology_manager((), "none")
    manager.providers = [Provider({}, allocated), Provider({}, allocated)]
    manager.admit(pod_with())
    assert allocated == ["init", "init", "main", "main"]


@pytest.mark.parametrize("scope", ["container", "pod"])
def test_the_affinity_is_set_while_providers_allocate(scope: str) -> None:
    """TestGetAffinity, TestContainerCalculateAffinity, TestPodCalculateAffinity"""
    only = TopologyHint(frozenset((1,)), preferred=True)
    manager = new_topology_manager(TWO, "restricted", scope)
    manager.providers = [Provider({"resource": (only,)}, [])]
    manager.admit(pod_with())
    assert manager.affinity("pod", "init") == manager.affinity("pod", "main") == only
    assert manager.affinity("pod", "other") == TopologyHint()


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        ("container", "pod with pod-level resources failed admission with a container-level topology manager"),
        ("pod", "pod with pod-level resources failed admission under pod-scope topology manager"),
    ],
)
def test_pods_with_pod_level_resources_have_separate_messages(scope: str, message: str) -> None:
    gates = gates_of({"gates": {"PodLevelResourceManagers": True}})
    manager = new_topology_manager(TWO, "restricted", scope, {}, gates)
    manager.providers = [Provider({"resource": ()}, [])]
    pod = pod_with(resources={"requests": {"cpu": "1"}})
    assert outcome(lambda: manager.admit(pod)) == (None, f"Pod Scope {message}")


def test_pod_level_resources_are_allocated_once() -> None:
    """scope_pod.go admitUsingPodResources"""
    gates = gates_of({"gates": {"PodLevelResourceManagers": True}})
    manager = new_topology_manager(TWO, "best-effort", "pod", {}, gates)
    allocated: list[str] = []
    manager.providers = [Provider({}, allocated)]
    manager.admit(pod_with(resources={"requests": {"cpu": "1"}}))
    assert allocated == ["the pod"]


@pytest.mark.parametrize(
    ("options", "problem", "expected"),
    [
        (
            {"prefer-closest-numa-nodes": "true", "max-allowable-numa-nodes": "8"},
            "",
            PolicyOptions(prefer_closest_numa=True, max_allowable_numa_nodes=8),
        ),
        ({"max-allowable-numa-nodes": "12"}, "", PolicyOptions(max_allowable_numa_nodes=12)),
        ({}, "", PolicyOptions()),
        (
            {"prefer-closest-numa-nodes": "not a boolean"},
            (
                'bad value for option "prefer-closest-numa-nodes": '
                'strconv.ParseBool: parsing "not a boolean": invalid syntax'
            ),
            None,
        ),
        (
            {"max-allowable-numa-nodes": "can't parse to int"},
            (
                'unable to convert policy option to integer "max-allowable-numa-nodes": '
                'strconv.Atoi: parsing "can\'t parse to int": invalid syntax'
            ),
            None,
        ),
        (
            {"max-allowable-numa-nodes": "5"},
            'the minimum value of "max-allowable-numa-nodes" should not be less than 8',
            None,
        ),
        ({"fancy-new-option": "true"}, 'unknown Topology Manager Policy option: "fancy-new-option"', None),
    ],
)
def test_policy_options(options: Mapping[str, str], problem: str, expected: PolicyOptions | None) -> None:
    """TestNewTopologyManagerOptions, TestPolicyDefaultsAvailable; there are no alpha and beta options in v1.36"""
    assert outcome(lambda: new_policy_options(options)) == (expected, problem)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            AllocationError("Unexpected Admission Error"),
            (
                "UnexpectedAdmissionError",
                "Allocate failed due to Unexpected Admission Error, which is unexpected",
            ),
        ),
        (AllocationError("message", "TestAdmitError"), ("TestAdmitError", "message")),
        (affinity_error(), ("TopologyAffinityError", "Resources cannot be allocated with Topology locality")),
        (
            pod_level_affinity_error(),
            ("TopologyAffinityError", "Pod Scope Resources cannot be allocated with Topology locality"),
        ),
    ],
)
def test_pod_admit_result(error: AllocationError, expected: tuple[str, str]) -> None:
    """cm/admission/errors_test.go TestAdmissionErrors"""
    assert pod_admit_result(error) == expected


def test_an_error_of_a_provider_rejects_the_pod() -> None:
    manager = new_topology_manager(TWO, "best-effort")
    manager.providers = [Provider({}, [], error="no devices")]
    assert outcome(lambda: manager.admit(pod_with())) == (None, "no devices")


def test_masks() -> None:
    """bitmask_test.go: IsNarrowerThan, IterateBitMasks"""
    assert is_narrower(frozenset((3,)), frozenset((0, 1)))
    assert is_narrower(frozenset((0, 2)), frozenset((1, 2)))
    assert not is_narrower(frozenset((1, 2)), frozenset((1, 2)))
    assert list(map(mask_of, node_combinations([0, 1, 2]))) == [1, 2, 4, 3, 5, 6, 7]
