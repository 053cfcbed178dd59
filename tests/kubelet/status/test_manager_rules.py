"""The status manager's pure rules: impossible changes, equal statuses, and fields of other clients."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import parse_time
from kubesim.features import FeatureGates
from kubesim.kubelet.status.manager_rules import (
    check_container_state_transition,
    is_pod_status_by_kubelet_equal,
    merge_pod_status,
    normalize_status,
    with_container_readiness,
)

NOW = parse_time("2026-03-01T12:00:00Z")


def a_pod(*init: str, container: dict[str, Any] | None = None) -> Pod:
    spec = {
        "restartPolicy": "Never",
        "containers": [{"name": "c", **(container or {})}],
        "initContainers": [{"name": name} for name in init],
    }
    return Pod.from_json({"metadata": {"name": "p", "generation": 1}, "spec": spec})


def a_status(**fields: Any) -> PodStatus:
    return PodStatus.from_json({"phase": "Running", **fields})


def ended(name: str = "c", exit_code: int = 3) -> dict[str, Any]:
    return {"name": name, "state": {"terminated": {"exitCode": exit_code}}}


class TestComingBackToLife:
    def test_restart_rules_allow_a_restart_of_the_container(self) -> None:
        rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [3]}}
        spec = a_pod(container={"restartPolicy": "Never", "restartPolicyRules": [rule]}).spec
        old, new = a_status(containerStatuses=[ended()]), a_status(containerStatuses=[{"name": "c"}])
        assert check_container_state_transition(old, new, spec) == ""
        assert check_container_state_transition(old, new, spec, FeatureGates({"ContainerRestartRules": False})) == (
            "terminated container c attempted illegal transition to non-terminated state"
        )

    def test_a_status_of_no_init_container(self) -> None:
        old = a_status(initContainerStatuses=[ended("other")])
        assert check_container_state_transition(old, old, a_pod("init").spec) == (
            "found mismatch between pod spec and status, container: other"
        )


class TestNormalizing:
    def test_init_containers_are_in_the_order_of_the_spec_and_unknown_ones_last(self) -> None:
        statuses = [{"name": name} for name in ("stranger", "b", "a")]
        status = normalize_status(a_pod("a", "missing", "b"), a_status(initContainerStatuses=statuses))
        assert [container.name for container in status.init_container_statuses] == ["a", "b", "stranger"]


class TestSameness:
    def test_the_spelling_of_a_quantity_is_irrelevant(self) -> None:
        status = a_status(allocatedResources={"cpu": "1"})
        assert is_pod_status_by_kubelet_equal(status, status)
        assert is_pod_status_by_kubelet_equal(status, a_status(allocatedResources={"cpu": "1000m"}))
        assert not is_pod_status_by_kubelet_equal(status, a_status(allocatedResources={"cpu": "2"}))

    def test_differences_in_fields_of_other_clients_are_irrelevant(self) -> None:
        theirs = a_status(resourceClaimStatuses=[{"name": "gpu"}], conditions=[{"type": "theirs", "status": "True"}])
        assert is_pod_status_by_kubelet_equal(a_status(), theirs)


def test_fields_of_other_clients_are_kept() -> None:
    old = a_status(resourceClaimStatuses=[{"name": "gpu"}], ours="old")
    new = a_status(resourceClaimStatuses=[{"name": "never seen"}], ours="new")
    merged = merge_pod_status(a_pod(), old, new, False, NOW)
    assert merged.to_json() == {
        "phase": "Running",
        "resourceClaimStatuses": [{"name": "gpu"}],
        "ours": "new",
    }


def test_conditions_of_other_clients_can_change_also_when_the_pod_ends() -> None:
    old = a_status(conditions=[{"type": "theirs", "status": "False"}])
    disruption = {"type": "DisruptionTarget", "status": "True"}
    new = a_status(phase="Failed", conditions=[{"type": "theirs", "status": "True"}, disruption])
    merged = merge_pod_status(a_pod(), old, new, False, NOW)
    assert [(c.type, c.status) for c in merged.conditions][:2] == [("theirs", "False"), ("DisruptionTarget", "True")]


def test_a_removed_or_never_started_container_has_no_id() -> None:
    status = a_status(containerStatuses=[{"name": "c"}])
    assert with_container_readiness(a_pod(), status, "", True) is None
    assert with_container_readiness(a_pod(), status, "containerd://gone", True) is None
