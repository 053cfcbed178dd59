"""The status of a pod: its phase, its conditions, and the status of each container.

One rule of kubelet_pods.go (generateAPIPodStatus, getPhase, convertToAPIContainerStatuses) and status/generate.go per
test, on the pure function that makes a status of a pod and what the runtime has of it.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import PodStatus
from kubesim.api.timestamps import SECOND
from kubesim.runtime.types import ContainerRecord, SandboxRecord
from tests.support.pod_status import NOW, condition, container_status, exited, generated, pod_of, running

INIT: dict[str, Any] = {"initContainers": [{"name": "init", "image": "i"}]}
SIDECAR: dict[str, Any] = {"initContainers": [{"name": "init", "image": "i", "restartPolicy": "Always"}]}
PROBED: dict[str, Any] = {"name": "app", "readinessProbe": {"exec": {}}}
READINESS = frozenset({("app", "readiness")})
CREATED = ContainerRecord("containerd://app", "app", "created")


# -- phase -----------------------------------------------------------------------------------------------------------


def test_a_pod_without_any_container_is_pending() -> None:
    assert generated(pod_of("app"), sandbox=None).phase == "Pending"


def test_a_pod_is_pending_until_every_container_has_been_started() -> None:
    assert generated(pod_of("app", "other"), running()).phase == "Pending"


def test_a_pod_with_running_containers_is_running() -> None:
    assert generated(pod_of("app"), running()).phase == "Running"


def test_a_pod_whose_init_container_runs_is_pending() -> None:
    assert generated(pod_of("app", **INIT), running("init")).phase == "Pending"


def test_a_pod_whose_init_container_failed_under_never_has_failed() -> None:
    assert generated(pod_of("app", **INIT, restartPolicy="Never"), exited(1, "init")).phase == "Failed"


def test_a_pod_whose_init_container_failed_under_onfailure_is_pending() -> None:
    assert generated(pod_of("app", **INIT, restartPolicy="OnFailure"), exited(1, "init")).phase == "Pending"


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
def test_a_pod_whose_containers_all_exited_with_0_has_succeeded(policy: str) -> None:
    pod = pod_of("app", "other", restartPolicy=policy)
    assert generated(pod, exited(0), exited(0, "other")).phase == "Succeeded"


def test_a_pod_whose_container_exited_with_1_under_never_has_failed() -> None:
    pod = pod_of("app", "other", restartPolicy="Never")
    assert generated(pod, exited(1), exited(0, "other")).phase == "Failed"


def test_a_pod_whose_container_exited_with_1_under_onfailure_is_running() -> None:
    assert generated(pod_of("app", restartPolicy="OnFailure"), exited(1)).phase == "Running"


def test_a_pod_whose_containers_all_exited_under_always_is_running() -> None:
    assert generated(pod_of("app"), exited(0)).phase == "Running"


def test_a_pod_is_running_while_one_container_is() -> None:
    pod = pod_of("app", "other", restartPolicy="Never")
    assert generated(pod, exited(1), running("other")).phase == "Running"


def test_a_running_sidecar_does_not_keep_a_finished_pod_from_ending_when_it_must_end() -> None:
    pod = pod_of("app", **SIDECAR, restartPolicy="Never")
    assert generated(pod, exited(0), exited(137, "init"), pod_is_terminal=True).phase == "Succeeded"


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_never_leaves_a_terminal_phase(phase: str) -> None:
    assert generated(pod_of("app"), running(), cached_status=PodStatus(phase=phase)).phase == phase


def test_a_pod_past_its_active_deadline_has_failed() -> None:
    started = {"startTime": "2026-03-01T11:59:00Z"}
    status = generated(pod_of("app", status=started, activeDeadlineSeconds=60), running())
    assert (status.phase, status.reason) == ("Failed", "DeadlineExceeded")


# -- conditions ------------------------------------------------------------------------------------------------------


def test_a_pod_with_a_sandbox_and_an_address_is_ready_to_start_containers() -> None:
    assert condition(generated(pod_of("app")), "PodReadyToStartContainers") == ("True", "")


@pytest.mark.parametrize("sandbox", [None, SandboxRecord("s1", ready=False)])
def test_a_pod_without_a_ready_sandbox_is_not_ready_to_start_containers(sandbox: SandboxRecord | None) -> None:
    assert condition(generated(pod_of("app"), sandbox=sandbox), "PodReadyToStartContainers") == ("False", "")


def test_a_pod_without_init_containers_is_initialized() -> None:
    assert condition(generated(pod_of("app")), "Initialized") == ("True", "")


def test_a_pod_whose_init_container_has_not_ended_is_not_initialized() -> None:
    status = generated(pod_of("app", **INIT), running("init"))
    assert condition(status, "Initialized") == ("False", "ContainersNotInitialized")


def test_a_pod_whose_init_container_exited_with_0_is_initialized() -> None:
    assert condition(generated(pod_of("app", **INIT), exited(0, "init")), "Initialized") == ("True", "")


def test_a_pod_whose_sidecar_has_started_is_initialized() -> None:
    assert condition(generated(pod_of("app", **SIDECAR), running("init")), "Initialized") == ("True", "")


def test_a_pod_is_ready_when_all_its_containers_are() -> None:
    status = generated(pod_of("app", "other"), running(), running("other"))
    assert condition(status, "ContainersReady") == condition(status, "Ready") == ("True", "")


def test_a_pod_with_one_stopped_container_is_not_ready() -> None:
    status = generated(pod_of("app", "other"), running(), exited(1, "other"))
    assert condition(status, "ContainersReady") == condition(status, "Ready") == ("False", "ContainersNotReady")


def test_a_pod_with_a_closed_readiness_gate_is_not_ready_although_its_containers_are() -> None:
    status = generated(pod_of("app", readinessGates=[{"conditionType": "example.com/x"}]), running())
    assert condition(status, "ContainersReady") == ("True", "")
    assert condition(status, "Ready") == ("False", "ReadinessGatesNotReady")


def test_a_pod_that_succeeded_is_initialized_and_not_ready_because_it_completed() -> None:
    status = generated(pod_of("app", restartPolicy="Never"), exited(0))
    assert condition(status, "Initialized") == ("True", "PodCompleted")
    assert condition(status, "Ready") == ("False", "PodCompleted")


def test_a_pod_that_failed_is_not_ready() -> None:
    status = generated(pod_of("app", restartPolicy="Never"), exited(1))
    assert condition(status, "Ready") == ("False", "PodFailed")


def test_conditions_have_the_generation_of_their_pod() -> None:
    assert {c.observed_generation for c in generated(pod_of("app"), running()).conditions} == {3}


# -- states of containers --------------------------------------------------------------------------------------------


def state(status: PodStatus, name: str = "app") -> dict[str, Any]:
    return container_status(status, name).state.to_json()


def test_a_missing_container_is_in_containercreating() -> None:
    assert state(generated(pod_of("app"))) == {"waiting": {"reason": "ContainerCreating"}}


def test_a_container_that_waits_for_init_containers_is_in_podinitializing() -> None:
    assert state(generated(pod_of("app", **INIT), running("init"))) == {"waiting": {"reason": "PodInitializing"}}


def test_a_created_container_that_was_not_started_is_waiting() -> None:
    assert "waiting" in state(generated(pod_of("app"), CREATED))


def test_a_running_container_has_its_start_time() -> None:
    assert state(generated(pod_of("app"), running())) == {"running": {"startedAt": "2026-03-01T11:59:00Z"}}


def test_a_terminated_container_has_exit_code_and_reason() -> None:
    ended = state(generated(pod_of("app", restartPolicy="Never"), exited(3)))["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (3, "Error")


def test_a_container_that_could_not_start_has_the_reason() -> None:
    reasons = {"app": ("ImagePullBackOff", "Back-off pulling image")}
    assert state(generated(pod_of("app"), reasons=reasons)) == {
        "waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}
    }


def test_a_container_that_will_restart_is_waiting_and_its_exit_is_its_last_state() -> None:
    status = generated(pod_of("app"), exited(1), reasons={"app": ("CrashLoopBackOff", "back-off 10s")})
    assert state(status)["waiting"]["reason"] == "CrashLoopBackOff"
    ended = container_status(status).last_state.terminated
    assert ended is not None
    assert ended.exit_code == 1


def test_a_container_that_will_not_restart_keeps_its_exit_as_its_state() -> None:
    pod = pod_of("app", restartPolicy="Never")
    assert "terminated" in state(generated(pod, exited(1), reasons={"app": ("CrashLoopBackOff", "back-off 10s")}))


def test_the_exit_before_the_current_run_is_the_last_state() -> None:
    before = exited(1, restart_count=0)
    now = running(restart_count=1, created_at=NOW)
    status = container_status(generated(pod_of("app"), now, before))
    assert status.restart_count == 1
    assert status.last_state.terminated is not None


def test_a_running_container_that_was_removed_is_reported_as_exited_with_137() -> None:
    old = {"containerStatuses": [{"name": "app", "state": {"running": {}}, "restartCount": 4}]}
    status = container_status(generated(pod_of("app", status=old)))
    assert status.last_state.terminated is not None
    assert status.last_state.terminated.exit_code == 137
    assert status.last_state.terminated.reason == "ContainerStatusUnknown"
    assert status.restart_count == 5


def test_containers_are_reported_in_the_order_of_their_names() -> None:
    status = generated(pod_of("b", "a"), running("b"), running("a"))
    assert [container.name for container in status.container_statuses] == ["a", "b"]


def test_init_containers_are_reported_in_the_order_of_the_spec() -> None:
    init = [{"name": name, "image": "i"} for name in ("b", "a")]
    status = generated(pod_of("app", initContainers=init), running("b"))
    assert [container.name for container in status.init_container_statuses] == ["b", "a"]


# -- probes ----------------------------------------------------------------------------------------------------------


def test_a_running_container_without_probes_is_started_and_ready() -> None:
    status = container_status(generated(pod_of("app"), running()))
    assert (status.started, status.ready) == (True, True)


def test_a_container_with_a_readiness_probe_is_not_ready_before_its_first_success() -> None:
    young: dict[str, Any] = {"probe_workers": READINESS, "kubelet_start": NOW - 3600 * SECOND}
    assert not container_status(generated(pod_of(PROBED), running(), **young)).ready


@pytest.mark.parametrize(("result", "ready"), [("success", True), ("failure", False)])
def test_the_last_readiness_result_decides(result: str, ready: bool) -> None:
    results: dict[str, Any] = {"probe_workers": READINESS, "readiness": {"containerd://app": result}}
    assert container_status(generated(pod_of(PROBED), running(), **results)).ready is ready


def test_a_container_with_a_startup_probe_is_neither_started_nor_ready_before_its_success() -> None:
    probed = {"name": "app", "startupProbe": {"exec": {}}}
    young: dict[str, Any] = {"probe_workers": frozenset({("app", "startup")}), "kubelet_start": NOW - 3600 * SECOND}
    status = container_status(generated(pod_of(probed), running(), **young))
    assert (status.started, status.ready) == (False, False)


def test_a_terminated_container_is_neither_started_nor_ready() -> None:
    status = container_status(generated(pod_of("app"), exited(1)))
    assert (status.started, status.ready) == (False, False)


def test_an_init_container_is_ready_when_it_exited_with_0() -> None:
    assert container_status(generated(pod_of("app", **INIT), exited(0, "init")), "init").ready
    assert not container_status(generated(pod_of("app", **INIT), running("init")), "init").ready


# -- addresses and classes -------------------------------------------------------------------------------------------


def test_the_pod_has_the_address_of_its_sandbox() -> None:
    assert generated(pod_of("app"), running(), host_ips=("192.168.0.1",)).pod_ip == "10.0.0.5"


def test_a_pod_on_the_hosts_network_has_the_address_of_the_host() -> None:
    assert generated(pod_of("app", hostNetwork=True), running(), ips=(), host_ips=("192.168.0.1",)).pod_ip == (
        "192.168.0.1"
    )


def test_the_address_of_the_node_is_reported_as_soon_as_it_is_known() -> None:
    assert generated(pod_of("app"), sandbox=None, host_ips=("192.168.0.1",)).host_ip == "192.168.0.1"


@pytest.mark.parametrize(
    ("resources", "qos"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
    ],
)
def test_requests_and_limits_decide_the_qos_class(resources: dict[str, Any], qos: str) -> None:
    assert generated(pod_of({"name": "app", "resources": resources}), running()).qos_class == qos
