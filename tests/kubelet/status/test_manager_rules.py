"""The status manager's pure rules: which changes are impossible, what counts as the same, what belongs to others."""

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
    def test_restart_rules_allow_it_where_there_are_rules(self) -> None:
        rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [3]}}
        spec = a_pod(container={"restartPolicy": "Never", "restartPolicyRules": [rule]}).spec
        old, new = a_status(containerStatuses=[ended()]), a_status(containerStatuses=[{"name": "c"}])
        assert check_container_state_transition(old, new, spec) == ""
        assert check_container_state_transition(old, new, spec, FeatureGates({"ContainerRestartRules": False})) == (
            "terminated container c attempted illegal transition to non-terminated state"
        )

    def test_a_status_that_belongs_to_no_init_container(self) -> None:
        old = a_status(initContainerStatuses=[ended("other")])
        assert check_container_state_transition(old, old, a_pod("init").spec) == (
            "found mismatch between pod spec and status, container: other"
        )


class TestNormalizing:
    def test_init_containers_in_the_order_of_the_spec_and_strangers_behind(self) -> None:
        statuses = [{"name": name} for name in ("stranger", "b", "a")]
        status = normalize_status(a_pod("a", "missing", "b"), a_status(initContainerStatuses=statuses))
        assert [container.name for container in status.init_container_statuses] == ["a", "b", "stranger"]


class TestSameness:
    def test_the_spelling_of_an_amount_does_not_count(self) -> None:
        status = a_status(allocatedResources={"cpu": "1"})
        assert is_pod_status_by_kubelet_equal(status, status)
        assert is_pod_status_by_kubelet_equal(status, a_status(allocatedResources={"cpu": "1000m"}))
        assert not is_pod_status_by_kubelet_equal(status, a_status(allocatedResources={"cpu": "2"}))

    def test_what_others_say_does_not_count(self) -> None:
        theirs = a_status(resourceClaimStatuses=[{"name": "gpu"}], conditions=[{"type": "theirs", "status": "True"}])
        assert is_pod_status_by_kubelet_equal(a_status(), theirs)


def test_fields_of_others_ride_along() -> None:
    old = a_status(resourceClaimStatuses=[{"name": "gpu"}], ours="old")
    new = a_status(resourceClaimStatuses=[{"name": "never seen"}], ours="new")
    merged = merge_pod_status(a_pod(), old, new, False, NOW)
    assert merged.to_json() == {
        "phase": "Running",
        "resourceClaimStatuses": [{"name": "gpu"}],
        "ours": "new",
    }


def test_conditions_of_others_are_theirs_to_change_also_when_the_pod_ends() -> None:
    old = a_status(conditions=[{"type": "theirs", "status": "False"}])
    disruption = {"type": "DisruptionTarget", "status": "True"}
    new = a_status(phase="Failed", conditions=[{"type": "theirs", "status": "True"}, disruption])
    merged = merge_pod_status(a_pod(), old, new, False, NOW)
    assert [(c.type, c.status) for c in merged.conditions][:2] == [("theirs", "False"), ("DisruptionTarget", "True")]


def test_nobody_has_the_id_of_a_container_that_is_gone_or_never_ran() -> None:
    status = a_status(containerStatuses=[{"name": "c"}])
    assert with_container_readiness(a_pod(), status, "", True) is None
    assert with_container_readiness(a_pod(), status, "containerd://gone", True) is None
