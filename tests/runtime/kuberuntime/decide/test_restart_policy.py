"""Whether a container may restart. Rules first, then the container's policy, then the pod's."""

from __future__ import annotations

import pytest

from kubesim.api.pod import Container, Pod, PodSpec
from kubesim.features import FeatureGates
from kubesim.runtime.kuberuntime.decide.restart_policy import (
    all_containers_restart_cleaned_up,
    container_should_restart,
    explain_restart,
    should_all_containers_restart,
    should_container_be_restarted,
)
from kubesim.runtime.types import ContainerRecord, ContainerRuntimeState, RuntimePodStatus


def rule(action: str, operator: str, *values: int) -> dict[str, object]:
    return {"action": action, "exitCodes": {"operator": operator, "values": list(values)}}


def web(**fields: object) -> Container:
    return Container.from_json({"name": "web", "image": "nginx", **fields})


def status(state: ContainerRuntimeState, exit_code: int = 0) -> RuntimePodStatus:
    return RuntimePodStatus("uid", containers=(ContainerRecord("containerd://1", "web", state, exit_code=exit_code),))


@pytest.mark.parametrize(
    ("pod_policy", "exit_code", "restarts"),
    [("Always", 0, True), ("OnFailure", 0, False), ("OnFailure", 1, True), ("Never", 1, False), ("", 0, True)],
)
def test_the_pods_policy_applies_to_a_container_without_its_own(
    pod_policy: str, exit_code: int, restarts: bool
) -> None:
    assert container_should_restart(web(), PodSpec(restart_policy=pod_policy), exit_code) is restarts


def test_the_containers_policy_overrides_the_pods() -> None:
    assert not container_should_restart(web(restartPolicy="Never"), PodSpec(restart_policy="Always"), 1)


def test_the_first_matching_rule_overrides_both() -> None:
    container = web(
        restartPolicy="Never", restartPolicyRules=[rule("Restart", "In", 3, 4), rule("Restart", "NotIn", 5, 6)]
    )
    spec = PodSpec(restart_policy="Never")
    assert [code for code in range(8) if container_should_restart(container, spec, code)] == [0, 1, 2, 3, 4, 7]


def test_rules_of_a_container_without_a_policy_are_ignored() -> None:
    container = web(restartPolicyRules=[rule("Restart", "In", 1)])
    assert not container_should_restart(container, PodSpec(restart_policy="Never"), 1)


def test_a_restart_all_rule_is_replaced_by_the_policy_when_its_gate_is_disabled() -> None:
    container = web(restartPolicy="Never", restartPolicyRules=[rule("RestartAllContainers", "In", 1)])
    off = FeatureGates({"RestartAllContainersOnContainerExits": False})
    assert container_should_restart(container, PodSpec(), 1)
    assert not container_should_restart(container, PodSpec(), 1, off)


def test_a_container_that_never_ran_or_has_no_clear_exit_is_started_with_any_policy() -> None:
    pod = Pod(spec=PodSpec(containers=(web(),), restart_policy="Never"))
    assert should_container_be_restarted(web(), pod, RuntimePodStatus("uid"))
    assert should_container_be_restarted(web(), pod, status("created"))
    assert should_container_be_restarted(web(), pod, status("unknown"))
    assert not should_container_be_restarted(web(), pod, status("running"))
    assert not should_container_be_restarted(web(), pod, status("exited", 1))


def test_nothing_starts_in_a_pod_that_is_being_deleted() -> None:
    pod = Pod.from_json({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    assert not should_container_be_restarted(web(), pod, RuntimePodStatus("uid"))
    assert explain_restart(web(), pod, 1) == "the pod is being deleted"


def test_without_restart_rules_only_the_pods_policy_counts() -> None:
    container = web(restartPolicy="Always")
    pod = Pod(spec=PodSpec(containers=(container,), restart_policy="Never"))
    off = FeatureGates({"ContainerRestartRules": False})
    assert should_container_be_restarted(container, pod, status("exited", 1))
    assert not should_container_be_restarted(container, pod, status("exited", 1), off)
    assert explain_restart(container, pod, 1) == "its own restartPolicy is Always"
    assert explain_restart(container, pod, 1, off) == "restartPolicy is Never"


def test_restarting_all_containers() -> None:
    container = web(restartPolicy="Never", restartPolicyRules=[rule("RestartAllContainers", "In", 42)])
    pod = Pod(spec=PodSpec(containers=(container,)))
    assert should_all_containers_restart(pod, status("exited", 42), None)
    assert not should_all_containers_restart(pod, status("exited", 1), None)
    assert not should_all_containers_restart(pod, status("running"), None)


def test_a_true_condition_continues_restarting_all() -> None:
    pod = Pod.from_json({"status": {"conditions": [{"type": "AllContainersRestarting", "status": "True"}]}})
    assert should_all_containers_restart(pod, RuntimePodStatus("uid"), pod.status)


def test_the_api_status_is_used_only_with_an_exited_record() -> None:
    terminated = {"name": "web", "state": {"terminated": {"exitCode": 42}}}
    container = web(restartPolicy="Never", restartPolicyRules=[rule("RestartAllContainers", "In", 42)])
    pod = Pod.from_json({"spec": {"containers": [container.to_json()]}, "status": {"containerStatuses": [terminated]}})
    assert should_all_containers_restart(pod, None, pod.status)
    assert should_all_containers_restart(pod, status("exited", 0), pod.status)
    assert not should_all_containers_restart(pod, status("running"), pod.status)


def test_complete_when_no_record_is_left() -> None:
    pod = Pod(spec=PodSpec(containers=(web(),)))
    assert all_containers_restart_cleaned_up(pod, RuntimePodStatus("uid"))
    assert not all_containers_restart_cleaned_up(pod, status("exited"))


def test_rules_that_the_api_rejects_have_no_effect() -> None:
    """An unknown policy, an unknown operator, and a rule without conditions."""
    spec = PodSpec(restart_policy="OnFailure")
    container = web(restartPolicy="Sometimes", restartPolicyRules=[{"action": "Restart"}, rule("Restart", "Like", 0)])
    assert [container_should_restart(container, spec, code) for code in (0, 1)] == [False, True]
    assert explain_restart(container, Pod(spec=spec), 1) == "restartPolicy is OnFailure"
