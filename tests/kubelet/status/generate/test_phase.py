"""The phase of a pod, computed from the states of its containers."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import ContainerStatus, Pod
from kubesim.features import FeatureGates
from kubesim.kubelet.status.generate.phase import get_phase

RUNNING: dict[str, Any] = {"state": {"running": {}}}
WAITING = {"state": {"waiting": {"reason": "ContainerCreating"}}}
DONE = {"state": {"terminated": {"exitCode": 0}}}
FAILED = {"state": {"terminated": {"exitCode": 1}}}
CRASHED_AND_WAITING: dict[str, Any] = {"state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": 1}}}

SIDECAR = {"name": "proxy", "restartPolicy": "Always"}


def phase(
    states: dict[str, dict[str, Any]],
    *,
    policy: str = "Always",
    init: list[dict[str, Any]] | None = None,
    containers: list[dict[str, Any]] | None = None,
    terminal: bool = False,
    initialized: bool = False,
    annotations: dict[str, str] | None = None,
    gates: FeatureGates | None = None,
) -> str:
    names = {container["name"] for container in init or ()}
    regular = containers or [{"name": name} for name in states if name not in names]
    pod = Pod.from_json(
        {
            "metadata": {"name": "web", "annotations": annotations or {}},
            "spec": {"restartPolicy": policy, "containers": regular, "initContainers": init or []},
        }
    )
    statuses = [ContainerStatus.from_json({"name": name, **state}) for name, state in states.items()]
    return get_phase(
        pod, statuses, pod_is_terminal=terminal, pod_has_initialized=initialized, gates=gates or FeatureGates()
    )


def test_one_container_that_never_started_keeps_the_pod_pending() -> None:
    assert phase({"a": RUNNING, "b": WAITING}) == "Pending"
    assert phase({"a": RUNNING}, containers=[{"name": "a"}, {"name": "without-status"}]) == "Pending"


def test_a_crashed_container_that_will_restart_keeps_the_pod_running() -> None:
    assert phase({"a": CRASHED_AND_WAITING}) == "Running"
    assert phase({"a": FAILED}, policy="OnFailure") == "Running"
    assert phase({"a": FAILED, "b": RUNNING}, policy="Never") == "Running"


def test_when_all_have_exited_permanently_the_exit_codes_decide() -> None:
    assert phase({"a": DONE, "b": DONE}, policy="Never") == "Succeeded"
    assert phase({"a": DONE, "b": FAILED}, policy="Never") == "Failed"
    assert phase({"a": DONE}, policy="OnFailure") == "Succeeded"


def test_restart_rules_and_container_policies_count_before_the_pod_policy() -> None:
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}
    restartable = {"name": "a", "restartPolicy": "Never", "restartPolicyRules": [rule]}
    assert phase({"a": FAILED}, containers=[restartable], policy="Never") == "Running"
    assert phase({"a": DONE}, containers=[{"name": "a", "restartPolicy": "Never"}], policy="Always") == "Succeeded"
    old_kubelet = FeatureGates({"ContainerRestartRules": False})
    assert phase({"a": FAILED}, containers=[restartable], policy="Never", gates=old_kubelet) == "Failed"


def test_a_pod_that_must_end_is_finished_whatever_its_policy_but_not_a_static_one() -> None:
    assert phase({"a": DONE}, terminal=True) == "Succeeded"
    assert phase({"a": CRASHED_AND_WAITING}, terminal=True) == "Failed"
    assert phase({"a": DONE}, terminal=True, annotations={"kubernetes.io/config.source": "file"}) == "Running"


def test_init_containers_keep_the_pod_pending_and_fail_it_if_they_may_not_restart() -> None:
    init = [{"name": "setup"}]
    assert phase({"setup": RUNNING, "a": WAITING}, init=init) == "Pending"
    assert phase({"setup": FAILED, "a": WAITING}, init=init, policy="Never") == "Failed"
    assert phase({"setup": FAILED, "a": WAITING}, init=init, policy="OnFailure") == "Pending"
    restarting = {"state": {"terminated": {"exitCode": 137, "reason": "RestartingAllContainers"}}}
    assert phase({"setup": restarting, "a": WAITING}, init=init, policy="Never") == "Pending"


def test_a_sidecar_delays_only_the_first_initialization() -> None:
    not_started = {**RUNNING, "started": False}
    assert phase({"proxy": not_started, "a": RUNNING}, init=[SIDECAR]) == "Pending"
    assert phase({"proxy": not_started, "a": RUNNING}, init=[SIDECAR], initialized=True) == "Running"
    assert phase({"proxy": FAILED, "a": DONE}, init=[SIDECAR], policy="Never") == "Succeeded"
    assert phase({"proxy": RUNNING, "a": DONE}, init=[SIDECAR], policy="Never", initialized=True) == "Running"


def test_without_restart_rules_only_the_pods_policy_counts() -> None:
    off = FeatureGates({"ContainerRestartRules": False, "RestartAllContainersOnContainerExits": False})
    assert phase({"a": FAILED}, policy="OnFailure", gates=off) == "Running"
    assert phase({"a": FAILED}, policy="Never", gates=off) == "Failed"
    assert phase({"a": DONE}, policy="Always", gates=off) == "Running"
    assert phase({"a": DONE}, policy="OnFailure", gates=off) == "Succeeded"
    assert phase({"setup": FAILED, "a": WAITING}, init=[{"name": "setup"}], policy="Never", gates=off) == "Failed"
    assert phase({"setup": FAILED, "a": WAITING}, init=[{"name": "setup"}], policy="Always", gates=off) == "Pending"


def test_a_pod_without_containers_is_pending() -> None:
    assert phase({}) == "Pending"


def test_a_pod_that_initializes_again_is_pending_and_in_v1_30_running() -> None:
    again: dict[str, Any] = {"init": [{"name": "first"}]}
    old = FeatureGates(profile="v1.30")
    for initializing in (WAITING, RUNNING):
        assert phase({"first": initializing, "main": FAILED}, **again) == "Pending"
        assert phase({"first": initializing, "main": FAILED}, gates=old, **again) == "Running"
    assert phase({"first": RUNNING, "main": WAITING}, gates=old, **again) == "Pending"
    assert phase({"first": RUNNING, "main": CRASHED_AND_WAITING}, gates=old, **again) == "Pending"
