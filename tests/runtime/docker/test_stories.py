"""Whole lifecycles of pods in profiles v1.6 and v1.12, on a simulated network."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.app import run_scenario
from kubesim.errors import UsageError
from kubesim.scenario.language.document import Scenario
from kubesim.trace.records import PlegEvent, RuntimeStep
from tests.support.played import Played, pod

PROFILES = pytest.mark.parametrize("profile", ["v1.12", "v1.6"])


def story(profile: str, *steps: dict[str, Any], **spec: Any) -> Played:
    return Played(*steps, objects=[pod("web", automountServiceAccountToken=False)], profile=profile, **spec)


def steps_of(story: Played, call: str) -> list[str]:
    records = (r for r in story.records if isinstance(r, RuntimeStep) and r.during == call)
    return [f"{r.step}!" if r.error else r.step for r in records]


@pytest.mark.parametrize(
    ("profile", "reason", "problem"),
    [
        ("v1.12", "FailedCreatePodSandBox", 'desc = failed to inspect sandbox image "pause:3.1": '),
        ("v1.6", "FailedSync", 'Failed to inspect image \\"pause-amd64:3.0\\": '),
    ],
)
def test_sandbox_errors_while_docker_is_down(profile: str, reason: str, problem: str) -> None:
    late = {"apply": pod("late", automountServiceAccountToken=False), "at": "11s"}
    run = story(profile, {"at": "10s", "stop": "runtime"}, late, {"at": "20s", "start": "runtime"}, duration="40s")
    down = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
    assert problem + down in run.messages(reason, "late")[0]


def test_faults_in_steps_of_containerd_are_rejected_with_docker() -> None:
    faults = [{"step": "task", "error": "no shim"}]
    with pytest.raises(ValueError, match="this kubelet uses docker: use docker"):
        story("v1.12", nodes=[{"name": "node-1", "sandboxFaults": faults}])


def test_a_failed_add_in_v1_12_is_followed_by_the_next_attempt_at_once() -> None:
    reported = story("v1.12", nodes=[{"name": "node-1", "sandboxErrors": ["no address"]}])
    first, second = reported.when(RuntimeStep, "web", step="start the sandbox container")
    assert second - first < 3
    assert reported.events("web")[:2] == ["FailedCreatePodSandBox", "SandboxChanged"]
    [message] = reported.messages("FailedCreatePodSandBox", "web")
    assert message.startswith(
        "Failed create pod sandbox: rpc error: code = Unknown desc = failed to set up sandbox container "
    )
    assert message.endswith('NetworkPlugin cni failed to set up pod "web_default" network: no address')
    assert steps_of(reported, "StopPodSandbox") == ["TearDownPod"]
    assert reported.when(PlegEvent, "web", type="ContainerDied")
    assert reported.result.phases == {"default/web": "Running"}


def test_a_failed_add_in_v1_6_is_a_setup_network_error_without_del() -> None:
    reported = story("v1.6", nodes=[{"name": "node-1", "sandboxErrors": ["no address"]}])
    assert steps_of(reported, "SyncPod") == ["SetUpPod!", "kill the infra container", "SetUpPod"]
    # For the dead one: before the next, and when its record is removed.
    assert steps_of(reported, "killPodWithSyncResult") == ["TearDownPod", "TearDownPod"]
    assert reported.sync_errors("web") == [
        (
            'failed to "SetupNetwork" for "web_default" with SetupNetworkError: '
            '"NetworkPlugin cni failed to set up pod \\"web_default\\" network: no address"'
        )
    ]
    assert not {"FailedCreatePodSandBox", "SandboxChanged"} & {*reported.events("web")}
    assert reported.result.phases == {"default/web": "Running"}


def test_an_infra_container_that_does_not_start_is_a_run_container_error() -> None:
    reported = story("v1.6", nodes=[{"name": "node-1", "docker": {"errors": {"start": ["no memory"]}}}])
    assert reported.sync_errors("web") == ['failed to "StartContainer" for "POD" with RunContainerError: "no memory"']
    assert reported.result.phases == {"default/web": "Running"}


@pytest.mark.parametrize(
    ("call", "reported"),
    [
        ("pull", 'failed pulling image "pause:3.1": no'),
        ("create", 'failed to create a sandbox for pod "web": no'),
        ("start", 'failed to start sandbox container for pod "web": no'),
    ],
)
def test_a_docker_error_is_an_event(call: str, reported: str) -> None:
    seen = story("v1.12", nodes=[{"name": "node-1", "docker": {"errors": {call: ["no"]}}}])
    assert seen.messages("FailedCreatePodSandBox") == [
        f"Failed create pod sandbox: rpc error: code = Unknown desc = {reported}"
    ]


@pytest.mark.parametrize(("profile", "first", "last"), [("v1.12", 12, 18), ("v1.6", 30, 36)])
def test_a_configuration_is_detected_with_the_next_status(profile: str, first: int, last: int) -> None:
    """Every 5 s in v1.12, every 30 s in v1.6; pods are synced again some seconds later."""
    reported = story(profile, cni={"plugin": {"configuredAt": "12s"}})
    [made] = reported.when(RuntimeStep, "web", step="SetUpPod")
    assert first <= made < last + 16


@PROFILES
def test_a_restarted_kubelet_restarts_its_plugin_and_keeps_the_pod(profile: str) -> None:
    reported = story(profile, {"at": "10s", "restart": {"what": "kubelet"}})
    assert len(reported.when(RuntimeStep, step='Loaded network plugin "cni"')) == 2
    assert reported.calls("web").count("RunPodSandbox") == 1
    assert reported.result.phases == {"default/web": "Running"}


@PROFILES
def test_after_a_reboot_the_pod_has_a_new_sandbox(profile: str) -> None:
    reported = story(profile, {"at": "10s", "reboot": {"what": "node", "downFor": "5s"}})
    assert reported.calls("web").count("RunPodSandbox") == 2
    assert reported.result.phases == {"default/web": "Running"}


@PROFILES
def test_the_network_of_a_deleted_pod_is_torn_down(profile: str) -> None:
    """v1.12 remembers that; v1.6 does it again when the record of the dead container is removed."""
    reported = story(profile, {"at": "10s", "delete": {"pod": "web"}})
    call = "StopPodSandbox" if profile == "v1.12" else "killPodWithSyncResult"
    assert steps_of(reported, call) == ["TearDownPod"] * (1 if profile == "v1.12" else 2)


@PROFILES
@pytest.mark.parametrize(("name", "ip"), [("kubenet", "10.88.0.10"), ("", "10.88.0.10")])
def test_other_plugins_of_a_simulated_node(profile: str, name: str, ip: str) -> None:
    reported = story(profile, cni={"plugin": {"name": name}})
    assert reported.statuses("web")[-1]["podIP"] == ip


@pytest.mark.parametrize(
    ("spec", "reported"),
    [
        ({"profile": "v1.6", "cni": {"plugin": {"name": "weave"}}}, 'Network plugin "weave" not found.'),
        (
            {"profile": "v1.6", "nodes": [{"name": "node-1", "docker": {"nsenter": False}}]},
            'Network plugin "cni" failed init: exec: "nsenter": executable file not found in $PATH',
        ),
        ({"cni": {"plugin": {}}}, "cni.plugin cni (--network-plugin) is for profiles v1.6 and v1.12, not v1.36: "),
        ({"nodes": [{"name": "a", "docker": {}}]}, "docker of node a is for profiles v1.6 and v1.12, not v1.36: "),
        ({"profile": "v1.12", "cni": {"plugin": {"dir": "/x"}}}, "cni.plugin.dir (--network-plugin-dir) is for "),
        (
            {"profile": "v1.12", "nodes": [{"name": "a", "docker": {"apiVersion": "1.22"}}]},
            "docker API version is older than 1.23.0",
        ),
        (
            {"profile": "v1.12", "nodes": [{"name": "a", "docker": {"cgroupDriver": "systemd"}}]},
            'misconfiguration: kubelet cgroup driver: "cgroupfs" is different from docker cgroup driver: "systemd"',
        ),
        (
            {"profile": "v1.6", "runtime": "cni", "cni": {"plugin": {"name": "kubenet"}}},
            "--network-plugin kubenet needs",
        ),
        ({"profile": "v1.12", "runtime": "cni", "cni": {"plugin": {"name": ""}}}, "an empty --network-plugin"),
    ],
)
def test_unsupported_settings_are_rejected(spec: dict[str, Any], reported: str) -> None:
    scenario = Scenario.model_validate({"metadata": {"name": "x"}, "spec": spec})
    with pytest.raises(UsageError) as raised:
        run_scenario(scenario)
    assert str(raised.value).startswith(reported)
