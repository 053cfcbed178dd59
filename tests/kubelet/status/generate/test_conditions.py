"""The kubelet's own conditions, with their exact reasons and messages."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import ContainerStatus, Pod, PodCondition, PodStatus
from kubesim.features import FeatureGates
from kubesim.kubelet.status.generate import conditions
from kubesim.runtime.types import ContainerRecord, RuntimePodStatus, SandboxNetwork, SandboxRecord
from kubesim.values import replace

NO_STATUS = PodStatus()
ALL_RESTART_ON_42 = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}


def a_pod(**spec: Any) -> Pod:
    spec = {"containers": [{"name": "a"}, {"name": "b"}], **spec}
    return Pod.from_json({"metadata": {"name": "web", "uid": "1", "generation": 3}, "spec": spec})


def status(name: str, **fields: Any) -> ContainerStatus:
    return ContainerStatus.from_json({"name": name, **fields})


def test_containers_ready_names_the_containers_that_are_not() -> None:
    condition = conditions.generate_containers_ready_condition(a_pod(), NO_STATUS, (status("b"),), "Running")
    assert condition.to_json() == {
        "type": "ContainersReady",
        "observedGeneration": 3,
        "status": "False",
        "reason": "ContainersNotReady",
        "message": "containers with unknown status: [a], containers with unready status: [b]",
    }


def test_terminal_phases_are_not_ready_even_with_ready_containers() -> None:
    ready = (status("a", ready=True), status("b", ready=True))
    failed = conditions.generate_containers_ready_condition(a_pod(), NO_STATUS, ready, "Failed")
    assert (failed.status, failed.reason) == ("False", "PodFailed")
    completed = conditions.generate_containers_ready_condition(a_pod(), NO_STATUS, ready, "Succeeded")
    assert (completed.status, completed.reason) == ("False", "PodCompleted")
    unknown = conditions.generate_containers_ready_condition(a_pod(), NO_STATUS, None, "Failed")
    assert unknown.reason == "UnknownContainerStatuses"


def test_ready_needs_the_readiness_gates_too() -> None:
    pod = a_pod(readinessGates=[{"conditionType": "example.com/lb"}, {"conditionType": "example.com/dns"}])
    containers_ready = PodCondition(type="ContainersReady", status="True")
    found = [PodCondition(type="example.com/dns", status="Unknown")]
    condition = conditions.generate_pod_ready_condition(pod, NO_STATUS, found, containers_ready)
    assert condition.reason == "ReadinessGatesNotReady"
    assert condition.message == (
        'corresponding condition of pod readiness gate "example.com/lb" does not exist., '
        'the status of pod readiness gate "example.com/dns" is not "True", but Unknown'
    )


def test_initialized_is_proven_by_a_started_regular_container() -> None:
    pod = a_pod(initContainers=[{"name": "setup"}, {"name": "proxy", "restartPolicy": "Always"}])
    init = (status("setup", ready=True), status("proxy", ready=True, started=False))
    waiting = conditions.generate_pod_initialized_condition(pod, NO_STATUS, init, "Pending")
    assert waiting.message == "containers with incomplete status: [proxy]"
    started = (*init, status("a", state={"terminated": {"exitCode": 1}}))
    assert conditions.generate_pod_initialized_condition(pod, NO_STATUS, started, "Running").status == "True"


def test_initialized_stays_true_while_all_containers_restart() -> None:
    pod = a_pod(initContainers=[{"name": "setup"}])
    old = PodStatus(conditions=(PodCondition(type="Initialized", status="True"),))
    assert conditions.generate_pod_initialized_condition(pod, old, (status("setup"),), "Pending").status == "True"
    off = FeatureGates({"RestartAllContainersOnContainerExits": False})
    condition = conditions.generate_pod_initialized_condition(pod, old, (status("setup"),), "Pending", off)
    assert condition.reason == "ContainersNotInitialized"


def test_a_new_time_keeps_the_rest_of_a_condition() -> None:
    given = {"type": "Ready", "status": "True", "lastProbeTime": "2026-01-01T00:00:00Z", "theirs": 1}
    later = "2026-01-01T00:00:05Z"
    changed = conditions.condition_since(PodCondition.from_json(given), later)
    assert changed.to_json() == {**given, "lastTransitionTime": later}


def test_ready_to_start_containers_means_a_sandbox_with_an_address() -> None:
    sandbox = SandboxRecord("s1", network=SandboxNetwork("10.0.0.5"))
    runtime = RuntimePodStatus("1", sandboxes=(sandbox,))
    make = conditions.generate_pod_ready_to_start_containers_condition
    assert make(a_pod(), NO_STATUS, runtime).status == "True"
    assert make(a_pod(hostNetwork=True), NO_STATUS, runtime).status == "False"
    assert make(a_pod(), NO_STATUS, RuntimePodStatus("1")).status == "False"


def test_a_v1_37_kubelet_explains_a_problem_of_the_sandbox() -> None:
    gates, ready = FeatureGates(profile="v1.37"), SandboxRecord("s1", network=SandboxNetwork("10.0.0.5"))
    make = conditions.generate_pod_ready_to_start_containers_condition

    def message(pod: Pod, *sandboxes: SandboxRecord) -> str:
        condition = make(pod, NO_STATUS, RuntimePodStatus("1", sandboxes=sandboxes), gates)
        assert (condition.status, condition.reason) == ("False", "PodSandboxNotReady")
        return condition.message

    assert message(a_pod()) == "no pod sandbox exists"
    assert message(a_pod(), ready, ready) == "multiple pod sandboxes are ready and need to be reconciled"
    assert message(a_pod(), replace(ready, ready=False)) == "pod sandbox is not ready"
    other = "network namespace mode changed and sandbox needs to be recreated"
    assert message(a_pod(hostNetwork=True), ready) == other
    assert message(a_pod(), replace(ready, network=SandboxNetwork())) == "pod sandbox has no IP address"
    assert make(a_pod(), NO_STATUS, RuntimePodStatus("1", sandboxes=(ready,)), gates).reason == ""


def test_all_containers_restarting_ends_when_the_last_record_is_removed() -> None:
    pod = a_pod(containers=[{"name": "a", "restartPolicy": "Never", "restartPolicyRules": [ALL_RESTART_ON_42]}])
    exited = RuntimePodStatus("1", containers=(ContainerRecord("c1", "a", "exited", exit_code=42),))
    make = conditions.generate_all_containers_restarting_condition
    assert make(pod, NO_STATUS, exited, "Running").to_json() == {
        "type": "AllContainersRestarting",
        "status": "True",
        "reason": "RestartAllContainersStarted",
        "message": "container exited with restart policy rule",
    }
    under_way = PodStatus(conditions=(PodCondition(type="AllContainersRestarting", status="True"),))
    assert make(pod, under_way, RuntimePodStatus("1"), "Running").status == "False"
    assert make(pod, NO_STATUS, exited, "Failed").reason == "PodFailed"


def test_without_generation_tracking_only_old_observations_are_kept() -> None:
    off = FeatureGates({"PodObservedGenerationTracking": False})
    assert conditions.generate_pod_scheduled_condition(a_pod(), NO_STATUS, off).observed_generation == 0
    old = PodStatus(conditions=(PodCondition(type="PodScheduled", status="True", observed_generation=1),))
    assert conditions.generate_pod_scheduled_condition(a_pod(), old, off).observed_generation == 3


def test_older_kubelets_name_the_containers_of_a_failed_pod() -> None:
    gates = FeatureGates(profile="v1.12")
    found = (status("a"), status("b", ready=True))
    failed = conditions.generate_containers_ready_condition(a_pod(), NO_STATUS, found, "Failed", gates)
    assert (failed.reason, failed.message) == ("ContainersNotReady", "containers with unready status: [a]")


def test_for_older_kubelets_a_running_container_does_not_prove_that_a_pod_is_initialized() -> None:
    pod = a_pod(initContainers=[{"name": "init"}])
    running = status("a", started=True, state={"running": {}})
    for profile, expected in (("v1.12", "False"), ("v1.30", "True"), ("v1.36", "True")):
        gates = FeatureGates(profile=profile)
        found = conditions.generate_pod_initialized_condition(
            pod, NO_STATUS, (status("init"), running), "Running", gates
        )
        assert found.status == expected
